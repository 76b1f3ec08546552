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
from v2_conformance.suite.client_lines import Line, Said, SaidTensor
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
SILENT = Said(lines=(Line(error="no"),), exit=0)


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
KINDS_OF_CHECKS: list[tuple[str, str, bytes]] = [
    ("header_length", "no_header_length_sent", request(length=None)),
    ("header_length", "wrong_header_length", request(length="3")),
    (
        "header_length",
        "wrong_header_length",
        request(length=str(len(json.dumps(DOCUMENT, ensure_ascii=False)))),
    ),
    ("header_length", "invalid_header_length", request(length="+9")),
    ("header_length", "header_length_past_body", request(length="99999")),
    ("blobs", "blob_past_body", request(blobs=BLOBS[:-1])),
    ("blobs", "leftover_bytes", request(blobs=BLOBS + b"!")),
    ("blobs", "invalid_tensor", request(first_input(shape=[3]))),
    ("blobs", "wrong_value", request(blobs=BLOBS[4:8] + BLOBS[:4] + BLOBS[8:])),
    ("data_or_size", "data_and_size", request(first_input(data=[1]))),
    ("data_or_size", "no_data_no_size", request(first_input(parameters={}))),
    *(
        (check, "data_and_size", request(first_input(data=[1, 2], parameters=SIZE_0), BLOBS[8:]))
        for check in ("blobs", "readable")
    ),
    ("json", "repeated_member", request().replace(PRIORITY, b'"a": 1, "a": 1'.ljust(29))),
    ("json", "header_length_not_json", request().replace(b'{"id"', b"{'id'")),
    ("coded_length", "wrong_header_length", request(length="7")),
    ("readable", "invalid_tensor", request(first_input(shape=[3]))),
    ("readable", "wrong_value", request(blobs=BLOBS[4:8] + BLOBS[:4] + BLOBS[8:])),
    ("target", "wrong_target", request(path="/v2/models/two/versions/2/infer")),
    ("id", "wrong_id", request(changed(id="x"))),
    ("forms", "wrong_form", request(first_input(parameters={}, data=[1, 2]), BLOBS[8:])),
    ("forms", "wrong_parameter", request(changed(outputs=[{"name": "OUTPUT0"}]))),
    ("outputs", "wrong_outputs_asked", request(changed(outputs=[]))),
    ("caller_parameters", "wrong_parameter", request(changed(parameters={"priority": True}))),
    ("caller_headers", "wrong_field", request(fields="Content-Type: a/b\r\n")),
    ("content_type", "wrong_content_type", request(fields="Content-Type: application/json\r\n")),
    ("compressed", "broken_coding", request(coding="br")),
]


@pytest.mark.parametrize(("check", "kind", "sent"), KINDS_OF_CHECKS)
def test_each_check_notices_its_defect(check: str, kind: str, sent: bytes, tmp_path: Path) -> None:
    found = verdict(tmp_path, check, sent)
    assert found.outcome is Outcome.FAIL
    assert isinstance(found.cause, WrongRequest)
    assert found.cause.finding.kind == kind, found.message
    assert verdict(tmp_path, check, request()).outcome is Outcome.PASS


def test_what_no_server_can_read_fails_only_the_scenarios_that_ask_for_it(tmp_path: Path) -> None:
    for sent in (request(length=None), request(length="3"), request(blobs=b"")):
        assert verdict(tmp_path, "target", sent).outcome is Outcome.PASS


@pytest.mark.parametrize("nothing", [None, []])
@pytest.mark.parametrize("check", ["data_or_size", "readable", "blobs", "forms"])
def test_no_data_beside_a_size_is_tolerated(
    check: str, nothing: list[int] | None, tmp_path: Path
) -> None:
    sent = request(first_input(data=nothing))
    assert verdict(tmp_path, check, sent).outcome is Outcome.PASS


@pytest.mark.parametrize("check", ["readable", "framing", "coded_length", "caller_parameters"])
@pytest.mark.parametrize(
    "sent",
    [
        request(length=None),
        request(blobs=BLOBS[:-1]),
        request(blobs=BLOBS + b"!"),
        request(first_input(parameters={})),
        request().replace(b'{"id"', b"{'id'"),
        request().replace(PRIORITY, PRIORITY + b","),
    ],
)
def test_where_blobs_are_and_how_json_is_written_has_requirements_of_its_own(
    check: str, sent: bytes, tmp_path: Path
) -> None:
    assert verdict(tmp_path, check, sent, parameters={}).outcome is Outcome.PASS


