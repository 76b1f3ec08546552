"""Encoded responses: judged decoded, and only in a coding that the request accepts."""

from __future__ import annotations

from unittest.mock import ANY

import pytest

from support.cases import failure, make_case, prepared, verdict
from support.responses import BLOB, answer, exchange_of, http, sized
from v2_conformance.judging.judge import canary_problem
from v2_conformance.protocol.content_codings import CODINGS, encode, encode_pieces
from v2_conformance.protocol.message import dump_json
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.suite.causes.causes import Cause
from v2_conformance.suite.causes.kinds import (
    BrokenCoding,
    HeaderLengthNotJson,
    HeaderLengthPastBody,
    UndeclaredCoding,
    UnrequestedCoding,
)
from v2_conformance.suite.outcomes import Outcome

coding = pytest.mark.parametrize("coding", CODINGS)
PADDED = dump_json(answer(sized(), parameters={"padding": "x" * 500}))
WHOLE = len(PADDED) + len(BLOB)


def reply(body: bytes, name: str | None, length: int = len(PADDED)) -> bytes:
    fields: list[tuple[str, object]] = [(HEADER_LENGTH, length)]
    if name is not None:
        fields.append(("Content-Encoding", name))
    return http(body, 200, *fields)


@coding
def test_an_encoded_response_is_judged_decoded(coding: str) -> None:
    case = make_case(accept_encoding=coding)
    body = encode(coding, PADDED + BLOB)
    assert verdict(reply(body, coding), case).outcome is Outcome.PASS
    assert verdict(reply(body, coding.upper()), case).outcome is Outcome.PASS
    assert verdict(reply(PADDED + BLOB, None), case).outcome is Outcome.PASS


@coding
@pytest.mark.parametrize(
    ("name", "body", "length", "expected"),
    [
        ("coding", "whole", 20, HeaderLengthNotJson(20, ANY, len(PADDED))),
        ("coding", "whole", WHOLE + 1, HeaderLengthPastBody(WHOLE + 1, WHOLE)),
        ("coding", "plain", len(PADDED), BrokenCoding),
        ("coding", "cut", len(PADDED), BrokenCoding),
        ("coding", "bomb", len(PADDED), BrokenCoding),
        (None, "whole", len(PADDED), UndeclaredCoding),
        ("br", "whole", len(PADDED), UnrequestedCoding(("br",), ANY)),
        ("gzip, deflate", "whole", len(PADDED), UnrequestedCoding(("gzip", "deflate"), ANY)),
    ],
)
def test_a_coding_that_is_not_done_named_or_counted_fails(
    coding: str, name: str | None, body: str, length: int, expected: Cause | type[Cause]
) -> None:
    plain = PADDED + BLOB
    bodies = {"plain": plain, "whole": encode(coding, plain)}
    bodies["cut"] = bodies["whole"][:-4]
    if body == "bomb":
        bodies["bomb"] = encode_pieces(coding, [b"{}", *[bytes(1 << 20)] * 128])
    named = coding if name == "coding" else name
    cause = failure(reply(bodies[body], named, length), make_case(accept_encoding=coding))
    if expected is UndeclaredCoding:
        assert cause == UndeclaredCoding(coding)
    elif expected is BrokenCoding:
        assert isinstance(cause, BrokenCoding)
        assert cause.coding == coding
        assert {"cut": "ends early", "bomb": "more than"}.get(body, "") in cause.problem
    else:
        assert cause == expected


def test_a_coding_that_the_request_does_not_accept_fails_everywhere() -> None:
    received = reply(encode("gzip", PADDED + BLOB), "gzip")
    for field, allowed in (("identity", ()), ("deflate", ("deflate",))):
        cause = failure(received, make_case(accept_encoding=field))
        assert cause == UnrequestedCoding(("gzip",), allowed)


def test_a_request_without_accept_encoding_accepts_any_coding() -> None:
    received = reply(encode("gzip", PADDED + BLOB), "gzip")
    assert verdict(received, make_case()).outcome is Outcome.PASS
    assert canary_problem(prepared(make_case()).expected, exchange_of(received)) is None
    assert verdict(reply(PADDED + BLOB, "identity"), make_case()).outcome is Outcome.PASS


def test_an_encoded_error_is_a_rejection() -> None:
    case = make_case({"outcome": "reject"}, accept_encoding="gzip")
    error = encode("gzip", b'{"error": "no"}')
    assert verdict(http(error, 400, ("Content-Encoding", "gzip")), case).outcome is Outcome.PASS
