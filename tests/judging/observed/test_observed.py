"""What is observed of every exchange: what keeps it, what does not, and the verdict on all."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from support.cases import REJECT, make_case, make_observed
from support.responses import BLOB, GOOD, GOOD_JSON, answer, entry, exchange_of, http, sized, v2
from v2_clients.judging.observed import CHECKS as OF_CLIENTS
from v2_conformance.judging.observed.cases import OBSERVED
from v2_conformance.judging.observed.exchanges import (
    OF_THE_PATH,
    Observation,
    Observations,
    observe,
)
from v2_conformance.protocol.content_codings import encode
from v2_conformance.protocol.message import dump_json
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.suite.cases import ObservedCase, RequestCase
from v2_conformance.suite.causes.causes import Cause, NotKept
from v2_conformance.suite.causes.kinds import (
    AllKept,
    BytesAfterResponse,
    DataAndSize,
    HeaderLengthUnexpected,
    HttpRule,
    InvalidErrorBody,
    InvalidHttp,
    NotContinued,
    NothingObserved,
    RepeatedMember,
    StrayBytes,
    UnannouncedClose,
    WrongContentType,
    WrongId,
    WrongStatus,
)
from v2_conformance.suite.library import every_case, suite_cases
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_conformance.wire.exchange import Body, Exchange
from v2_conformance.wire.response import Ending

TEXT = b'{"id":"a","inputs":[]}'
REQUEST = b"POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % len(TEXT)
REQUEST += TEXT
ERROR = b'{"error":"no"}'
JSON = ("Content-Type", "application/json")
BINARY_TYPE = "application/octet-stream or another binary type"
JSON_TYPE = "application/json or another JSON type"
WITH_ID = v2(answer(sized(), id="a"), BLOB)
TWICE = dump_json(answer(sized())).replace(b"{", b'{"id":"x","id":"a",', 1)
DATA = dump_json(answer(entry(data=[1, 2, 3])))


def exchange(received: bytes, request: bytes = REQUEST) -> Exchange:
    return exchange_of(received, request=request, open=True)


def seen(
    what: str, *received: Exchange | bytes, case: RequestCase | None = None
) -> Observation | None:
    exchanges = [one if isinstance(one, Exchange) else exchange(one) for one in received]
    found = observe(case or make_case(), exchanges)
    return next((one for one in found if one.what == what), None)


STATUS = b"HTTP/1.1 200 Any"
CHUNKS = STATUS + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
HTTP: dict[str, tuple[bytes, HttpRule, str]] = {
    "status_lines": (GOOD.replace(STATUS, STATUS[:12]), "status_line", "HTTP/1.1 200"),
    "line_ends": (GOOD.replace(b"Any\r", b"Any"), "line_end", "HTTP/1.1 200 Any"),
    "field_names": (GOOD.replace(b"Any\r\n", b"Any\r\n: x\r\n"), "field_name", ": x"),
    "field_values": (GOOD.replace(b"Any\r\n", b"Any\r\nA: \1\r\n"), "field_value", "A: \\x01"),
    "folded_fields": (GOOD.replace(b"Any\r\n", b"Any\r\nA: b\r\n c\r\n"), "folded_line", " c"),
    "single_fields": (
        GOOD.replace(b"Any\r\n", b"Any\r\nContent-Type: application/octet-stream\r\n"),
        "repeated_field",
        "content-type: application/octet-stream and application/octet-stream",
    ),
    "framing": (STATUS[:9] + b"204 \r\nContent-Length: 0\r\n\r\n",
                "content_length_not_allowed", "0"),
    "content_lengths": (STATUS + b"\r\nContent-Length: 0, 0\r\n\r\n", "content_length", "0, 0"),
    "transfer_codings": (
        STATUS + b"\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
        "transfer_coding", "chunked, chunked",
    ),
    "chunks": (CHUNKS + b"0 \r\n\r\n", "chunk", "0 \\r\\n\\r\\n"),
    "interim_responses": (
        b"HTTP/1.1 103 \r\nContent-Length: 0\r\n\r\n" + GOOD, "interim_response",
        "content-length: 0",
    ),
}  # fmt: skip

KEPT: list[tuple[str, bytes]] = [
    ("error_status", http(b"oops", 500)),
    ("error_bodies", http(ERROR, 400)),
    ("error_types", http(ERROR, 400, JSON)),
    ("error_types", http(ERROR, 400, ("Content-Type", "application/problem+json"))),
    ("error_header_lengths", http(ERROR, 400)),
    ("error_header_lengths", http(ERROR, 400, (HEADER_LENGTH, len(ERROR)))),
    ("ids", WITH_ID),
    ("binary_types", GOOD),
    ("json_types", GOOD_JSON),
    ("unique_members", GOOD),
    ("data_or_size", GOOD),
    ("data_or_size", v2(answer(sized(data=[])), BLOB)),
    ("data_or_size", v2(answer(sized(data=None)), BLOB)),
    *((what, GOOD) for what in HTTP),
    ("nothing_after", GOOD),
    ("announced_closes", GOOD),
]

BROKEN: list[tuple[str, bytes, Cause]] = [
    ("error_status", http(ERROR, 200), WrongStatus("4xx or 5xx", 200, ERROR.decode())),
    ("error_bodies", http(b"oops", 400),
     InvalidErrorBody(400, "not JSON at byte 0: Expecting value", "oops")),
    ("error_bodies", http(b"{}", 404),
     InvalidErrorBody(404, "'error' is a required property", "{}")),
    ("error_bodies", http(encode("gzip", b"oops"), 400, ("Content-Encoding", "gzip")),
     InvalidErrorBody(400, "not JSON at byte 0: Expecting value", "oops")),
    ("error_types", http(ERROR, 400), WrongContentType(JSON_TYPE, None)),
    ("error_types", http(ERROR, 400, ("Content-Type", "text/html")),
     WrongContentType(JSON_TYPE, "text/html")),
    ("error_header_lengths", http(ERROR, 400, (HEADER_LENGTH, 0)), HeaderLengthUnexpected("0")),
    ("ids", GOOD, WrongId("'a'", "None")),
    ("ids", v2(answer(sized(), id="b"), BLOB), WrongId("'a'", "'b'")),
    ("binary_types", GOOD.replace(b"application/octet-stream", b"application/json"),
     WrongContentType(BINARY_TYPE, "application/json")),
    ("json_types", http(DATA, 200, ("Content-Type", "application/octet-stream")),
     WrongContentType(JSON_TYPE, "application/octet-stream")),
    ("unique_members", v2(TWICE, BLOB), RepeatedMember("id")),
    ("data_or_size", v2(answer(sized(data=[1])), BLOB), DataAndSize("OUTPUT0")),
    *((what, received, InvalidHttp(rule, shown))
      for what, (received, rule, shown) in HTTP.items()),
    ("nothing_after", GOOD + b"xy", BytesAfterResponse(2)),
]  # fmt: skip


@pytest.mark.parametrize(("what", "received"), KEPT)
def test_what_keeps_it_is_judged_and_kept(what: str, received: bytes) -> None:
    assert seen(what, received) == Observation(what, "D1/made-by-hand", 1, 0)


@pytest.mark.parametrize(("what", "received", "cause"), BROKEN)
def test_broken_rule_has_its_cause(what: str, received: bytes, cause: Cause) -> None:
    assert seen(what, received) == Observation(what, "D1/made-by-hand", 1, 1, cause)


@pytest.mark.parametrize("rule", ["transfer_codings", "interim_responses"])
def test_what_breaks_a_rule_for_http_1_0_alone_is_observed_apart(rule: str) -> None:
    apart = f"{rule}_to_http_1_0"
    received = {
        "transfer_codings": STATUS + b"\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "interim_responses": b"HTTP/1.1 103 \r\n\r\n" + GOOD,
    }[rule]
    old_request = REQUEST.replace(b"HTTP/1.1", b"HTTP/1.0", 1)
    old = exchange(received, old_request)
    new = exchange(received)
    broken = seen(apart, old, new)
    assert broken is not None
    assert (broken.judged, broken.wrong) == (1, 1)
    assert seen(rule, old, new) == Observation(rule, "D1/made-by-hand", 1, 0)
    assert seen(apart, exchange(GOOD, old_request)) == Observation(apart, broken.case, 1, 0)


def test_each_rule_has_a_case() -> None:
    rules = [case.observed for case in every_case() if isinstance(case, ObservedCase)]
    assert sorted(rules) == sorted(OBSERVED | OF_CLIENTS.keys())


@pytest.mark.parametrize(
    ("what", "received"),
    [
        ("error_status", GOOD),
        ("error_status", v2(answer(entry(data=[1], shape=[1]), error="x"))),
        ("error_bodies", GOOD),
        ("error_bodies", http(b"<html>", 502)),
        ("error_types", http(b"oops", 400, ("Content-Type", "text/plain"))),
        ("error_types", http(ERROR, 503)),
        ("error_header_lengths", GOOD),
        ("ids", http(b"not JSON")),
        ("ids", http(ERROR, 400)),
        ("binary_types", GOOD_JSON),
        ("json_types", GOOD),
        ("json_types", http(dump_json(answer(sized(0, shape=[0]))))),
        ("json_types", http(b'{"live":true}')),
        ("unique_members", http(b'{"a":1,"a":2}')),
        ("data_or_size", GOOD_JSON),
        ("data_or_size", v2(answer(sized(data=[1])), BLOB, b"more")),
    ],
)
def test_what_does_not_show_it_is_not_judged(what: str, received: bytes) -> None:
    assert seen(what, received) is None


@pytest.mark.parametrize("status", sorted(OF_THE_PATH))
def test_an_error_of_a_proxy_may_look_as_it_likes(status: int) -> None:
    assert seen("error_bodies", http(b"<html>no</html>", status)) is None


def test_a_400_to_what_is_no_http_may_look_as_it_likes() -> None:
    page = http(b"Invalid HTTP request received.", 400)
    cut_off = REQUEST[:-3]
    assert seen("error_bodies", exchange(page, cut_off)) is None
    assert seen("error_bodies", exchange(page)) is not None


@pytest.mark.parametrize("trailers", [b"", b"X-Checksum: 1\r\n"])
def test_the_refusal_of_odd_chunks_may_look_as_it_likes(trailers: bytes) -> None:
    head = REQUEST.partition(b"\r\n\r\n")[0].replace(b"Content-Length:", b"X-Length:")
    chunks = b"2\r\n{}\r\n0\r\n" + trailers + b"\r\n"
    sent = head + b"\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks
    shown = seen("error_bodies", exchange(http(b"", 400), sent))
    assert (shown is None) == bool(trailers)


@pytest.mark.parametrize("status", [400, 404, 500])
def test_the_error_of_a_router_may_look_as_it_likes(status: int) -> None:
    page = http(b"no such page", status)
    unknown = REQUEST.replace(b"/m/", b"/no_such_model/")
    assert seen("error_bodies", exchange(page, unknown)) is not None
    of_no_route = REQUEST.replace(b"/m/", b"/a%0D%0Ab/")
    assert seen("error_bodies", exchange(page, of_no_route)) is None
    object_of_the_server = exchange(http(ERROR, status), of_no_route)
    assert seen("error_bodies", object_of_the_server) is not None


def test_the_refusal_of_a_get_with_a_body_may_look_as_it_likes() -> None:
    page = http(b"<html>", 400)
    for method in (b"GET", b"HEAD"):
        assert seen("error_bodies", exchange(page, REQUEST.replace(b"POST", method))) is None
    empty = REQUEST.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
    without = empty.replace(b"POST", b"GET").replace(b"Length: %d" % len(TEXT), b"Length: 0")
    assert seen("error_bodies", exchange(page, without)) is not None


def test_error_of_a_known_good_request_is_not_judged_as_one() -> None:
    refused = exchange(http(b"Bad Request", 400))
    for purpose, judged in ((Purpose.CASE, True), (Purpose.CANARY_SAME, False)):
        found = {one.what for one in observe(make_case(), [refused.for_purpose(purpose)])}
        assert ("error_bodies" in found) == judged


def test_the_error_of_a_decoder_may_look_as_it_likes() -> None:
    coded = REQUEST.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")
    body = encode("gzip", TEXT)
    decoded = coded.replace(b"Length: %d" % len(TEXT), b"Length: %d" % len(body))
    decoded = decoded.replace(TEXT, body)
    assert seen("error_bodies", exchange(http(b"no", 400), decoded)) is not None
    for status in (400, 415):
        assert seen("error_bodies", exchange(http(b"cannot decode", status), coded)) is None
    assert seen("error_bodies", exchange(http(b"Traceback", 500), coded)) is not None
    only_should = make_case(level="SHOULD")
    assert seen("error_bodies", exchange(http(b"no", 400), decoded), case=only_should) is None
    assert seen("error_bodies", exchange(http(b"no", 415))) is not None


def test_only_a_request_that_must_be_rejected_is_a_clients_mistake() -> None:
    error = http(ERROR, 500)
    broken = WrongStatus("4xx", 500, ERROR.decode())
    rejected = make_case(REJECT)
    found = seen("client_errors", error, case=rejected)
    assert found == Observation("client_errors", rejected.id, 1, 1, broken)
    kept = seen("client_errors", http(ERROR, 422), case=rejected)
    assert kept == Observation("client_errors", rejected.id, 1, 0)
    either = {"outcome": "either", "outputs": {"0": "any"}}
    for other in (
        make_case(),
        make_case(either),
        make_case(REJECT, level="MAY"),
        make_case({**REJECT, "server_limit": True}),
    ):
        assert seen("client_errors", error, case=other) is None
    assert seen("client_errors", http(ERROR, 503), case=rejected) is None
    canary = observe(rejected, [exchange(error).for_purpose(Purpose.CANARY_FRESH)])
    assert "client_errors" not in {one.what for one in canary}


def test_a_close_right_after_a_response_is_one_that_was_not_announced() -> None:
    at_once = replace(exchange(GOOD), closed_before_ms=3.0)
    assert seen("announced_closes", at_once) == Observation(
        "announced_closes", "D1/made-by-hand", 1, 1, UnannouncedClose(3)
    )
    idle = replace(exchange(GOOD), closed_before_ms=5000.0)
    assert seen("announced_closes", idle) == Observation(
        "announced_closes", "D1/made-by-hand", 1, 0
    )
    announced = replace(exchange(GOOD), open=False)
    assert seen("announced_closes", announced) is None
    died = replace(exchange_of(b"", Ending.REFUSED), closed_before_ms=3.0)
    assert seen("announced_closes", died) is None


def test_a_client_that_waits_for_100_continue_gets_something_first() -> None:
    request = REQUEST.replace(b"Host: h", b"Host: h\r\nExpect: 100-Continue")
    asked = replace(exchange(GOOD, request), pause_ms=1000.0, first_byte_ms=10.0)
    kept = Observation("continues", "D1/made-by-hand", 1, 0)
    assert seen("continues", asked) == kept
    silent = replace(asked, first_byte_ms=1002.0)
    assert seen("continues", silent) == Observation(
        "continues", "D1/made-by-hand", 1, 1, NotContinued(1000)
    )
    impatient = replace(silent, pause_ms=5.0)
    assert seen("continues", impatient) is None
    old = exchange(GOOD, request.replace(b"HTTP/1.1", b"HTTP/1.0"))
    assert seen("continues", replace(old, pause_ms=1000.0, first_byte_ms=1002.0)) is None
    old_server = replace(silent, received=Body(GOOD.replace(b"HTTP/1.1", b"HTTP/1.0")))
    assert seen("continues", old_server) is None
    assert seen("continues", exchange(GOOD)) is None


def test_a_response_that_is_not_whole_shows_nothing() -> None:
    for ending in (Ending.CLOSED, Ending.TIMEOUT):
        assert observe(make_case(), [exchange_of(GOOD[:-3], ending)]) == ()


def test_bytes_on_the_connection_before_belong_to_no_response() -> None:
    came = replace(exchange(GOOD), stray_before=3)
    ((found,),) = [[one for one in observe(make_case(), [came]) if one.what == "nothing_after"]]
    assert (found.judged, found.wrong, found.first) == (1, 1, StrayBytes(3))


def test_the_verdict_names_the_first_cases_in_an_order_that_no_run_changes() -> None:
    bad = [observe(make_case(case_id=f"D1/case-{n:02}"), [exchange(http(b"", 400))])
           for n in range(12)]  # fmt: skip
    good = observe(make_case(case_id="D1/good"), [exchange(http(ERROR, 400))])
    verdicts = set()
    for order in ([*bad, good], [good, *reversed(bad)]):
        observations = Observations()
        for one in order:
            observations.add(one)
        verdicts.add(observations.verdict(make_observed("error_bodies")))
    (verdict,) = verdicts
    assert verdict.outcome is Outcome.FAIL
    cases = tuple(f"D1/case-{n:02}" for n in range(10))
    cause = InvalidErrorBody(400, "not JSON at byte 0: Expecting value", "")
    assert verdict.cause == NotKept(12, 13, cases, 2, cause)


@pytest.mark.parametrize(
    ("wrong", "blocks"),
    [
        (["H9/rare"], "robust"),
        (["D1/usual"], "conformant"),
        (["A1/rare", "D1/usual"], "conformant"),
    ],
)
def test_what_only_rare_requests_show_blocks_robust(wrong: list[str], blocks: str) -> None:
    observations = Observations()
    for case_id in wrong:
        case = make_case(requirement="D1" if "usual" in case_id else "H9", case_id=case_id)
        observations.add(observe(case, [exchange(http(b"", 400))]))
    good = make_case(requirement="H9", case_id="H9/good")
    observations.add(observe(good, [exchange(http(ERROR, 400))]))
    observed = make_observed("error_bodies")
    found = observations.verdict(observed)
    assert isinstance(found.cause, NotKept)
    assert found.cause.only_rare == (blocks == "robust")
    assert observed.facts((), found.cause).blocks == blocks
    assert found.cause.cases == tuple(sorted(wrong, key=lambda one: "rare" in one))


@pytest.mark.parametrize(
    ("case_id", "blocks"),
    [
        ("R2/error-body[wrong_datatype]", "conformant"),
        ("R2/error-body[short_blob]", "conformant"),
        ("R2/error-body-for-json[array]", "conformant"),
        ("J4/wrong-type[", "conformant"),
        ("J6/input-that-the-model-lacks", "conformant"),
        ("J8/name-in-an-error[quotes]", "conformant"),
        ("O14/unknown-output", "conformant"),
        ("R3/survives-a-rejection[wrong_name]", "conformant"),
        ("H6/not-a-number[letters]", "robust"),
        ("S8/shape-product-overflows", "robust"),
        ("B6/prefix-past-the-end", "robust"),
    ],
)
def test_errors_of_ordinary_mistakes_block_conformant(case_id: str, blocks: str) -> None:
    case = next(case for case in suite_cases() if case.id.startswith(case_id))
    assert isinstance(case, RequestCase)
    assert case.expects == "reject"
    observations = Observations()
    wrong = http(b'{"detail": "a member is missing"}', 422)
    observations.add(observe(case, [exchange(wrong)]))
    observed = make_observed("error_bodies")
    found = observations.verdict(observed)
    assert found.outcome is Outcome.FAIL
    assert observed.facts((), found.cause).blocks == blocks


def test_a_case_that_ran_again_counts_once() -> None:
    observations = Observations()
    observations.add(observe(make_case(), [exchange(http(b"", 400))]))
    observations.add(observe(make_case(), [exchange(http(ERROR, 400))]))
    found = observations.verdict(make_observed("error_bodies"))
    assert (found.outcome, found.cause) == (Outcome.PASS, AllKept(1))


def test_nothing_that_shows_it_is_never_a_pass() -> None:
    observations = Observations()
    empty = observations.verdict(make_observed("error_bodies"))
    assert (empty.outcome, empty.cause) == (Outcome.INCONCLUSIVE, NothingObserved(0))
    observations.add(observe(make_case(), [exchange(GOOD)]))
    other = observations.verdict(make_observed("error_bodies"))
    assert (other.outcome, other.cause) == (Outcome.UNSUPPORTED, NothingObserved(1))


ENTRIES = st.sampled_from(
    [
        sized(),
        entry(data=[1, 2, 3]),
        {**sized(), "data": [1]},
        {**sized(), "data": []},
        {**sized(), "parameters": {"binary_data_size": True}},
        {**sized(), "parameters": {"binary_data_size": 1.5}},
        {"parameters": []},
        {"parameters": None},
        7,
    ]
)
IDS = st.sampled_from(["", '"id":"a",', '"id":7,', '"id":"x","id":"a",', f'"id":"{"b" * 2000}",'])


@settings(max_examples=200)
@given(st.lists(ENTRIES, max_size=2), IDS, st.sampled_from([b"", BLOB, BLOB[1:]]), st.booleans())
def test_any_json_can_be_observed(
    outputs: list[Any], id_: str, blob: bytes, announced: bool
) -> None:
    document = dump_json({"outputs": outputs}).replace(b"{", b"{" + id_.encode(), 1)
    fields = [(HEADER_LENGTH, str(len(document)))] if announced else []
    received = exchange(http(document + blob, 200, *fields))
    assert observe(make_case(), [received]) == observe(make_case(), [received])