CALLERS = {
    "Inference-Header-Content-Length": request(length="7"),
    "Content-Encoding": request(fields="Content-Encoding: gzip\r\n"),
    "Content-Length": request(framed="Content-Length: 7\r\n"),
}


@pytest.mark.parametrize("name", CALLERS)
def test_what_the_caller_gave_as_framing_is_judged_if_it_was_sent(
    name: str, tmp_path: Path
) -> None:
    value = "gzip" if name == "Content-Encoding" else "7"
    given = {"headers": {name: value}}
    assert verdict(tmp_path, "framing", CALLERS[name], **given).outcome is Outcome.FAIL
    assert verdict(tmp_path, "framing", request(), **given).outcome is Outcome.PASS
    assert verdict(tmp_path, "framing", CALLERS[name], headers={}).outcome is Outcome.PASS


def test_a_size_of_the_callers_is_judged_if_it_was_sent(tmp_path: Path) -> None:
    first, *others = TWO["inputs"]
    given = [{**first, "parameters": {"binary_data_size": 4}}, *others]
    sent = request(first_input(parameters={"binary_data_size": 4}))
    assert verdict(tmp_path, "framing", sent, inputs=given).outcome is Outcome.FAIL
    assert verdict(tmp_path, "framing", request(), inputs=given).outcome is Outcome.PASS


@pytest.mark.parametrize(("size", "shown"), [(8.0, "8.0"), ("8", '"8"'), (True, "true")])
def test_a_size_that_is_no_whole_number_is_named(size: object, shown: str, tmp_path: Path) -> None:
    sent = request(first_input(parameters={"binary_data_size": size}))
    cause = verdict(tmp_path, "forms", sent).cause
    assert isinstance(cause, WrongRequest)
    assert cause.finding == WrongParameter("input A", "binary_data_size", "8", shown)


@pytest.mark.parametrize(
    "stale",
    [
        request(changed(parameters={}), path="/v2/models/two_2/infer"),
        request(DOCUMENT, path="/v2/models/two_2/versions/3/infer").replace(b"gr", b"Gr"),
        request(changed(id="other"), path="/v2/models/two_2/infer"),
    ],
)
def test_what_an_earlier_caller_said_is_stale(stale: bytes, tmp_path: Path) -> None:
    plain = {key: TWO[key] for key in ("model", "inputs", "outputs")}
    made = scenario(
        tmp_path,
        requests=[{**TWO, "version": "3"}, plain],
        expect={"request": ["no_stale_members"]},
    )
    said = Said(lines=(Line(error="no"), Line(error="no")), exit=0)
    first = request(path="/v2/models/two/versions/3/infer")
    clean = request(changed(id="own", parameters={}), path="/v2/models/two_2/infer")
    assert judge_client(made, [first, clean], said).outcome is Outcome.PASS
    # The first one may have been refused: their URLs tell them apart.
    assert judge_client(made, [clean], said).cause.number == 1  # type: ignore[union-attr]
    found = judge_client(made, [first, stale], said)
    assert isinstance(found.cause, WrongRequest)
    assert (found.cause.number, found.cause.finding.kind) == (2, "stale_member")


SAYS_MORE = {
    "inputs": [{**TWO["inputs"][0], "parameters": {"origin": "a"}}, *TWO["inputs"][1:]],
    "outputs": [{"tensor": 0, "form": "binary", "parameters": {"topk": 2}}],
}
NAMED = {"name": "OUTPUT0", "parameters": {"binary_data": True}}


