"""A report holds wherever it is verified: another zlib makes other bytes of the same body."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from zlib_ng import zlib_ng

from support.reports import report_of
from support.runs import words_of
from v2_conformance.protocol import content_codings
from v2_conformance.suite.library import every_case
from v2_conformance.verifying.record import first_difference, setting_of
from v2_conformance.verifying.verification import verify
from v2_conformance.wire.encode import coded_body

REPORTS = Path(__file__).parents[2] / "reports"
TEXT = b"".join(b"%d of many numbers, " % (number * number) for number in range(200))
CODED, STORED = zlib.compress(TEXT), zlib.compress(TEXT, 0)
NEXT = b"GET /v2 HTTP/1.1\r\n\r\n"


@pytest.mark.parametrize("name", ["triton-2.51.0", "tritonclient-2.73.0"])
def test_a_published_report_holds_where_zlib_is_another_one(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert zlib_ng.compress(TEXT) != CODED
    for module in (content_codings, coded_body):
        monkeypatch.setattr(module, "zlib", zlib_ng)
    found = verify(REPORTS / name / "report.json.gz", every_case())
    problems = [*found.edits, *(case.problem for case in found.cases if case.problem)]
    assert not problems, words_of(found)


def message(body: bytes, *, more: int = 0, field: bytes = b"A: 1", coding: bytes = b"") -> bytes:
    """A request with this body in a coding, with `more` in its Content-Length."""
    length = b"Content-Length: %d\r\n" % (len(body) + more)
    coding = coding or b"deflate"
    return b"POST / HTTP/1.1\r\n%bContent-Encoding: %b\r\n%b\r\n\r\n%b" % (
        length, coding, field, body
    )  # fmt: skip


@pytest.mark.parametrize(
    ("sent", "expected", "same"),
    [
        (message(STORED), message(CODED), True),
        (message(STORED) + NEXT, message(CODED) + NEXT, True),
        (message(STORED[:-40]), message(CODED[:-40]), True),
        (message(STORED[:-1] + b"\0"), message(CODED[:-1] + b"\0"), True),
        (message(zlib.compress(STORED)), message(zlib.compress(CODED)), False),
        (
            message(zlib.compress(STORED), coding=b"deflate, deflate"),
            message(zlib.compress(CODED), coding=b"deflate, deflate"),
            True,
        ),
        (message(zlib.compress(TEXT + b".")), message(CODED), False),
        (message(zlib.compress(TEXT[:-1])), message(CODED), False),
        (message(zlib.compress(b"." + TEXT)[:-40]), message(CODED[:-40]), False),
        (message(STORED), message(CODED[:-1]), False),
        (message(STORED), message(CODED, more=1), False),
        (message(STORED), message(CODED, field=b"A: 2"), False),
        (message(STORED), message(TEXT), False),
        (message(STORED), message(CODED) + NEXT, False),
        (message(STORED, coding=b"x-unknown"), message(CODED, coding=b"x-unknown"), False),
    ],
)  # fmt: skip
def test_messages_may_differ_in_how_bodies_are_compressed_alone(
    sent: bytes, expected: bytes, *, same: bool
) -> None:
    for one, other in ((sent, expected), (expected, sent)):
        assert (first_difference(one, other, setting_of(report_of([]))) is None) is same
