"""The sentences that people read: one example of every type of cause, in full."""

from __future__ import annotations

from typing import get_args

import pytest

from v2_conformance.suite import causes, client_findings, findings, observations
from v2_conformance.suite.causes import Cause
from v2_conformance.suite.findings import FirstDifference
from v2_conformance.suite.wording import describe

LENGTH = "Inference-Header-Content-Length"
NUMBER = FirstDifference("OUTPUT0", "INT32", 1, 5, 125, "02000000", "02010000", "2", "258")
TEXT = FirstDifference("OUTPUT0", "BYTES", 1, 11, None, "64", "58", "2 bytes, b'cd'", "…")
REFUSED = findings.WrongStatus("200", 503, "")
LOST = findings.HeaderLengthMissing()

SENTENCES: list[tuple[Cause, str]] = [
    (findings.WrongStatus("200", 500, "no"), "expected status 200, got 500: no"),
    (REFUSED, "expected status 200, got 503: (empty body)"),
    (
        findings.AcceptedInvalidRequest(200, "{}"),
        "expected an error status, but the server accepted the request with 200: {}",
    ),
    (
        findings.InvalidErrorBody(400, "not JSON at byte 0", "oops"),
        'rejected with status 400, but the body is not {"error": string}: not JSON at byte 0: oops',
    ),
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
    (causes.CodingsUnsupported(("deflate",)), "the target declares deflate unsupported"),
    (
        findings.RepeatedMember("id"),
        "an object of the response's JSON has the member 'id' more than once",
    ),
    (
        findings.MixedForms(("OUTPUT0",), ("OUTPUT1", "OUTPUT2")),
        "expected all outputs in the same form, since they were requested alike, got 'OUTPUT0' in "
        "binary form and 'OUTPUT1', 'OUTPUT2' in json form",
    ),
    (
        findings.WrongModelName("mymodel", "other"),
        "expected the model_name 'mymodel', got 'other'",
    ),
    (findings.WrongModelName("mymodel", None), "expected the model_name 'mymodel', got none"),
    (
        findings.LengthRequired("no"),
        "answered with 411: a server may ask for a Content-Length, and the case sends its body in "
        "chunks: no",
    ),
    (
        findings.VariationDeclined("http-1.0", 505, "no"),
        "answered with 505: a server may refuse a request in the variation http-1.0: no",
    ),
    (
        findings.ChunksToOldClient(),
        "the response is in chunks, but a client of HTTP/1.0 cannot read them",
    ),
    (
        findings.BodyNotTaken(70166, 2147483648, "Broken pipe"),
        "the server closed the connection after 70166 of the request's 2147483648 bytes, as it "
        "may: a server may limit the size of bodies (Broken pipe)",
    ),
    (
        findings.BodyTooLarge(70166, 65536, ""),
        "answered with 413: a server may limit the size of bodies, and the case sends 70166 bytes, "
        "more than 65536: (empty body)",
    ),
    (
        findings.ConnectionRefused("Connection refused"),
        "no connection: Connection refused",
    ),
    (
        findings.TimedOut(20.04, 1, "no complete response in time"),
        "no complete response in time (20.0 s, 1 byte received)",
    ),
    (
        findings.ConnectionClosed(17, "the server closed the connection"),
        "the connection ended without a complete response after 17 bytes (the server closed the "
        "connection)",
    ),
    (findings.NotHttp("no status line"), "the response is not HTTP: no status line"),
    (findings.ResponseTooLarge("its head"), "the response is too large: its head"),
    (
        findings.ContentLengthTooLong(129, "9999"),
        "the message is complete after 129 bytes of body, but Content-Length promises 9999",
    ),
    (findings.BytesAfterResponse(1), "1 byte followed the end of the response"),
    (findings.BytesAfterResponse(2), "2 bytes followed the end of the response"),
    (
        findings.NoContentLength("chunked"),
        "no Content-Length: the response is delimited by chunked",
    ),
    (
        findings.UndeclaredCoding("gzip"),
        "the body seems to be in gzip, but no Content-Encoding says so",
    ),
    (
        findings.UnrequestedCoding(("br", "x"), ("deflate", "gzip")),
        "Content-Encoding is 'br, x', but the request allows deflate or gzip",
    ),
    (
        findings.UnrequestedCoding(("gzip",), ()),
        "Content-Encoding is 'gzip', but the request asked for no coding",
    ),
    (
        findings.BrokenCoding("gzip", "it ends early"),
        "Content-Encoding is gzip, but the body is not: it ends early",
    ),
    (
        findings.NotEncoded(),
        "a server need not encode a response, and this one came without a coding",
    ),
    (
        findings.RepeatedHeaderLength(("117", "118")),
        f"the message has {LENGTH} 2 times: '117', '118'",
    ),
    (findings.InvalidHeaderLength("0x10"), f"{LENGTH} is '0x10', not a decimal number"),
    (
        findings.HeaderLengthPastBody(130, 129),
        f"{LENGTH} is 130, but the whole body has 129 bytes: the JSON cannot be longer than the "
        "body",
    ),
    (LOST, f"the response has no {LENGTH} header"),
    (
        findings.HeaderLengthUnexpected("117"),
        f"{LENGTH} is '117', but no blob follows the JSON",
    ),
    (
        findings.BodyNotJson(129, "not JSON at byte 117"),
        f"without {LENGTH} the whole body (129 bytes) must be JSON, but it is not: not JSON at "
        "byte 117",
    ),
    (
        findings.HeaderLengthNotJson(116, "not JSON at byte 116", 117),
        f"{LENGTH} says that the JSON is the first 116 bytes, but they are not exactly one JSON "
        "object: not JSON at byte 116 (an object ends after 117 bytes)",
    ),
    (
        findings.HeaderLengthNotJson(1, "not JSON at byte 0", None),
        f"{LENGTH} says that the JSON is the first 1 byte, but they are not exactly one JSON "
        "object: not JSON at byte 0",
    ),
    (
        findings.SchemaViolation("response", "$.outputs[0]", "3 is not of type 'object'"),
        "the JSON breaks the response schema at $.outputs[0]: 3 is not of type 'object'",
    ),
    (
        findings.LeftoverBytes(117, 12, 130),
        "1 byte left over: JSON 117 + sizes 12 = 129, but the body has 130",
    ),
    (findings.TooManyDimensions("OUTPUT0", 5000), "OUTPUT0 has a shape of 5000 dimensions"),
    (findings.DataAndSize("OUTPUT0"), "OUTPUT0 has both `data` and `binary_data_size`"),
    (findings.NoDataNoSize("OUTPUT0"), "OUTPUT0 has neither `data` nor `binary_data_size`"),
    (
        findings.BlobPastBody("OUTPUT0", 12, 117, 128),
        "OUTPUT0 declares 12 bytes from byte 117, but the body ends after 128 bytes",
    ),
    (
        findings.InvalidTensor("OUTPUT0", "INT32", "[3]", "element 2 is 3.5, not an integer"),
        "OUTPUT0 INT32 [3]: element 2 is 3.5, not an integer",
    ),
    (findings.MissingOutput("OUTPUT0", ("A", "B")), "expected OUTPUT0, got 'A', 'B'"),
    (findings.MissingOutput("OUTPUT0", ()), "expected OUTPUT0, got none"),
    (
        findings.UnrequestedOutputs(("X",)),
        "the response has outputs that were not requested: 'X'",
    ),
    (
        findings.WrongForm("OUTPUT0", "binary", "json"),
        "OUTPUT0: expected binary form, got json form",
    ),
    (
        findings.WrongDatatype("OUTPUT0", "INT32", "UINT32"),
        "OUTPUT0: expected datatype INT32, got UINT32",
    ),
    (
        findings.WrongShape("OUTPUT0", (3,), (3, 1)),
        "OUTPUT0: expected shape [3], got [3, 1]",
    ),
    (
        findings.WrongElementCount("OUTPUT0", 1, 3),
        "OUTPUT0 BYTES: expected 1 element, got 3",
    ),
    (
        findings.WrongValue(NUMBER, 3, 2),
        "OUTPUT0 INT32: element 1 of 3 (byte 5 of its blob, byte 125 of the body): expected "
        "02000000 (2), got 02010000 (258), bytes in wire order; 2 elements differ",
    ),
    (
        findings.WrongBytesElement(TEXT, 2, None, 1, 2, 17, "64", "58" * 16 + "…"),
        "OUTPUT0 BYTES: element 1 of 2: expected 2 bytes, got 17; from its byte 1: expected 64, "
        "got 58585858585858585858585858585858…",
    ),
    (
        findings.WrongContentType("application/json", "text/html"),
        "expected Content-Type application/json, got 'text/html'",
    ),
    (
        findings.WrongContentType("application/json", None),
        "expected Content-Type application/json, got none",
    ),
    (findings.WrongId("'x'", "None"), "expected the id 'x', got None"),
    (
        findings.MetadataNotJson("not JSON at byte 0"),
        "the server metadata is not JSON: not JSON at byte 0",
    ),
    (
        findings.ExtensionNotListed(()),
        "expected 'binary_tensor_data' in `extensions`, got none",
    ),
    (
        causes.ChangedAnswer("status 503", "closed"),
        "expected status 503 as before, got closed",
    ),
    (
        causes.NoResponse("closed", "the server closed the connection"),
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
        causes.AnswersDiffer("model/m", "OUTPUT0"),
        "the model m does not repeat its answers: the same request was answered in more than one "
        "way (OUTPUT0); --rtol and --atol allow floats to differ",
    ),
    (
        causes.ModelVersionUnknown("mixed"),
        "the server lists no single version of the model for mixed",
    ),
    (
        causes.NotOverHttp2("chunks"),
        "not applicable over HTTP/2: the case is about bodies in chunks, which only HTTP/1.1 has",
    ),
    (
        findings.StreamReset(2, 1),
        "the server reset the stream with INTERNAL_ERROR (0x2), without a complete response, after "
        "1 byte",
    ),
    (
        findings.GoneAway(99, 0),
        "the server ended the connection with GOAWAY, 0x63, without a complete response, after "
        "0 bytes",
    ),
    (causes.KilledBy("S8/x", "mixed"), "needs what S8/x killed (mixed)"),
    (causes.KilledBy("S8/x", None), "needs what S8/x killed (the server)"),
    (causes.RoleAbsent("mixed", "no such model"), "the role mixed is absent: no such model"),
    (
        causes.Unavailable(429, None, "slow down"),
        "answered with 429: the server asks to wait, and did so for as long as the run waits: "
        "slow down",
    ),
    (
        causes.Unavailable(503, "120", ""),
        "answered with 503: the server asks to wait (Retry-After: 120), and did so for as long as "
        "the run waits: (empty body)",
    ),
    (
        causes.Hung(30.0, 1, 4),
        "no complete response in 30.0 s (1 byte received), but a known-good request after it was "
        "answered in 4 ms: the server hangs",
    ),
    (
        causes.TimedOutEarly(1.5, 0),
        "no complete response in 1.5 s (0 bytes received); the run waits no longer, because "
        "several requests of this kind in a row got no answer",
    ),
    (
        causes.OutOfTime(90.0),
        "not sent: the run had taken all of its 90 s (--max-time)",
    ),
    (
        causes.WasDown("status 502"),
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
        causes.NotInBinding("sagemaker", "repeated_length"),
        "does not apply to the binding sagemaker: a media type has a parameter only once",
    ),
    (causes.ProfileNotClaimed("raw"), "the profile raw is not claimed"),
    (
        causes.DatatypesUnsupported(("BOOL", "FP16")),
        "the target declares BOOL, FP16 unsupported",
    ),
    (
        causes.Flooded(128 << 20),
        "not sent: the server has sent 128 MiB more than its answers can need",
    ),
    (
        causes.NoKnownGoodAnswer("mixed", "no complete response in time"),
        "not sent: mixed answers no known-good request: no complete response in time",
    ),
    (
        causes.NoUsableModel(),
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
    (causes.InvalidCase("more is dropped than there is"), "more is dropped than there is"),
    (
        causes.SuiteError("ValueError('x')", "judge.py:1"),
        "error of the suite: ValueError('x') at judge.py:1",
    ),
]


@pytest.mark.parametrize(
    ("cause", "words"), SENTENCES, ids=lambda value: getattr(value, "kind", "")
)
def test_a_cause_in_words(cause: Cause, words: str) -> None:
    assert describe(cause) == words


def test_every_type_of_cause_has_its_example_here() -> None:
    of_clients = {cls for cls in get_args(Cause) if cls.__module__ == client_findings.__name__}
    assert {type(cause) for cause, _ in SENTENCES} == set(get_args(Cause)) - of_clients


def test_text_that_a_report_made_up_is_escaped_and_what_is_left_out_stays_an_ellipsis() -> None:
    words = describe(findings.NotHttp("\x1b[2J…\u202e"))
    assert words == "the response is not HTTP: \\x1b[2J…\\u202e"