@pytest.mark.parametrize(
    ("left", "member"),
    [
        (
            {**first_input(parameters={"binary_data_size": 8, "origin": "a"}), "outputs": []},
            "parameter origin",
        ),
        (changed(outputs=[{**NAMED, "parameters": {"topk": 2}}]), "parameter topk"),
        (changed(outputs=[{"name": f"OUTPUT{n}"} for n in range(3)]), None),
        (changed(outputs=[NAMED, {"name": "OUTPUT1"}]), "output"),
        (changed(outputs=[{"name": "OUTPUT1"}]), None),  # wrong, but not the other caller's
    ],
)
def test_parameters_and_outputs_of_an_earlier_caller_are_stale(
    left: dict[str, Any], member: str | None, tmp_path: Path
) -> None:
    second = {"model": "two", "inputs": TWO["inputs"]}
    if member == "parameter topk":
        second["outputs"] = [{"tensor": 0, "form": "binary"}]
    made = scenario(
        tmp_path,
        requests=[{**TWO, **SAYS_MORE}, second],
        expect={"request": ["no_stale_members"]},
    )
    said = Said(lines=(Line(error="no"), Line(error="no")), exit=0)
    sent = request({**left, "id": "own", "parameters": {}}, path="/v2/models/two_2/infer")
    found = judge_client(made, [request(), sent], said)
    if member is None:
        assert found.outcome is Outcome.PASS
    else:
        assert isinstance(found.cause, WrongRequest)
        assert found.cause.finding.kind == "stale_member"
        assert f"the {member} " in found.message


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("default", [None, True, False])
def test_a_form_is_stale_only_if_it_was_not_sent_before(
    default: bool | None, asked: bool, tmp_path: Path
) -> None:
    plain = {"model": "two", "inputs": TWO["inputs"]}
    made = scenario(
        tmp_path,
        requests=[plain, {**plain, "binary_data_output": asked}, plain],
        expect={"request": ["no_stale_members"]},
    )
    said = Said(lines=(Line(error="no"),) * 3, exit=0)

    def last(form: bool | None) -> Outcome:
        forms = (default, asked, form)
        paths = ("two", "two_2", "two_3")
        sent = [
            request(
                changed(outputs=[], parameters={} if one is None else {"binary_data_output": one}),
                path=f"/v2/models/{path}/infer",
            )
            for one, path in zip(forms, paths, strict=True)
        ]
        return judge_client(made, sent, said).outcome

    assert last(default) is Outcome.PASS
    assert last(asked) is (Outcome.PASS if asked is default else Outcome.FAIL)


@pytest.mark.parametrize("name", [[], {}, None, 7, ["OUTPUT0"]])
@pytest.mark.parametrize("check", sorted(CHECKS))
def test_names_that_are_no_strings_are_judged_like_others(
    check: str, name: object, tmp_path: Path
) -> None:
    entries = {
        of: [{**entry, "name": name} for entry in DOCUMENT[of]] for of in ("inputs", "outputs")
    }
    found = verdict(tmp_path, check, request(changed(**entries)))
    assert found.outcome in (Outcome.PASS, Outcome.FAIL)


def test_a_target_is_expected_as_it_is_encoded(tmp_path: Path) -> None:
    sent = request(path="/v2/models/a%20b/infer")
    found = verdict(tmp_path, "target", sent, called="a%20b")
    assert "POST /v2/models/a%2520b/infer" in found.message
    right = request(path="/v2/models/a%2520b/infer")
    assert verdict(tmp_path, "target", right, called="a%20b").outcome is Outcome.PASS


def test_broken_json_is_named_and_not_the_blobs_behind_it(tmp_path: Path) -> None:
    sent = request(blobs=b"\xff" * 13).replace(PRIORITY, PRIORITY[:-1] + b",}")
    assert "not UTF-8" not in verdict(tmp_path, "json", sent).message


def test_of_several_requests_the_wrong_one_is_named(
    tmp_path: Path,
) -> None:
    made = scenario(tmp_path, requests=[TWO, TWO], expect={"request": ["id"]})
    second = request(changed(id="x"), path="/v2/models/two_2/infer")
    found = judge_client(made, [request(), second], Said(ended="unsaid"))
    assert isinstance(found.cause, WrongRequest)
    assert (found.cause.number, found.cause.finding.kind) == (2, "wrong_id")


def test_wrong_numbers_fail_every_scenario(tmp_path: Path) -> None:
    swapped = request(blobs=BLOBS[4:8] + BLOBS[:4] + BLOBS[8:])
    assert verdict(tmp_path, "target", swapped).outcome is Outcome.FAIL
    other = request(changed(inputs=DOCUMENT["inputs"][:2]), BLOBS[:8])
    assert verdict(tmp_path, "target", other).cause.finding.kind == "wrong_inputs"  # type: ignore[union-attr]


