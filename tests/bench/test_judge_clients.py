"""Judging clients: each check is kept and broken by bytes made by hand; readings bit for bit."""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path
from typing import Any

import pytest

from support.scenarios import scenario
from v2_clients.bench.tasks import asked_of
from v2_clients.findings import WrongParameter
from v2_clients.judging.judge import judge_client
from v2_clients.judging.observed import observe_client
from v2_clients.judging.requests import CHECKS
from v2_conformance.judging.verdict import Verdict
from v2_conformance.suite.cases import ClientCase
from v2_conformance.suite.causes.causes import WrongReading, WrongRequest
from v2_conformance.suite.client_lines import ClientResult, Line, ReportedTensor
from v2_conformance.suite.outcomes import Outcome

TWO: dict[str, Any] = {
    "model": "two",
    "id": "größe",
    "parameters": {"priority": 1},
    "headers": {"X-Caller": "a"},
    "inputs": [
        {"name": "A", "datatype": "INT32", "shape": [2], "values": [1, 2]},
        {"name": "B", "datatype": "INT32", "shape": [2], "values": [3, 4], "form": "json"},
        {"name": "C", "datatype": "BYTES", "shape": [1], "values": ["x"]},
    ],
    "outputs": [{"tensor": 0, "form": "binary"}, {"tensor": 1, "form": "json"}],
}
DOCUMENT: dict[str, Any] = {
    "id": "größe",
    "parameters": {"priority": 1},
    "inputs": [
        {"name": "A", "datatype": "INT32", "shape": [2], "parameters": {"binary_data_size": 8}},
        {"name": "B", "datatype": "INT32", "shape": [2], "data": [3, 4]},
        {"name": "C", "datatype": "BYTES", "shape": [1], "parameters": {"binary_data_size": 5}},
    ],
    "outputs": [
        {"name": "OUTPUT0", "parameters": {"binary_data": True}},
        {"name": "OUTPUT1", "parameters": {"binary_data": False}},
    ],
}
BLOBS = struct.pack("<ii", 1, 2) + b"\x01\0\0\0x"
PRIORITY = b'"parameters": {"priority": 1}'
SILENT = ClientResult(lines=(Line(error="no"),), exit=0)


def request(
    document: Any = DOCUMENT,
    blobs: bytes = BLOBS,
    *,
    length: str | None = "",
    fields: str = "Content-Type: application/octet-stream\r\nX-Caller: a\r\n",
    path: str = "/v2/models/two/infer",
    coding: str = "",
    framed: str | None = None,
) -> bytes:
    """A request, right unless it is told otherwise."""
    text = json.dumps(document, ensure_ascii=False).encode()
    body = text + blobs
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:8000\r\n{fields}"
    if length is not None:
        head += f"Inference-Header-Content-Length: {length or len(text)}\r\n"
    if coding:
        body = gzip.compress(body)
        head += f"Content-Encoding: {coding}\r\n"
    head += f"Content-Length: {len(body)}\r\n" if framed is None else framed
    return head.encode() + b"\r\n" + body


def changed(**members: Any) -> dict[str, Any]:
    return {**DOCUMENT, **members}


def first_input(**members: Any) -> dict[str, Any]:
    return changed(inputs=[{**DOCUMENT["inputs"][0], **members}, *DOCUMENT["inputs"][1:]])


@pytest.fixture
def two(tmp_path: Path) -> ClientCase:
    return scenario(tmp_path, request=TWO, expect={"request": ["header_length"]})


def verdict(folder: Path, check: str, *sent: bytes, **members: Any) -> Verdict:
    """The verdict of a check on requests for TWO."""
    made = scenario(folder, request={**TWO, **members}, expect={"request": [check]})
    return judge_client(made, sent, SILENT)


