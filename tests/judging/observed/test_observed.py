"""What is observed of every exchange and of all verdicts: what keeps it, and what does not."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import ANY

import pytest
from msgspec import structs

from support.cases import REJECT, make_case, make_observed
from support.responses import BLOB, GOOD, GOOD_JSON, answer, entry, exchange_of, http, sized, v2
from v2_clients.judging.observed import CHECKS as OF_CLIENTS
from v2_conformance.judging.observed.cases import OBSERVED, observe_verdict
from v2_conformance.judging.observed.exchanges import (
    OF_THE_PATH,
    Observation,
    Observations,
    observe,
)
from v2_conformance.judging.verdict import Verdict
from v2_conformance.protocol.content_codings import encode
from v2_conformance.protocol.message import dump_json
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.suite.cases import ObservedCase, RequestCase
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.causes.causes import Cause, DidNotSurvive, NotKept
from v2_conformance.suite.library import every_case, suite_cases
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_conformance.suite.requirements import Level
from v2_conformance.wire.exchange import Body, Exchange
from v2_conformance.wire.response import Ending

TEXT = b'{"id":"a","inputs":[]}'
REQUEST = b"POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % len(TEXT)
REQUEST += TEXT
ERROR = b'{"error":"no"}'
JSON = ("Content-Type", "application/json")
BINARY_TYPE = "application/octet-stream or another binary type"
JSON_TYPE = "application/json or another JSON type"
OCTETS = ("Content-Type", "application/octet-stream")
OOPS = kinds.InvalidErrorBody(400, "not JSON at byte 0: Expecting value", "oops")
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

BROKEN: list[tuple[str, bytes, Cause]] = [
    ("error_status", http(ERROR, 200), kinds.WrongStatus("4xx or 5xx", 200, ERROR.decode())),
    ("error_bodies", http(b"oops", 400), OOPS),
    ("error_bodies", http(b"{}", 404),
     kinds.InvalidErrorBody(404, "'error' is a required property", "{}")),
    ("error_bodies", http(encode("gzip", b"oops"), 400, ("Content-Encoding", "gzip")), OOPS),
    ("error_types", http(ERROR, 400), kinds.WrongContentType(JSON_TYPE, None)),
    ("error_header_lengths", http(ERROR, 400, (HEADER_LENGTH, 0)),
     kinds.HeaderLengthUnexpected("0")),
    ("ids", GOOD, kinds.WrongId("'a'", "None")),
    ("ids", v2(answer(sized(), id="b"), BLOB), kinds.WrongId("'a'", "'b'")),
    ("binary_types", GOOD.replace(b"application/octet-stream", b"application/json"),
     kinds.WrongContentType(BINARY_TYPE, "application/json")),
    ("json_types", http(DATA, 200, OCTETS), kinds.WrongContentType(JSON_TYPE, OCTETS[1])),
    ("unique_members", v2(TWICE, BLOB), kinds.RepeatedMember("id")),
    ("data_or_size", v2(answer(sized(data=[1])), BLOB), kinds.DataAndSize("OUTPUT0")),
    ("field_names", GOOD.replace(b"Any\r\n", b"Any\r\n: x\r\n"),
     kinds.InvalidHttp("field_name", ": x")),
    ("framing", STATUS[:9] + b"204 \r\nContent-Length: 0\r\n\r\n",
     kinds.InvalidHttp("content_length_not_allowed", "0")),
    ("nothing_after", GOOD + b"xy", kinds.BytesAfterResponse(2)),
]  # fmt: skip
KEPT = [
    ("error_status", http(b"oops", 500)),
    ("error_bodies", http(ERROR, 400)),
    ("error_types", http(ERROR, 400, JSON)),
    ("error_header_lengths", http(ERROR, 400, (HEADER_LENGTH, len(ERROR)))),
    ("ids", v2(answer(sized(), id="a"), BLOB)),
    ("json_types", GOOD_JSON),
    ("data_or_size", v2(answer(sized(data=[])), BLOB)),
    *((what, GOOD) for what in ("binary_types", "unique_members", "data_or_size", "nothing_after")),
    *((what, GOOD) for what in ("announced_closes", "status_lines")),
]
NOT_SHOWN = [
    ("error_status", GOOD),
    ("error_status", v2(answer(entry(data=[1], shape=[1]), error="x"))),
    ("error_bodies", GOOD),
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
]


@pytest.mark.parametrize(("what", "received", "cause"), BROKEN)
def test_broken_rule_has_its_cause(what: str, received: bytes, cause: Cause) -> None:
    assert seen(what, received) == Observation(what, "D1/made-by-hand", 1, 1, cause)


def test_what_keeps_a_rule_is_judged_and_what_does_not_show_it_is_not() -> None:
    for what, received in KEPT:
        assert seen(what, received) == Observation(what, "D1/made-by-hand", 1, 0)
    assert [(what, received) for what, received in NOT_SHOWN if seen(what, received)] == []


@pytest.mark.parametrize(
    ("rule", "received"),
    [
        ("transfer_codings", STATUS + b"\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        ("interim_responses", b"HTTP/1.1 103 \r\n\r\n" + GOOD),
    ],
)
def test_what_breaks_a_rule_for_http_1_0_is_observed_apart(rule: str, received: bytes) -> None:
    apart, case = f"{rule}_to_http_1_0", "D1/made-by-hand"
    old_request = REQUEST.replace(b"HTTP/1.1", b"HTTP/1.0", 1)
    both = exchange(received, old_request), exchange(received)
    broken = seen(apart, *both)
    assert broken is not None
    assert (broken.judged, broken.wrong) == (1, 1)
    assert seen(rule, *both) == Observation(rule, case, 1, 0)
    assert seen(apart, exchange(GOOD, old_request)) == Observation(apart, case, 1, 0)


def test_each_rule_has_a_case() -> None:
    rules = [case.observed for case in every_case() if isinstance(case, ObservedCase)]
    assert sorted(rules) == sorted(OBSERVED | OF_CLIENTS.keys())


HEAD = REQUEST.partition(b"\r\n\r\n")[0]
PAGE = http(b"<html>no</html>", 400)
TO_NO_ROUTE = REQUEST.replace(b"/m/", b"/a%0D%0Ab/")
GET_WITHOUT_BODY = HEAD.replace(b"POST", b"GET").replace(b"%d" % len(TEXT), b"0") + b"\r\n\r\n"


def in_chunks(trailers: bytes) -> bytes:
    head = HEAD.replace(b"Content-Length:", b"X-Length:") + b"\r\nTransfer-Encoding: chunked"
    return head + b"\r\n\r\n2\r\n{}\r\n0\r\n" + trailers + b"\r\n"


def coded(body: bytes) -> bytes:
    head = HEAD.replace(b"%d" % len(TEXT), b"%d" % len(body))
    return head + b"\r\nContent-Encoding: gzip\r\n\r\n" + body


@pytest.mark.parametrize(
    ("received", "request_", "judged"),
    [
        *((http(b"<html>no</html>", status), REQUEST, False) for status in sorted(OF_THE_PATH)),
        (PAGE, REQUEST, True),
        (http(b"no", 415), REQUEST, True),
        (PAGE, REQUEST[:-3], False),  # which is no HTTP
        (PAGE, in_chunks(b""), True),
        (PAGE, in_chunks(b"X-Checksum: 1\r\n"), False),
        (PAGE, REQUEST.replace(b"/m/", b"/no_such_model/"), True),
        *((http(b"no such page", status), TO_NO_ROUTE, False) for status in (400, 404, 500)),
        (http(ERROR, 500), TO_NO_ROUTE, True),
        (PAGE, REQUEST.replace(b"POST", b"GET"), False),
        (PAGE, REQUEST.replace(b"POST", b"HEAD"), False),
        (PAGE, GET_WITHOUT_BODY, True),
        (PAGE, coded(encode("gzip", TEXT)), True),
        (PAGE, coded(TEXT), False),
        (http(b"cannot decode", 415), coded(TEXT), False),
        (http(b"Traceback", 500), coded(TEXT), True),
    ],
)
def test_errors_of_what_is_before_the_inference_server_may_look_as_they_like(
    received: bytes, request_: bytes, judged: bool
) -> None:
    assert (seen("error_bodies", exchange(received, request_)) is not None) is judged


def test_of_a_should_no_decoders_error_is_judged_nor_that_of_a_known_good_request() -> None:
    decoded = exchange(PAGE, coded(encode("gzip", TEXT)))
    assert seen("error_bodies", decoded, case=make_case(level="SHOULD")) is None
    canary = observe(make_case(), [exchange(PAGE).for_purpose(Purpose.CANARY_SAME)])
    assert "error_bodies" not in {one.what for one in canary}


def test_only_a_request_that_must_be_rejected_is_a_clients_mistake() -> None:
    error, what, rejected = http(ERROR, 500), "client_errors", make_case(REJECT)
    broken = kinds.WrongStatus("4xx", 500, ERROR.decode())
    assert seen(what, error, case=rejected) == Observation(what, rejected.id, 1, 1, broken)
    assert seen(what, http(ERROR, 422), case=rejected) == Observation(what, rejected.id, 1, 0)
    free = make_case({"outcome": "either", "outputs": {"0": "any"}})
    limited = make_case({**REJECT, "server_limit": True})
    for other in (make_case(), free, make_case(REJECT, level="MAY"), limited):
        assert seen(what, error, case=other) is None
    assert seen(what, http(ERROR, 503), case=rejected) is None
    canary = observe(rejected, [exchange(error).for_purpose(Purpose.CANARY_FRESH)])
    assert what not in {one.what for one in canary}


def test_a_close_right_after_a_response_is_one_that_was_not_announced() -> None:
    closed, kept = "announced_closes", Observation("announced_closes", "D1/made-by-hand", 1, 0)
    at_once = seen(closed, structs.replace(exchange(GOOD), closed_before_ms=3.0))
    assert at_once == Observation(closed, kept.case, 1, 1, kinds.UnannouncedClose(3))
    assert seen(closed, structs.replace(exchange(GOOD), closed_before_ms=5000.0)) == kept
    assert seen(closed, structs.replace(exchange(GOOD), open=False)) is None
    died = structs.replace(exchange_of(b"", Ending.REFUSED), closed_before_ms=3.0)
    assert seen(closed, died) is None


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("asked_closes", b"Connection: TE, Close"),
        ("closes_after_two_lengths", b"Transfer-Encoding: chunked"),
    ],
)
def test_a_connection_that_is_to_end_is_closed_after_the_answer(what: str, line: bytes) -> None:
    request = REQUEST.replace(b"Host: h", b"Host: h\r\n" + line)
    ended = structs.replace(exchange(GOOD, request), open=False)
    assert seen(what, ended) == Observation(what, "D1/made-by-hand", 1, 0)
    kept = structs.replace(ended, open=True)
    assert seen(what, kept) == Observation(what, "D1/made-by-hand", 1, 1, kinds.LeftOpen())
    assert seen(what, exchange(GOOD)) is None


@pytest.mark.parametrize("second", ["W8/b[plain]", "O6/a[spaced]"])
def test_what_is_disputed_has_one_reading_in_all_spellings(second: str) -> None:
    observations = Observations()
    for id_, cause in (("O6/a[plain]", kinds.Accepted()), (second, kinds.Rejected(400))):
        observations.add([Observation("readings", id_, 1, 0, cause)])
    found = observations.verdict(make_observed("readings"))
    assert found.outcome is (Outcome.FAIL if "O6" in second else Outcome.PASS)


def test_a_client_that_waits_for_100_continue_gets_something_first() -> None:
    request = REQUEST.replace(b"Host: h", b"Host: h\r\nExpect: 100-Continue")
    silent = structs.replace(exchange(GOOD, request), pause_ms=1000.0, first_byte_ms=1002.0)
    kept = Observation("continues", "D1/made-by-hand", 1, 0)
    assert seen("continues", structs.replace(silent, first_byte_ms=10.0)) == kept
    broken = Observation("continues", kept.case, 1, 1, kinds.NotContinued(1000))
    assert seen("continues", silent) == broken
    old = exchange(GOOD, request.replace(b"HTTP/1.1", b"HTTP/1.0"))
    for unasked in (
        exchange(GOOD),
        structs.replace(silent, pause_ms=5.0),
        structs.replace(old, pause_ms=1000.0, first_byte_ms=1002.0),
        structs.replace(silent, received=Body(GOOD.replace(b"HTTP/1.1", b"HTTP/1.0"))),
    ):
        assert seen("continues", unasked) is None


def test_a_response_that_is_not_whole_shows_nothing() -> None:
    for ending in (Ending.CLOSED, Ending.TIMEOUT):
        assert observe(make_case(), [exchange_of(GOOD[:-3], ending)]) == ()


def test_bytes_on_the_connection_before_belong_to_no_response() -> None:
    found = seen("nothing_after", structs.replace(exchange(GOOD), stray_before=3))
    assert found is not None
    assert (found.judged, found.wrong, found.first) == (1, 1, kinds.StrayBytes(3))


def test_the_verdict_names_the_first_cases_in_an_order_that_no_run_changes() -> None:
    bad = [(f"D1/case-{n:02}", http(b"", 400)) for n in range(12)]
    verdicts = set()
    for order in (
        [*bad, ("D1/good", http(ERROR, 400))],
        [("D1/good", http(ERROR, 400)), *reversed(bad)],
    ):
        observations = Observations()
        for case_id, received in order:
            observations.add(observe(make_case(case_id=case_id), [exchange(received)]))
        verdicts.add(observations.verdict(make_observed("error_bodies")))
    (verdict,) = verdicts
    assert verdict.outcome is Outcome.FAIL
    cause = kinds.InvalidErrorBody(400, "not JSON at byte 0: Expecting value", "")
    cases = tuple(case_id for case_id, _ in bad[:10])
    assert verdict.cause == NotKept(12, 13, cases, 2, cause)


@pytest.mark.parametrize("wrong", [["H9/rare"], ["D1/usual"], ["A1/rare", "D1/usual"]])
def test_what_only_rare_requests_show_blocks_robust(wrong: list[str]) -> None:
    only_rare = wrong == ["H9/rare"]
    observations = Observations()
    for id_ in [*wrong, "H9/good"]:
        case = make_case(requirement="D1" if "usual" in id_ else "H9", case_id=id_)
        observations.add(observe(case, [exchange(http(ERROR if id_ == "H9/good" else b"", 400))]))
    observed = make_observed("error_bodies")
    found = observations.verdict(observed).cause
    assert isinstance(found, NotKept)
    assert found.only_rare is only_rare
    assert observed.facts((), found).blocks == ("robust" if only_rare else "conformant")
    assert found.cases == tuple(sorted(wrong, key=lambda one: "rare" in one))


def test_a_case_that_ran_again_counts_once() -> None:
    observations = Observations()
    observations.add(observe(make_case(), [exchange(http(b"", 400))]))
    observations.add(observe(make_case(), [exchange(http(ERROR, 400))]))
    found = observations.verdict(make_observed("error_bodies"))
    assert (found.outcome, found.cause) == (Outcome.PASS, kinds.AllKept(1))


def test_nothing_that_shows_it_is_never_a_pass() -> None:
    observations = Observations()
    empty = observations.verdict(make_observed("error_bodies"))
    assert (empty.outcome, empty.cause) == (Outcome.INCONCLUSIVE, kinds.NothingObserved(0))
    observations.add(observe(make_case(), [exchange(GOOD)]))
    other = observations.verdict(make_observed("error_bodies"))
    assert (other.outcome, other.cause) == (Outcome.UNSUPPORTED, kinds.NothingObserved(1))


GONE = kinds.NoResponse("refused", "")
DIED = DidNotSurvive(None, GONE, kinds.Rejected(400), case_passed=True)
LOST = DidNotSurvive(GONE, None, None, case_passed=True)
HUNG = kinds.Hung(1.0, 0, 1)
COUNT = kinds.WrongElementCount("OUTPUT0", 3, 2)
MUST = make_case(case_id="D1/x")
NEGATIVE = make_case(REJECT, case_id="D1/negative")
LEAVES = replace(NEGATIVE, request={**NEGATIVE.request, "client": {"then": "leaves"}})


def of_verdict(case: object, outcome: Outcome, cause: Cause | None) -> dict[str, Observation]:
    found = observe_verdict(case, Verdict(outcome, cause))  # type: ignore[arg-type]
    return {one.what: one for one in found}


@pytest.mark.parametrize("level", ["SHOULD", "MAY", "DISPUTED"])
@pytest.mark.parametrize(("cause", "first"), [(DIED, GONE), (LOST, LOST), (HUNG, HUNG)])
def test_a_death_or_a_hang_at_any_level_counts(level: Level, cause: Cause, first: Cause) -> None:
    found = of_verdict(replace(MUST, level=level), Outcome.FAIL, cause)["survival"]
    assert (found.wrong, found.first) == (1, first)


@pytest.mark.parametrize(
    ("case", "outcome", "cause", "survival"),
    [
        (NEGATIVE, Outcome.FAIL, HUNG, 1),
        (NEGATIVE, Outcome.FAIL, DIED, None),  # a MUST, which fails itself
        (MUST, Outcome.FAIL, HUNG, None),  # no malformed request
        (LEAVES, Outcome.FAIL, DIED, None),
        (NEGATIVE, Outcome.PASS, kinds.Rejected(400), 0),
        (NEGATIVE, Outcome.FAIL, kinds.WrongStatus("4xx", 200, ""), 0),
        (NEGATIVE, Outcome.FAIL, kinds.ConnectionClosed(0, ""), 0),
        (NEGATIVE, Outcome.INCONCLUSIVE, kinds.TimedOut(1.0, 0, ""), None),
    ],
)
def test_only_a_hang_after_a_malformed_request_counts_at_must(
    case: RequestCase, outcome: Outcome, cause: Cause, survival: int | None
) -> None:
    found = of_verdict(case, outcome, cause).get("survival")
    assert (None if found is None else found.wrong) == survival


@pytest.mark.parametrize("level", ["SHOULD", "MAY", "DISPUTED"])
def test_wrong_values_count_below_must(level: Level) -> None:
    free = replace(MUST, level=level)
    assert of_verdict(free, Outcome.FAIL, COUNT)["exact_values"].first == COUNT
    died = DidNotSurvive(None, GONE, COUNT, case_passed=False)
    assert of_verdict(free, Outcome.FAIL, died)["exact_values"].first == COUNT
    assert of_verdict(free, Outcome.PASS, kinds.Accepted())["exact_values"].wrong == 0


EMPTY = [{"shape": [4]}, {"shape": [0, 2]}]


def _moods(*found: tuple[Outcome, Cause | None, str]) -> Verdict:
    observations = Observations()
    for number, (outcome, cause, expects) in enumerate(found):
        case = make_case({"outcome": expects}, case_id=f"M4/x[{number}]", inputs=EMPTY)
        observations.add(observe_verdict(case, Verdict(outcome, cause)))
    (observed,) = (case for case in suite_cases() if case.id == "E1/observed")
    assert isinstance(observed, ObservedCase)
    return observations.verdict(observed)


def test_what_a_server_takes_without_elements_it_should_take_everywhere() -> None:
    taken = (Outcome.PASS, kinds.Accepted(), "either")
    refused = (Outcome.PASS, kinds.Rejected(400), "either")
    found = _moods(taken, refused, refused)
    first = kinds.Rejected(400)  # the words of its answer are in the case
    assert found.cause == NotKept(2, 3, ("M4/x[1]", "M4/x[2]"), 0, first, only_rare=ANY)
    assert _moods(taken, taken).outcome is Outcome.PASS
    assert _moods((Outcome.PASS, None, "success"), refused).outcome is Outcome.FAIL


def test_a_refusal_of_another_freedom_is_no_mood() -> None:
    case = replace(make_case({"outcome": "either"}, inputs=EMPTY), variations=("model-name",))
    assert "zero_elements" not in of_verdict(case, Outcome.PASS, kinds.Rejected(400))
    assert of_verdict(case, Outcome.PASS, None)["zero_elements"].wrong == 0
    raw = make_case({"outcome": "either"}, inputs=[{"shape": [0]}], raw=True)
    assert "zero_elements" not in of_verdict(raw, Outcome.PASS, kinds.Accepted())
    assert of_verdict(raw, Outcome.PASS, kinds.Rejected(400))["zero_elements"].wrong == 1


def test_a_server_that_never_takes_what_has_no_elements_has_no_moods() -> None:
    refused = (Outcome.PASS, kinds.Rejected(400), "either")
    failed = (Outcome.FAIL, kinds.WrongStatus("200", 400, ""), "success")
    assert _moods(refused, refused, failed).cause == kinds.NothingObserved(0)


@pytest.mark.parametrize(
    ("chunks", "expects", "cause", "wrong"),
    [
        (True, "success", kinds.LengthRequired("no"), 1),
        (True, "success", None, 0),
        (True, "either", kinds.LengthRequired("no"), None),
        (False, "success", None, None),
    ],
)
def test_only_plain_bodies_in_chunks_show_if_a_server_takes_them(
    chunks: bool, expects: str, cause: Cause | None, wrong: int | None
) -> None:
    delivery = {"chunks": 7} if chunks else {"slices": 7}
    case = make_case({"outcome": expects}, delivery=delivery)
    outcome = Outcome.PASS if cause is None else Outcome.UNSUPPORTED
    found = of_verdict(case, outcome, cause).get("chunked_requests")
    assert (None if found is None else found.wrong) == wrong


def test_refusals_other_forms_and_graded_values_show_nothing_about_others() -> None:
    free = replace(MUST, level="MAY")
    assert "exact_values" not in of_verdict(free, Outcome.PASS, kinds.Rejected(400))
    assert "exact_values" not in of_verdict(
        free, Outcome.FAIL, kinds.WrongShape("OUTPUT0", (1,), (1, 1))
    )
    assert "exact_values" not in of_verdict(MUST, Outcome.FAIL, COUNT)
    graded = replace(MUST, level="SHOULD", expect={**MUST.expect, "ambiguous": True})
    assert "exact_values" not in of_verdict(graded, Outcome.FAIL, COUNT)