def test_inputs_may_come_in_any_order_with_their_blobs(tmp_path: Path) -> None:
    a, b, c = DOCUMENT["inputs"]
    turned = request(changed(inputs=[c, b, a]), BLOBS[8:] + BLOBS[:8])
    assert verdict(tmp_path, "blobs", turned).outcome is Outcome.PASS


def test_a_compressed_request_is_judged_as_it_was_before(tmp_path: Path) -> None:
    sent = request(coding="gzip")
    for check in ("compressed", "header_length", "blobs"):
        found = verdict(tmp_path, check, sent, request_compression="gzip")
        assert found.outcome is Outcome.PASS, found.message
    for other in (request(), request(coding="br")):
        missing = verdict(tmp_path, "compressed", other, request_compression="gzip")
        assert missing.outcome is Outcome.FAIL


def test_a_client_may_compress_on_its_own(tmp_path: Path) -> None:
    assert verdict(tmp_path, "compressed", request(coding="gzip")).outcome is Outcome.PASS
    only_named = request(fields="Content-Encoding: gzip\r\n")
    assert verdict(tmp_path, "compressed", only_named).outcome is Outcome.FAIL


@pytest.mark.parametrize(
    ("given", "sent", "outcome"),
    [
        (3, 3.0, Outcome.PASS),
        (3, 3.5, Outcome.FAIL),
        (0, False, Outcome.FAIL),
        (1, True, Outcome.FAIL),
        (True, 1, Outcome.FAIL),
        (False, False, Outcome.PASS),
        (0.5, 0.5, Outcome.PASS),
        ("3", 3, Outcome.FAIL),
        (2.0, 2, Outcome.PASS),
    ],
)
def test_a_parameter_has_its_value_and_json_has_one_type_of_number(
    given: Any, sent: Any, outcome: Outcome, tmp_path: Path
) -> None:
    came = request(changed(parameters={"priority": sent}))
    found = verdict(tmp_path, "caller_parameters", came, parameters={"priority": given})
    assert found.outcome is outcome


@pytest.mark.parametrize(
    ("places", "outcome"),
    [
        ([], Outcome.PASS),
        ([2, 0, 1], Outcome.PASS),
        ([0, 1], Outcome.FAIL),
        ([0, 1, 2, 3], Outcome.FAIL),
    ],
)
def test_all_outputs_may_be_listed_if_the_caller_names_none(
    places: list[int], outcome: Outcome, tmp_path: Path
) -> None:
    asked = {name: value for name, value in TWO.items() if name != "outputs"}
    made = scenario(tmp_path, request=asked, expect={"request": ["outputs"]})
    sent = request(changed(outputs=[{"name": f"OUTPUT{place}"} for place in places]))
    assert judge_client(made, [sent], SILENT).outcome is outcome


def test_a_request_that_never_came_whole_is_a_failure(tmp_path: Path) -> None:
    assert verdict(tmp_path, "id").cause.finding.kind == "no_request"  # type: ignore[union-attr]
    half = verdict(tmp_path, "id", request()[:-3])
    assert half.cause.finding.kind == "incomplete_request"  # type: ignore[union-attr]
    lost = verdict(tmp_path, "id", b"hello\r\n\r\n")
    assert lost.cause.finding.kind == "unreadable_request"  # type: ignore[union-attr]
    away = verdict(tmp_path, "id", request(path="/v2/models/other/infer"))
    assert away.cause.finding.kind == "wrong_target"  # type: ignore[union-attr]


def test_a_header_of_the_request_before_is_stale(tmp_path: Path) -> None:
    plain = {key: value for key, value in TWO.items() if key != "headers"}
    made = scenario(tmp_path, requests=[TWO, plain], expect={"request": ["no_stale_headers"]})
    said = Said(lines=(Line(error="no"), Line(error="no")), exit=0)
    second = "/v2/models/two_2/infer"
    clean = request(fields="Content-Type: a/b\r\n", path=second)
    assert judge_client(made, [request(), clean], said).outcome is Outcome.PASS
    found = judge_client(made, [request(), request(path=second)], said)
    assert isinstance(found.cause, WrongRequest)
    assert (found.cause.number, found.cause.finding.kind) == (2, "stale_field")


