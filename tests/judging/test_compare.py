"""The first differing element of an output, as a verdict and a report carry it."""

from __future__ import annotations

import struct

from support.cases import BLOB, GOOD, JSON, answer, entry, sized, verdict
from support.servers import make_case, transcript, v2
from v2_conformance.engine.engine import Exchange, Result
from v2_conformance.judging.judge import FAIL, PASS
from v2_conformance.judging.response import Difference
from v2_conformance.protocol.datatypes import encode_bytes
from v2_conformance.protocol.message import dump_json
from v2_conformance.redaction import Mask
from v2_conformance.report.recorder import case_record
from v2_conformance.resources import schema, schema_document
from v2_conformance.suite.cases import Case


def difference(received: bytes, case: Case | None = None) -> Difference:
    came = verdict(received, case)
    assert came.outcome == FAIL
    assert came.difference is not None
    return came.difference


def test_it_names_byte_element_and_both_values() -> None:
    start = len(dump_json(answer(sized())))
    found = difference(v2(answer(sized()), struct.pack("<3i", 1, 258, 3)))
    assert found == Difference(
        "OUTPUT0", "INT32", 1, 5, start + 5, "02000000", "02010000", "2", "258"
    )


def test_an_output_in_json_has_no_byte_in_the_body() -> None:
    found = difference(v2(answer(entry(data=[1, 2, 4]))), make_case(JSON))
    assert (found.element, found.offset, found.body_offset) == (2, 8, None)
    assert (found.wanted_value, found.got_value) == ("3", "4")


def test_a_bytes_element_is_shown_from_its_first_differing_byte() -> None:
    case = make_case(model="identity/BYTES", inputs=[{"shape": [2], "values": ["ab", "cd"]}])
    output = answer(sized(12, shape=[2], datatype="BYTES"))
    found = difference(v2(output, encode_bytes([b"ab", b"c\x1b"])), case)
    assert (found.element, found.offset) == (1, 11)
    assert found.body_offset == len(dump_json(output)) + 11
    assert (found.wanted, found.got) == ("64", "1b")
    assert (found.wanted_value, found.got_value) == ("2 bytes, b'cd'", "2 bytes, b'c\\x1b'")


def test_a_bytes_element_of_another_length_differs_in_its_length() -> None:
    case = make_case(model="identity/BYTES", inputs=[{"shape": [2], "values": ["ab", "cd"]}])
    long = b"c" + b"\xff" * 5000
    output = answer(sized(10 + len(long), shape=[2], datatype="BYTES"))
    found = difference(v2(output, encode_bytes([b"ab", long])), case)
    assert (found.element, found.offset) == (1, 6)
    assert found.got == "ff" * 16
    assert found.got_value.startswith("5001 bytes, b'c\\xff")
    assert len(found.got_value) < 100


def test_there_is_none_where_no_values_were_compared() -> None:
    assert verdict(GOOD).difference is None
    assert verdict(v2(answer(sized(shape=[3, 1])), BLOB)).difference is None


def test_the_report_carries_it_without_secrets() -> None:
    found = Difference("OUTPUT0", "BYTES", 0, 4, 9, b"abcdefgh".hex(), b"hush-hush".hex(), "a", "b")
    result = Result(make_case(), FAIL, exchanges=(Exchange(transcript(b""), ""),), difference=found)
    record = case_record(result, ["binary"], Mask(("hush-hush",)))
    assert record["difference"]["got"] == b"*********".hex()
    assert record["difference"]["wanted"] == found.wanted
    of_a_case = {"$ref": "#/$defs/case", "$defs": schema_document("report")["$defs"]}
    schema("report").evolve(schema=of_a_case).validate(record)
    assert "difference" not in case_record(Result(make_case(), PASS), ["binary"], Mask())
