"""A case that shows whether a server leaves the extension out, or leaves that open."""

from __future__ import annotations

import pytest

from v2_conformance.judging.extension import Tried
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.response import Response


def answer(status: int, body: bytes) -> Response:
    return Response(status, (), body, "content-length", 0)


@pytest.mark.parametrize(
    ("given", "is_open"),
    [
        (answer(200, b"{}"), False),
        (answer(200, b"<p>"), True),
        (answer(404, b"{}"), True),
        (None, True),
    ],
)
def test_metadata_that_is_no_json_leaves_it_open(given: Response | None, *, is_open: bool) -> None:
    assert Tried("P1", Outcome.FAIL, None, [(b"", given)]).leaves_open is is_open
