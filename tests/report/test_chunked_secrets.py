"""A secret that comes in chunks, however their sizes are written, never reaches the report."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import pytest

from support.cases import make_case
from support.leaks import is_shown
from v2_conformance.conversations.steps import Exchange
from v2_conformance.judging.verdict import Verdict
from v2_conformance.redaction import Mask
from v2_conformance.report.evidence import RecordedExchange
from v2_conformance.report.recording.results import case_result
from v2_conformance.runs.result import Result
from v2_conformance.suite.cases import Case
from v2_conformance.suite.library import client_cases
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_conformance.wire.transcript import Ending, Transcript

SECRET = b"tok-Zq7rX2mWc9Lp4Vn8sKd3hB"
MASK = Mask((SECRET.decode(),))
ECHO = b'{"error": "no access for ' + SECRET + b'"}'
RESPONSE = b"HTTP/1.1 401 Unauthorized\r\nTransfer-Encoding: chunked\r\n"
REQUEST = b"POST /v2/models/m/infer HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
WRITTEN: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda size: size + b"\r\n",
    "with an extension": lambda size: size + b";name=value\r\n",
    "with a quoted extension": lambda size: size + b' ; a="b;c"; d\r\n',
    "with a bare LF": lambda size: size + b"\n",
}


def in_chunks(body: bytes, digits: int, length: int, written: Callable[[bytes], bytes]) -> bytes:
    pieces = [body[at : at + length] for at in range(0, len(body), length)]
    sizes = [written(b"%0*x" % (digits, len(piece))) for piece in (*pieces, b"")]
    chunks = (size + piece + b"\r\n" for size, piece in zip(sizes, (*pieces, b""), strict=True))
    return b"\r\n" + b"".join(chunks)


def recorded(case: Case, request: bytes, response: bytes) -> RecordedExchange:
    came = Transcript(request, len(request), response, Ending.COMPLETE)
    result = Result(case, Verdict(Outcome.FAIL), 0.0, (Exchange(came, Purpose.CASE, ""),))
    (exchange,) = case_result(result, (), MASK).exchanges
    return exchange


def of_server(data: bytes) -> bytes:
    return recorded(make_case(), b"POST / HTTP/1.1\r\n\r\n", RESPONSE + data).response


def of_client(data: bytes) -> bytes:
    return recorded(client_cases()[0], REQUEST + data, RESPONSE).request


@pytest.mark.parametrize("keep", [of_server, of_client])
@pytest.mark.parametrize("how", WRITTEN)
@pytest.mark.parametrize("length", [3, 5, 15])
@pytest.mark.parametrize("digits", [1, 8, 9, 16, 40])
def test_a_secret_in_chunks_is_not_recorded(
    digits: int, length: int, how: str, keep: Callable[[bytes], bytes]
) -> None:
    sent = in_chunks(ECHO, digits, length, WRITTEN[how])
    kept = keep(sent)
    assert is_shown(b"HTTP/1.1 200 OK\r\n" + kept.partition(b"\r\n")[2], SECRET) is None
    assert kept.count(b"*") == len(SECRET)


@pytest.mark.parametrize("keep", [of_server, of_client])
@pytest.mark.parametrize("digits", [1, 8, 9, 16, 40])
def test_coded_secret_is_not_recorded(digits: int, keep: Callable[[bytes], bytes]) -> None:
    sent = in_chunks(gzip.compress(ECHO), digits, 7, WRITTEN["plain"])
    kept = keep(b"Content-Encoding: gzip\r\n" + sent)
    assert is_shown(b"HTTP/1.1 200 OK\r\n" + kept.partition(b"\r\n")[2], SECRET) is None


@pytest.mark.parametrize("digits", [1, 9, 40])
def test_a_secret_in_chunks_that_no_field_names_is_not_recorded(digits: int) -> None:
    sent = in_chunks(ECHO, digits, 5, WRITTEN["plain"])
    kept = MASK.data(b"HTTP/1.1 200 OK\r\n" + sent)
    assert is_shown(kept.replace(b" OK", b" OK\r\nTransfer-Encoding: chunked"), SECRET) is None


@pytest.mark.parametrize("field", [b"", b"Transfer-Encoding: chunked\r\n"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r\n0\r\n\r\n", b";x\r\nabc"])
def test_secret_like_a_chunk_size_is_not_recorded(field: bytes, end: bytes) -> None:
    secret = b"0badc0ffee0badc0ffee"
    kept = Mask((secret.decode(),)).data(b"HTTP/1.1 401 No\r\n" + field + b"\r\n" + secret + end)
    assert secret not in kept


def test_a_cookie_in_trailers_is_not_recorded() -> None:
    data = RESPONSE + b"\r\n1\r\na\r\n0\r\nSet-Cookie : id=abc\r\n\r\n"
    assert Mask().data(data) == data.replace(b"id=abc", b"******")
