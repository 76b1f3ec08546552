"""Responses in codings, and what a server may decline: chunks (411), large bodies (413)."""

from __future__ import annotations

from typing import Any
from unittest.mock import ANY

import pytest

from support.cases import REJECT, failure, make_case, prepared, verdict
from support.responses import BLOB, answer, exchange_of, http, sized
from v2_conformance.judging.judge import canary_problem
from v2_conformance.judging.survival import needs_canary
from v2_conformance.protocol.content_codings import CODINGS, encode, encode_pieces
from v2_conformance.protocol.message import dump_json
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.outcomes import Outcome

coding = pytest.mark.parametrize("coding", CODINGS)
PADDED = dump_json(answer(sized(), parameters={"padding": "x" * 500}))


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
    error = http(encode(coding, b'{"error": "no"}'), 400, ("Content-Encoding", coding))
    assert verdict(error, make_case(REJECT, accept_encoding=coding)).outcome is Outcome.PASS


@coding
@pytest.mark.parametrize(
    ("name", "body", "length", "expected"),
    [
        ("coding", "whole", 20, kinds.HeaderLengthNotJson(20, ANY, len(PADDED))),
        ("coding", "plain", len(PADDED), ""),
        ("coding", "cut", len(PADDED), "ends early"),
        ("coding", "bomb", len(PADDED), "more than"),
        (None, "whole", len(PADDED), kinds.UndeclaredCoding),
        ("br", "whole", len(PADDED), kinds.UnrequestedCoding(("br",), ANY)),
        ("gzip, deflate", "whole", len(PADDED), kinds.UnrequestedCoding(("gzip", "deflate"), ANY)),
    ],
)
def test_a_coding_that_is_not_done_named_or_counted_fails(
    coding: str, name: str | None, body: str, length: int, expected: Any
) -> None:
    whole = encode(coding, PADDED + BLOB)
    bodies = {"plain": PADDED + BLOB, "whole": whole, "cut": whole[:-4]}
    if body == "bomb":
        bodies["bomb"] = encode_pieces(coding, [b"{}", *[bytes(1 << 20)] * 128])
    named = coding if name == "coding" else name
    cause = failure(reply(bodies[body], named, length), make_case(accept_encoding=coding))
    if isinstance(expected, str):
        assert isinstance(cause, kinds.BrokenCoding)
        assert cause.coding == coding
        assert expected in cause.problem
    else:
        assert cause == (
            kinds.UndeclaredCoding(coding) if expected is kinds.UndeclaredCoding else expected
        )


def test_only_codings_that_a_request_accepts_are_accepted() -> None:
    received = reply(encode("gzip", PADDED + BLOB), "gzip")
    refused = failure(received, make_case(accept_encoding="deflate"))
    assert refused == kinds.UnrequestedCoding(("gzip",), ("deflate",))
    # Without the field it accepts any.
    assert verdict(received, make_case()).outcome is Outcome.PASS
    assert canary_problem(prepared(make_case()).expected, exchange_of(received)) is None
    assert verdict(reply(PADDED + BLOB, "identity"), make_case()).outcome is Outcome.PASS


HTML = b"<html>no</html>"
EITHER = {"outcome": "either", "outputs": {"0": "binary"}}
CHUNKS = {"chunks": 7}


def large(count: int, **expect: Any) -> Any:
    """A case with `count` elements of four bytes."""
    inputs = [{"shape": [count]}]
    return make_case({"outcome": "success", "outputs": {"0": "binary"}, **expect}, inputs=inputs)


@pytest.mark.parametrize("expect", [None, REJECT, EITHER])
def test_any_411_to_chunks_is_unsupported(expect: dict[str, Any] | None) -> None:
    case = make_case(expect, delivery=CHUNKS)
    found = verdict(http(HTML, 411), case)
    assert (found.outcome, found.cause) == (
        Outcome.UNSUPPORTED,
        kinds.LengthRequired("<html>no</html>"),
    )
    assert needs_canary(case, found.outcome)


@pytest.mark.parametrize(
    ("status", "case"),
    [
        (411, make_case()),
        *((status, make_case(delivery=CHUNKS)) for status in (400, 413, 501)),
        (400, large(2**17)),
        (413, large(2**14 - 100)),
        (413, large(2**14, about_size=True)),
    ],
)
def test_only_411_declines_chunks_and_413_large_bodies(status: int, case: RequestCase) -> None:
    assert failure(http(HTML, status), case) == kinds.WrongStatus("200", status, "<html>no</html>")
    assert verdict(http(HTML, status), make_case(REJECT)).cause == kinds.Rejected(status)


ZIPPED = make_case(inputs=[{"shape": [2**14], "values": "ones"}], encoding="gzip")


@pytest.mark.parametrize(
    ("status", "case", "limit"),
    [(413, large(2**14), 2**16), (400, large(2**18), 2**20), (413, ZIPPED, 2**16)],
    ids=["over 64 KiB", "over 1 MiB", "over 64 KiB when it is decoded"],
)
def test_a_body_over_a_limit_may_be_declined(status: int, case: RequestCase, limit: int) -> None:
    found = verdict(http(HTML, status), case)
    assert found.outcome is Outcome.UNSUPPORTED
    assert isinstance(found.cause, kinds.BodyTooLarge)
    assert (found.cause.status, found.cause.limit) == (status, limit)
    assert limit < found.cause.size < limit + 400