SIZE_0 = {"binary_data_size": 0}
AS_TEXT = str(len(json.dumps(DOCUMENT, ensure_ascii=False)))
SWAPPED = request(blobs=BLOBS[4:8] + BLOBS[:4] + BLOBS[8:])
PADDED = request(blobs=b"\0" + BLOBS, length=str(int(AS_TEXT) + 3))  # NUL, as C ends a text
EMPTY_AND_DATA = request(first_input(data=[1, 2], parameters=SIZE_0), BLOBS[8:])
KINDS_OF_CHECKS: list[tuple[str, str, bytes]] = [
    ("header_length", "no_header_length_sent", request(length=None)),
    ("header_length", "wrong_header_length", request(length="3")),
    ("header_length", "wrong_header_length", request(length=AS_TEXT)),
    ("header_length", "wrong_header_length", PADDED),
    ("header_length", "header_length_past_body", request(length="99999")),
    ("blobs", "blob_past_body", request(blobs=BLOBS[:-1])),
    ("blobs", "leftover_bytes", request(blobs=BLOBS + b"!")),
    ("blobs", "invalid_tensor", request(first_input(shape=[3]))),
    ("blobs", "wrong_value", SWAPPED),
    ("blobs", "data_and_size", EMPTY_AND_DATA),
    ("data_or_size", "data_and_size", request(first_input(data=[1]))),
    ("data_or_size", "no_data_no_size", request(first_input(parameters={}))),
    ("json", "repeated_member", request().replace(PRIORITY, b'"a": 1, "a": 1'.ljust(29))),
    ("json", "header_length_not_json", request().replace(b'{"id"', b"{'id'")),
    ("json", "header_length_not_json", PADDED),
    ("json", "body_not_json", request({"inputs": DOCUMENT["inputs"][1:2]}, b"\0", length=None)),
    ("readable", "wrong_value", SWAPPED),
    ("readable", "data_and_size", EMPTY_AND_DATA),
    ("target", "wrong_target", request(path="/v2/models/two/versions/2/infer")),
    ("target", "wrong_value", SWAPPED),
    ("target", "wrong_inputs", request(changed(inputs=DOCUMENT["inputs"][:2]), BLOBS[:8])),
    ("id", "wrong_id", request(changed(id="x"))),
    ("id", "header_length_not_json", request().replace("öß".encode(), b"\xf6\xdf??")),
    ("id", "incomplete_request", request()[:-3]),
    ("id", "unreadable_request", b"hello\r\n\r\n"),
    ("id", "wrong_target", request(path="/v2/models/other/infer")),
    ("forms", "wrong_form", request(first_input(parameters={}, data=[1, 2]), BLOBS[8:])),
    ("forms", "wrong_parameter", request(changed(outputs=[{"name": "OUTPUT0"}]))),
    ("outputs", "wrong_outputs_asked", request(changed(outputs=[]))),
    ("caller_parameters", "wrong_parameter", request(changed(parameters={"priority": True}))),
    ("caller_headers", "wrong_field", request(fields="Content-Type: a/b\r\n")),
    ("compressed", "broken_coding", request(coding="br")),
]


@pytest.mark.parametrize(("check", "kind", "sent"), KINDS_OF_CHECKS)
def test_each_check_notices_its_defect(check: str, kind: str, sent: bytes, tmp_path: Path) -> None:
    found = verdict(tmp_path, check, sent)
    assert found.outcome is Outcome.FAIL
    assert isinstance(found.cause, WrongRequest)
    assert found.cause.finding.kind == kind, found.message
    assert verdict(tmp_path, check, request()).outcome is Outcome.PASS


def test_a_request_that_never_came_is_a_failure(tmp_path: Path) -> None:
    assert verdict(tmp_path, "id").cause.finding.kind == "no_request"  # type: ignore[union-attr]


def test_no_data_beside_a_size_is_tolerated(tmp_path: Path) -> None:
    for check in ("data_or_size", "readable", "blobs", "forms"):
        sent = request(first_input(data=None if check == "blobs" else []))
        assert verdict(tmp_path, check, sent).outcome is Outcome.PASS


@pytest.mark.parametrize(("size", "shown"), [(8.0, "8.0"), ("8", '"8"'), (True, "true")])
def test_a_size_that_is_no_whole_number_is_named(size: object, shown: str, tmp_path: Path) -> None:
    sent = request(first_input(parameters={"binary_data_size": size}))
    finding = WrongParameter("input A", "binary_data_size", "8", shown)
    assert verdict(tmp_path, "forms", sent).cause == WrongRequest(None, finding)


def after(
    folder: Path, check: str, second: bytes, asked: Any = None, came: Any = None, **first: Any
) -> tuple[int | None, str] | None:
    """Return the number and the finding of the wrong request, if another caller's request comes
    after one for TWO."""
    plain = asked or {key: TWO[key] for key in ("model", "inputs")}
    made = scenario(folder, requests=[{**TWO, **first}, plain], expect={"request": [check]})
    said = ClientResult(lines=(Line(error="no"),) * 2, exit=0)
    found = judge_client(made, [came or request(), second], said)
    if found.outcome is Outcome.PASS:
        return None
    assert isinstance(found.cause, WrongRequest)
    return found.cause.number, found.cause.finding.kind


