"""The sentences that people read: one example of every cause that is no finding, in full."""

from __future__ import annotations

from typing import get_args

import pytest

from v2_conformance.suite import (
    causes,
    circumstances,
    client_findings,
    findings,
    observations,
    transport_findings,
)
from v2_conformance.suite.causes import Cause
from v2_conformance.suite.wording import describe

LENGTH = "Inference-Header-Content-Length"
REFUSED = findings.WrongStatus("200", 503, "")
LOST = findings.HeaderLengthMissing()

SENTENCES: list[tuple[Cause, str]] = [
    (
        observations.InvalidHttp("line_end", "Server: x"),
        "the response breaks the syntax of HTTP/1.1: a line ends with LF alone instead of CRLF: "
        "Server: x",
    ),
    (
        observations.StrayBytes(3),
        "3 bytes came on the connection before, after its response, although no request asked for "
        "them",
    ),
    (
        observations.UnannouncedClose(3),
        "expected the response before to say Connection: close, got none, and the server closed "
        "the connection within 3 ms",
    ),
    (
        observations.NotContinued(1000),
        "expected 100 Continue or a final status, got nothing, and so the client sent the body "
        "after 1000 ms",
    ),
    (
        observations.NothingObserved(2),
        "none of 2 answers shows whether the server does this",
    ),
    (observations.AllKept(1), "kept in all of 1 exchange"),
    (
        observations.NoErrorToJudge(200),
        "the server accepted the request with 200, so there is no error to judge",
    ),
    (
        causes.NotKept(3, 9, ("R1/a", "R2/b"), 1, REFUSED),
        "3 of 9 exchanges, in R1/a, R2/b and 1 more case; the first: expected status 200, got 503: "
        "(empty body)",
    ),
    (circumstances.CodingsUnsupported(("deflate",)), "the target declares deflate unsupported"),
    (
        circumstances.ChangedAnswer("status 503", "closed"),
        "expected status 503 as before, got closed",
    ),
    (
        circumstances.NoResponse("closed", "the server closed the connection"),
        "no complete response: closed (the server closed the connection)",
    ),
    (
        causes.DidNotSurvive(REFUSED, LOST, None, case_passed=True),
        "did not survive: a known-good request got a wrong answer on the same connection: expected "
        "status 200, got 503: (empty body); on a fresh connection: the response has no "
        f"{LENGTH} header",
    ),
    (
        causes.DidNotSurvive(None, LOST, causes.Rejected(400), case_passed=True),
        "did not survive: a known-good request got a wrong answer on a fresh connection: the "
        f"response has no {LENGTH} header (the case itself was rejected with status 400)",
    ),
    (
        causes.DidNotSurvive(None, LOST, REFUSED, case_passed=False),
        "expected status 200, got 503: (empty body); did not survive: a known-good request got a "
        f"wrong answer on a fresh connection: the response has no {LENGTH} header",
    ),
    (
        causes.SeveralWrong(2, 20, LOST),
        f"2 of 20 answers were wrong, the first: the response has no {LENGTH} header",
    ),
    (
        causes.SecondAnswerWrong(LOST),
        "the answer to the request that was pipelined behind the case's own is wrong: the response "
        f"has no {LENGTH} header",
    ),
    (
        circumstances.AnswersDiffer("model/m", "OUTPUT0"),
        "the model m does not repeat its answers: the same request was answered in more than one "
        "way (OUTPUT0); --rtol and --atol allow floats to differ",
    ),
    (
        circumstances.ModelVersionUnknown("mixed"),
        "the server lists no single version of the model for mixed",
    ),
    (
        circumstances.NotOverHttp2("chunks"),
        "not applicable over HTTP/2: the case is about bodies in chunks, which only HTTP/1.1 has",
    ),
    (circumstances.KilledBy("S8/x", "mixed"), "needs what S8/x killed (mixed)"),
    (circumstances.KilledBy("S8/x", None), "needs what S8/x killed (the server)"),
    (circumstances.RoleAbsent("mixed", "no such model"), "the role mixed is absent: no such model"),
    (
        circumstances.Unavailable(429, None, "slow down"),
        "answered with 429: the server asks to wait, and did so for as long as the run waits: "
        "slow down",
    ),
    (
        circumstances.Unavailable(503, "120", ""),
        "answered with 503: the server asks to wait (Retry-After: 120), and did so for as long as "
        "the run waits: (empty body)",
    ),
    (
        circumstances.Hung(30.0, 1, 4),
        "no complete response in 30.0 s (1 byte received), but a known-good request after it was "
        "answered in 4 ms: the server hangs",
    ),
    (
        circumstances.TimedOutEarly(1.5, 0),
        "no complete response in 1.5 s (0 bytes received); the run waits no longer, because "
        "several requests of this kind in a row got no answer",
    ),
    (
        circumstances.OutOfTime(90.0),
        "not sent: the run had taken all of its 90 s (--max-time)",
    ),
    (
        circumstances.WasDown("status 502"),
        "answered at last, but before that the server was down: GET /v2/health/live got status 502",
    ),
    (
        causes.FailedBesideOthers(LOST, None),
        "passed alone, but failed while other cases ran (see C6): the response has no "
        f"{LENGTH} header",
    ),
    (
        causes.FailedBesideOthers(LOST, causes.Accepted()),
        "accepted; passed alone, but failed while other cases ran (see C6): the response has no "
        f"{LENGTH} header",
    ),
    (
        causes.FailedAtFirst(LOST, None),
        f"passed when it was run again, but failed at first: the response has no {LENGTH} header",
    ),
    (
        circumstances.NotInBinding("sagemaker", "repeated_length"),
        "does not apply to the binding sagemaker: a media type has a parameter only once",
    ),
    (circumstances.ProfileNotClaimed("raw"), "the profile raw is not claimed"),
    (
        circumstances.DatatypesUnsupported(("BOOL", "FP16")),
        "the target declares BOOL, FP16 unsupported",
    ),
    (
        circumstances.Flooded(128 << 20),
        "not sent: the server has sent 128 MiB more than its answers can need",
    ),
    (
        circumstances.NoKnownGoodAnswer("mixed", "no complete response in time"),
        "not sent: mixed answers no known-good request: no complete response in time",
    ),
    (
        circumstances.NoUsableModel(),
        "the server has no model that generated requests can go to",
    ),
    (causes.Rejected(400), "rejected with status 400"),
    (causes.Accepted(), "accepted"),
    (causes.AnsweredInJson(), "answered in strict JSON"),
    (
        causes.NotDone(LOST),
        f"optional, not done here: the response has no {LENGTH} header",
    ),
    (
        causes.AnsweredInForm(("binary", "json")),
        "the server answered in binary and json form",
    ),
    (
        causes.GeneratedRequests(50, 0, "6.0"),
        "50 generated requests (seed 0, Hypothesis 6.0)",
    ),
    (
        causes.GeneratedFailure(LOST, 7, 0, "6.0", None),
        f"the response has no {LENGTH} header (shrunk from generated request 7, seed 0, "
        "Hypothesis 6.0)",
    ),
    (
        causes.GeneratedFailure(LOST, 7, 0, "6.0", "counterexample.yaml"),
        f"the response has no {LENGTH} header (shrunk from generated request 7, seed 0, "
        "Hypothesis 6.0; counterexample.yaml has it as a case)",
    ),
    (
        causes.WrongRequest(2, findings.DataAndSize("INPUT0")),
        "request 2: INPUT0 has both `data` and `binary_data_size`",
    ),
    (
        causes.WrongReading(None, findings.WrongShape("OUTPUT0", (2,), (1,))),
        "OUTPUT0: expected shape [2], got [1]",
    ),
    (circumstances.InvalidCase("more is dropped than there is"), "more is dropped than there is"),
    (
        circumstances.SuiteError("ValueError('x')", "judge.py:1"),
        "error of the suite: ValueError('x') at judge.py:1",
    ),
]


@pytest.mark.parametrize(
    ("cause", "words"), SENTENCES, ids=lambda value: getattr(value, "kind", "")
)
def test_a_cause_in_words(cause: Cause, words: str) -> None:
    assert describe(cause) == words


def test_every_type_of_cause_has_its_example_here() -> None:
    elsewhere = (findings.__name__, transport_findings.__name__, client_findings.__name__)
    here = {cls for cls in get_args(Cause) if cls.__module__ not in elsewhere}
    assert {type(cause) for cause, _ in SENTENCES} == here


def test_text_that_a_report_made_up_is_escaped_and_what_is_left_out_stays_an_ellipsis() -> None:
    words = describe(transport_findings.NotHttp("\x1b[2J…\u202e"))
    assert words == "the response is not HTTP: \\x1b[2J…\\u202e"
