"""The sentences that authors of clients read: one example of every finding, in full."""

from __future__ import annotations

from typing import get_args

import pytest

from v2_conformance.suite import client_findings as found
from v2_conformance.suite.causes import Cause
from v2_conformance.suite.wording import describe

LENGTH = "Inference-Header-Content-Length"

SENTENCES: list[tuple[Cause, str]] = [
    (
        found.InvalidRequestHttp("host", ""),
        "the request breaks a rule of HTTP/1.1: expected exactly one Host, got: none",
    ),
    (found.NoRequest(), "the client sent no inference request"),
    (
        found.UnreadableRequest("its head does not end"),
        "no server can read the request: its head does not end",
    ),
    (
        found.IncompleteRequest(17),
        "the client stopped before its request was whole; 17 bytes came",
    ),
    (found.TooManyRequests(1, 5), "expected the request once at most, got it 5 times"),
    (
        found.RequestSent(),
        "expected the client to refuse, since JSON cannot say these values, got a request",
    ),
    (
        found.NoHeaderLengthSent(8),
        f"8 bytes of blobs follow the JSON, but the request has no {LENGTH}",
    ),
    (
        found.WrongHeaderLength(120, "118"),
        f"expected {LENGTH} 120, the length of the JSON in bytes, got 118",
    ),
    (
        found.WrongTarget("POST /v2/models/m/infer", "GET /"),
        "expected POST /v2/models/m/infer, got GET /",
    ),
    (found.WrongInputs(("a", "b"), ()), "expected the inputs 'a', 'b', got none"),
    (found.WrongOutputsAsked(("a",), ("b",)), "expected `outputs` to list 'a', got 'b'"),
    (
        found.WrongParameter("the request", "binary_data_output", "true", None),
        "expected the parameter binary_data_output of the request to be true, got none",
    ),
    (
        found.WrongField("Content-Encoding", "gzip", None),
        "expected Content-Encoding gzip, got none",
    ),
    (
        found.StaleField("X-Caller", "a"),
        "the header field X-Caller ('a') is that of the request before",
    ),
    (
        found.ChangedHeaders("X-Caller", "a", None),
        "the caller's own header X-Caller was a before the call, and is none after it",
    ),
    (
        found.NumbersForError(("OUTPUT0",)),
        "expected an error for the user, got tensors: 'OUTPUT0'",
    ),
    (
        found.ErrorForAnswer("no", 200),
        "expected the answer's tensors, got an error: 'no' (status 200)",
    ),
    (
        found.ErrorLacks("the status 503", "no", None),
        "expected an error with the status 503, got 'no'",
    ),
    (found.WrongOutputsRead(("a",), ()), "expected the outputs 'a', got none"),
    (found.WrongMemberRead("id", "x", None), "expected id x, got none"),
    (found.ReportedError("no", 503), "the user got an error: 'no' (status 503)"),
    (found.ClientLacks("no argument"), "the client cannot be asked for this: no argument"),
    (found.ClientTimedOut(30.0), "the client did not end within 30 s"),
    (found.ClientFlooded(8), "the client printed more than 8 bytes"),
    (found.ClientDied(2, "boom"), "the client ended with exit code 2: boom"),
    (found.ClientDied(-9, ""), "the client ended by signal 9"),
    (found.ClientGarbage("x"), "the client printed a line of no documented form: x"),
    (found.ClientSaidLess(1, 0, ""), "expected 1 line of JSON from the client, got 0"),
    (found.ClientSaidLess(2, 1, "boom"), "expected 2 lines of JSON from the client, got 1: boom"),
]


@pytest.mark.parametrize(
    ("cause", "words"), SENTENCES, ids=lambda value: getattr(value, "kind", "")
)
def test_a_finding_in_words(cause: Cause, words: str) -> None:
    assert describe(cause) == words


def test_every_finding_about_clients_has_its_example_here() -> None:
    of_clients = {cls for cls in get_args(Cause) if cls.__module__ == found.__name__}
    assert {type(cause) for cause, _ in SENTENCES} == of_clients