SECOND = "/v2/models/two_2/infer"
SAYS_MORE = {
    "inputs": [{**TWO["inputs"][0], "parameters": {"origin": "a"}}, *TWO["inputs"][1:]],
    "outputs": [{"tensor": 0, "form": "binary", "parameters": {"topk": 2}}],
}
NAMED = {"name": "OUTPUT0", "parameters": {"binary_data": True}}
ALL_OUTPUTS = [{"name": f"OUTPUT{n}"} for n in range(3)]


@pytest.mark.parametrize(
    ("left", "stale"),
    [
        (changed(), True),
        (changed(id="other"), True),
        (changed(parameters={}), True),
        (changed(id="own", parameters={}, outputs=[]), False),
        (changed(id="own", parameters={}, outputs=ALL_OUTPUTS), False),
        (changed(id="own", parameters={}, outputs=[NAMED, {"name": "OUTPUT1"}]), True),
        # Wrong, but not the other caller's.
        (changed(id="own", parameters={}, outputs=[{"name": "OUTPUT1"}]), False),
        ({**first_input(parameters={"binary_data_size": 8, "origin": "a"}), "id": "own",
          "parameters": {}, "outputs": []}, True),
    ],
)  # fmt: skip
def test_what_an_earlier_caller_said_is_old(
    left: dict[str, Any], stale: bool, tmp_path: Path
) -> None:
    found = after(tmp_path, "no_stale_members", request(left, path=SECOND), **SAYS_MORE)
    assert found == ((2, "stale_member") if stale else None)


def test_versions_and_headers_of_an_earlier_caller_are_stale(tmp_path: Path) -> None:
    left = changed(id="own", parameters={}, outputs=[])
    old = request(left, path="/v2/models/two_2/versions/3/infer")
    assert after(tmp_path, "no_stale_members", old, version="3") == (2, "stale_member")
    kept = request(left, path=SECOND)
    assert after(tmp_path, "no_stale_headers", kept) == (2, "stale_field")
    clean = request(left, path=SECOND, fields="Content-Type: a/b\r\n")
    assert after(tmp_path, "no_stale_headers", clean) is None
    wrong = request(left, path=SECOND, fields="Content-Type: a/b\r\n", length="9")
    assert after(tmp_path, "no_stale_headers", wrong, came=request(left, length="9")) is None


@pytest.mark.parametrize("check", sorted(CHECKS))
def test_names_that_are_no_strings_are_judged_like_others(check: str, tmp_path: Path) -> None:
    names: list[object] = [[], {}, None, 7, ["OUTPUT0"]]
    for name in names:
        inputs, outputs = (
            [{**entry, "name": name} for entry in DOCUMENT[of]] for of in ("inputs", "outputs")
        )
        found = verdict(tmp_path, check, request(changed(inputs=inputs, outputs=outputs)))
        assert found.outcome in (Outcome.PASS, Outcome.FAIL)


def test_broken_json_is_named_and_not_the_blobs_behind_it(tmp_path: Path) -> None:
    sent = request(blobs=b"\xff" * 13).replace(PRIORITY, PRIORITY[:-1] + b",}")
    assert "not UTF-8" not in verdict(tmp_path, "json", sent).message


def test_of_several_requests_the_wrong_one_is_named(tmp_path: Path) -> None:
    assert after(tmp_path, "id", request(changed(id="x"), path=SECOND), TWO) == (2, "wrong_id")


def test_a_parameter_has_its_value_and_json_has_one_type_of_number(tmp_path: Path) -> None:
    pairs = [(3, 3.0), (False, False), (3, 3.5), (0, False), (True, 1), ("3", 3)]
    same = []
    for given, sent in pairs:
        came, asked = request(changed(parameters={"priority": sent})), {"priority": given}
        found = verdict(tmp_path, "caller_parameters", came, parameters=asked)
        same.append(found.outcome is Outcome.PASS)
    assert same == [True, True, False, False, False, False]


def test_a_host_is_needed_since_http_1_1_and_may_be_that_of_a_tunnel(two: ClientCase) -> None:
    old = request().replace(b"HTTP/1.1", b"HTTP/1.0").replace(b"Host: 127.0.0.1:8000\r\n", b"")
    tunneled = request(path="/K2%2Fmade/v2/models/two/infer").replace(b"127.0.0.1", b"tunnel")
    for sent in (old, tunneled):
        seen = {one.what: one for one in observe_client(two, [sent])}
        assert not seen["request_hosts"].wrong


