"""What a server may say to a variation of a request, and what it may not."""

from __future__ import annotations

from support.cases import make_case, verdict
from support.responses import BLOB, http
from v2_conformance.suite.case_files import vary
from v2_conformance.suite.causes.causes import Cause
from v2_conformance.suite.causes.kinds import ChunksToOldClient, VariationDeclined, WrongStatus
from v2_conformance.suite.outcomes import Outcome

ERROR = b'{"error":"no"}'


def found(name: str, received: bytes) -> tuple[Outcome, Cause | None]:
    given = verdict(received, vary(make_case(), [name]))
    return given.outcome, given.cause


def test_a_status_that_refuses_the_variation_makes_the_case_unsupported() -> None:
    assert found("http-1.0", http(b"no", 505)) == (
        Outcome.UNSUPPORTED,
        VariationDeclined("http-1.0", 505, "no"),
    )
    assert found("expect-continue", http(b"no", 417))[0] is Outcome.UNSUPPORTED
    assert found("many-fields", http(b"no", 431))[0] is Outcome.UNSUPPORTED


def test_any_other_status_is_judged() -> None:
    shown = ERROR.decode()
    for name in ("http-1.0", "absolute-form", "escaped-names"):
        assert found(name, http(ERROR, 400)) == (Outcome.FAIL, WrongStatus("200", 400, shown))


def test_chunks_in_an_answer_to_http_1_0_are_a_failure() -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    assert found("http-1.0", chunked) == (Outcome.FAIL, ChunksToOldClient())
    assert found("connection-close", chunked)[1] != ChunksToOldClient()


def test_what_a_server_may_refuse_passes_if_it_is_refused_in_order() -> None:
    assert found("unknown-members", http(ERROR, 400))[0] is Outcome.PASS
    assert found("unknown-members", http(BLOB))[0] is Outcome.FAIL
