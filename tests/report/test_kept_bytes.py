"""The bytes of a message in a report: whole if there is room, never more than they say."""

from __future__ import annotations

import hashlib
import random
import zlib
from pathlib import Path

import msgspec
import pytest

from support.cases import make_case
from support.reports import case, exchange, report_of
from support.responses import http, transcript
from v2_conformance.conversations.steps import Exchange
from v2_conformance.errors import ReportFileError
from v2_conformance.formats.text.case import lines
from v2_conformance.judging.verdict import Verdict
from v2_conformance.report import room
from v2_conformance.report.files import REPORT, load_report, read_report, write_report
from v2_conformance.report.kept_bytes import (
    PLAIN,
    Deflated,
    keep,
    size_of,
    start_of,
    stored_size,
    unpacked,
)
from v2_conformance.report.recording.recorder import Record
from v2_conformance.runs.discovery import Server
from v2_conformance.runs.result import Result
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.outcomes import Outcome, Purpose

NOISE = random.Random(1).randbytes(200_000)
LONG = bytes(range(256)) * 1000


@pytest.mark.parametrize("data", [b"", b"short", LONG[:PLAIN], LONG, NOISE])
def test_every_byte_comes_back(data: bytes) -> None:
    kept = keep(data)
    assert unpacked(kept) == data
    assert size_of(kept) == len(data)
    assert stored_size(kept) <= len(data)


def test_of_what_does_not_fit_the_start_and_the_digest_are_kept() -> None:
    kept = start_of(keep(NOISE), 512)
    assert unpacked(kept) == NOISE[:512]
    assert isinstance(kept, Deflated)
    assert (kept.size, kept.kept, kept.omitted) == (200_000, 512, 199_488)
    assert kept.sha256 == hashlib.sha256(NOISE).hexdigest()
    assert start_of(b"short", 512) == b"short"


@pytest.mark.parametrize(
    "damaged",
    [
        Deflated(zlib.compress(bytes(64 << 20)), 1000),
        Deflated(zlib.compress(bytes(1000)), 1001),
        Deflated(zlib.compress(bytes(1000))[:-3], 1000),
        Deflated(zlib.compress(bytes(1000)) + b"more", 1000),
        Deflated(b"no zlib", 1000),
        Deflated(zlib.compress(bytes(1000)), 10, kept=1000),
    ],
    ids=["bomb", "too few", "cut off", "too many", "no zlib", "more kept than came"],
)
def test_a_damaged_message_is_one_line(damaged: Deflated) -> None:
    with pytest.raises(ReportFileError, match="a message in the report is damaged"):
        unpacked(damaged)


def test_too_long_messages_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = msgspec.structs.replace(exchange(b"x"), response_kept=keep(LONG))
    path = write_report(tmp_path, report_of([case("P2/x", "pass", None, own)]))
    monkeypatch.setattr(room, "UNPACKED", len(LONG) - 1)
    with pytest.raises(ReportFileError, match="its messages have over"):
        load_report(path)


def test_bounded_room_for_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "ANSWERS", 500_000)
    cases = [make_case(case_id=f"D1/case-{n}") for n in range(50)]
    server = Server("srv", "1", (), {}, {})
    record = Record(tmp_path, Target("http://h:1"), server, cases)
    for one in cases:
        came = Exchange(transcript(http(NOISE)), Purpose.CASE, "")
        record.add(Result(one, Verdict(Outcome.PASS), 0.001, (came,)))
    report = record.finish()
    omitted = [one.exchanges[0].omitted for one in report.cases]
    assert omitted[:2] == [0, 0]
    assert all(omitted[2:])
    assert (tmp_path / REPORT).stat().st_size < 1_000_000
    assert read_report(tmp_path / REPORT).is_intact
    shown = " ".join(text.plain for text in lines(report, report.cases[3], path="report.json"))
    assert "more, for which the report has no room" in " ".join(shown.split())
    assert report.cases[3].outcome is Outcome.PASS  # it was judged by all its bytes