def reading(
    folder: Path, line: Line, *, values: object = "counting", datatype: str = "FP32", **expect: Any
) -> Verdict:
    """The verdict on what a client says of the identity answer to one request."""
    one = {"name": "A", "datatype": datatype, "shape": [2], "values": values}
    made = scenario(folder, request={"model": "one", "inputs": [one]}, expect=expect)
    (asked,) = asked_of(made)
    (tensor,) = asked.inputs
    text: dict[str, Any] = {"name": "A", "datatype": datatype, "shape": [2]}
    text["parameters"] = {"binary_data_size": len(tensor.blob)}
    sent = request({"inputs": [text]}, bytes(tensor.blob), path="/v2/models/one/infer")
    return judge_client(made, [sent], ClientResult(lines=(line,), exit=0))


def outputs(data: bytes, datatype: str = "FP32", shape: tuple[int, ...] = (2,)) -> Line:
    return Line(outputs=(ReportedTensor("OUTPUT0", datatype, shape, data),))


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (outputs(bytes(8)), "wrong_value"),
        (outputs(bytes(16), "FP64"), "wrong_datatype"),
        (outputs(bytes(8), shape=(2, 1)), "wrong_shape"),
        (outputs(bytes(4)), "invalid_tensor"),
        (Line(outputs=()), "wrong_outputs_read"),
        (Line(error="no"), "error_for_answer"),
    ],
)
def test_what_is_not_the_answer_is_a_failure(line: Line, kind: str, tmp_path: Path) -> None:
    found = reading(tmp_path, line, reading="exact")
    assert isinstance(found.cause, WrongReading)
    assert found.cause.finding.kind == kind


def test_wrong_numbers_fail_where_nothing_is_asked_of_the_reading(tmp_path: Path) -> None:
    assert reading(tmp_path, outputs(bytes(8)), request=["id"]).outcome is Outcome.FAIL
    for line in (Line(error="no"), Line(outputs=()), outputs(bytes(16), "FP64")):
        assert reading(tmp_path, line, request=["id"]).outcome is Outcome.PASS


def test_readings_are_compared_bit_for_bit(tmp_path: Path) -> None:
    for datatype, sent, same, other in (
        ("FP32", "0100807f0100c0ff", "0100807f0100c0ff", "0100c07f0100c0ff"),
        ("BF16", "803f 0040", "0000803f00000040", "0100803f00000040"),  # as FP32, without loss
    ):
        given: dict[str, Any] = {"values": {"hex": sent}, "datatype": datatype, "reading": "exact"}
        exact, wrong = (outputs(bytes.fromhex(read)) for read in (same, other))
        assert reading(tmp_path, exact, **given).outcome is Outcome.PASS
        assert reading(tmp_path, wrong, **given).outcome is Outcome.FAIL


@pytest.mark.parametrize(
    ("what", "sent"),
    [
        ("request_syntax", request().replace(b"Host: 127.0.0.1:8000\r\n", b"Host: x\n")),
        ("request_syntax", request().replace(b"Host: 127.0.0.1:8000", b"Host : x")),
        ("request_syntax", b"\r\n" + request()),
        ("request_syntax", b"POST / HTTP/1.1\r\nHost: x"),
        ("request_hosts", request().replace(b"Host: 127.0.0.1:8000\r\n", b"")),
        ("request_hosts", request().replace(b"Host: 127.0.0.1:8000", b"Host: 127.0.0.1")),
        ("request_lengths", request(framed="")),
        ("request_lengths", request(framed="Content-Length: 5\r\nContent-Length: 5\r\n")),
        ("request_json", request(first_input(datatype="FLOAT"))),
        ("request_blobs", request(blobs=BLOBS[:-1])),
        ("request_blobs", request(blobs=BLOBS[:-1], coding="gzip")),
        ("request_json", request().replace(b"priority", b"\xff\xff\xff\xff\xff\xff\xff\xff")),
        ("request_json", request(first_input(parameters={}))),
    ],
)
def test_observed_rules_notice_their_defects(what: str, sent: bytes, two: ClientCase) -> None:
    seen = {one.what: one for one in observe_client(two, [request(), sent])}
    assert seen[what].wrong == 1
    assert seen[what].first is not None
    kept = {one.what: one for one in observe_client(two, [request()])}
    assert len(kept) == 5
    assert not any(one.wrong for one in kept.values())


def test_what_a_client_may_refuse_to_send_is_not_observed(tmp_path: Path) -> None:
    for reading in ("refused", "error_or_exact"):
        asked = scenario(tmp_path, expect={"reading": reading})
        assert observe_client(asked, [b"POST / HTTP/1.1\nno request"]) == ()