@pytest.mark.parametrize(
    "sent",
    [
        request().replace(b"HTTP/1.1", b"HTTP/1.0").replace(b"Host: 127.0.0.1:8000\r\n", b""),
        # By hand, the bench may be behind a tunnel.
        request(path="/K2%2Fmade/v2/models/two/infer").replace(b"127.0.0.1", b"tunnel"),
    ],
)
def test_a_host_is_needed_since_http_1_1(sent: bytes, two: ClientCase) -> None:
    seen = {one.what: one for one in observe_client(two, [sent])}
    assert not seen["request_hosts"].wrong


# Readings.


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
    return judge_client(made, [sent], Said(lines=(line,), exit=0))


def outputs(data: bytes, datatype: str = "FP32", shape: tuple[int, ...] = (2,)) -> Line:
    return Line(outputs=(SaidTensor("OUTPUT0", datatype, shape, data),))


NANS = "0100807f0100c0ff"


def test_readings_are_compared_bit_for_bit(tmp_path: Path) -> None:
    exact = bytes.fromhex(NANS)
    values = {"hex": NANS}
    assert reading(tmp_path, outputs(exact), values=values, reading="exact").outcome is Outcome.PASS
    quiet = bytes.fromhex("0100c07f0100c0ff")
    found = reading(tmp_path, outputs(quiet), values=values, reading="exact")
    assert isinstance(found.cause, WrongReading)
    assert found.cause.finding.kind == "wrong_value"


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


def test_bf16_may_be_held_as_fp32_without_loss(tmp_path: Path) -> None:
    values = {"hex": "803f 0040"}
    wide = outputs(bytes.fromhex("0000803f00000040"))
    given: dict[str, Any] = {"values": values, "datatype": "BF16", "reading": "exact"}
    assert reading(tmp_path, wide, **given).outcome is Outcome.PASS
    other = outputs(bytes.fromhex("0100803f00000040"))
    assert reading(tmp_path, other, **given).outcome is Outcome.FAIL


def test_an_error_has_to_say_what_the_scenario_asks_for(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"reading": "error", "error": {"says": "overloaded", "status": 503}}
    good = Line(error="the server is overloaded", status=503)
    assert reading(tmp_path, good, **asked).outcome is Outcome.PASS
    in_words = Line(error="503: overloaded")
    assert reading(tmp_path, in_words, **asked).outcome is Outcome.PASS
    for line in (Line(error="no", status=503), Line(error="overloaded"), outputs(bytes(8))):
        assert reading(tmp_path, line, **asked).outcome is Outcome.FAIL


# What every request keeps.


@pytest.mark.parametrize(
    ("what", "sent"),
    [
        ("request_syntax", request().replace(b"Host: 127.0.0.1:8000\r\n", b"Host: x\n")),
        ("request_syntax", request().replace(b"Host: 127.0.0.1:8000", b"Host : x")),
        ("request_syntax", request().replace(b"POST /", b"POST  /")),
        ("request_syntax", b"\r\n" + request()),
        ("request_syntax", b"POST / HTTP/1.1\r\nHost: x"),
        ("request_hosts", request().replace(b"Host: 127.0.0.1:8000\r\n", b"")),
        ("request_hosts", request().replace(b"Host: 127.0.0.1:8000", b"Host: x\r\nHost: x")),
        ("request_hosts", request().replace(b"Host: 127.0.0.1:8000", b"Host: 127.0.0.1")),
        ("request_hosts", request().replace(b"Host: 127.0.0.1:8000", b"Host: example.com:8000")),
        ("request_lengths", request(framed="")),
        ("request_lengths", request(framed="Content-Length: 5\r\nContent-Length: 5\r\n")),
        ("request_lengths", request(framed="Content-Length: 5\r\nTransfer-Encoding: chunked\r\n")),
        ("request_lengths", request(framed="Content-Length: +5\r\n")),
        ("request_json", request(first_input(datatype="FLOAT"))),
        ("request_blobs", request(blobs=BLOBS[:-1])),
        ("request_blobs", request(blobs=BLOBS + b"!")),
        ("request_blobs", request(first_input(shape=[3]))),
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


@pytest.mark.parametrize("reading", ["refused", "error_or_exact"])
def test_what_a_client_may_refuse_to_send_is_not_observed(tmp_path: Path, reading: str) -> None:
    asked = scenario(tmp_path, expect={"reading": reading})
    assert observe_client(asked, [b"POST / HTTP/1.1\nno request"]) == ()
