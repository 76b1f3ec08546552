"""How report.json keeps messages in common blocks, and that no block of a forger's is a bomb."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from support.reports import Document, case, exchange, report_of
from v2_conformance.errors import ReportFileError
from v2_conformance.report import files
from v2_conformance.report.digest import document_digest, sealed
from v2_conformance.report.document import Report
from v2_conformance.report.evidence import RecordedExchange
from v2_conformance.report.files import load_report, read_report, write_report
from v2_conformance.report.kept_bytes import Deflated, Place, keep, start_of
from v2_conformance.report.messages import packed
from v2_conformance.resources import schema

ASKED = b"POST /v2/models/m/infer HTTP/1.1\r\n\r\n" + bytes(range(200))
ANSWERED = b"HTTP/1.1 200 OK\r\n\r\n" + bytes(range(199, -1, -1))
LONG = bytes(40_000)


def reported(*exchanges: RecordedExchange) -> Report:
    """A report of one case after another, each with one of these exchanges."""
    cases = [case(f"P2/x{n}", "pass", None, one) for n, one in enumerate(exchanges)]
    return sealed(report_of(cases))


def whole() -> Report:
    long = msgspec.structs.replace(exchange(ASKED), response_kept=keep(LONG))
    cut = msgspec.structs.replace(exchange(b"x"), response_kept=start_of(keep(LONG), 100))
    return reported(exchange(ASKED, ANSWERED), exchange(ASKED, b""), long, long, cut)


def test_a_report_is_read_back_as_it_was(tmp_path: Path) -> None:
    report = whole()
    path = write_report(tmp_path, report)
    schema("report").validate(json.loads(path.read_text()))
    assert load_report(path) == report
    assert read_report(path).is_intact


def test_a_message_that_repeats_is_there_once() -> None:
    report = packed(whole())
    kept = [one.exchanges[0] for one in report.cases]
    assert kept[0].request_kept == kept[1].request_kept == kept[2].request_kept
    assert kept[0].request_kept == Place(0, 0, len(ASKED))
    assert kept[2].response_kept == kept[3].response_kept == Place(1, 0, len(LONG))
    assert [block.size for block in report.messages] == [len(ASKED) + len(ANSWERED), len(LONG)]


def test_messages_fill_a_block_after_the_other(tmp_path: Path) -> None:
    report = reported(*(exchange(bytes([n]) * 9000, bytes([n, 7]) * 900) for n in range(20)))
    sizes = [block.size for block in packed(report).messages]
    assert len(sizes) > 1
    assert sum(sizes) == 20 * (9000 + 1800)
    assert load_report(write_report(tmp_path, report)) == report


def test_a_long_message_that_deflates_badly_has_a_block_for_itself(tmp_path: Path) -> None:
    noise = random.Random(1).randbytes(5 * (1 << 20))
    report = reported(exchange(ASKED, noise), exchange(ASKED, ANSWERED))
    assert [block.size for block in packed(report).messages] == [
        len(ASKED) + len(ANSWERED),
        len(noise),
    ]
    assert load_report(write_report(tmp_path, report)) == report


def block(data: bytes, size: int | None = None) -> Document:
    made = Deflated(zlib.compress(data), len(data) if size is None else size)
    found: Document = msgspec.to_builtins(made)
    return found


def placed(report: Document, *place: int) -> None:
    report["cases"][0]["exchanges"][0]["request"] = list(place)


def overlapping(report: Document) -> None:
    report["messages"] = [block(bytes(80 << 10))]
    first = report["cases"][0]
    exchanges = [
        first["exchanges"][0] | {"request": [0, n, (80 << 10) - n], "response": ""}
        for n in range(400)
    ]
    report["cases"] = [first | {"exchanges": exchanges}]


def bombs(report: Document) -> None:
    report["messages"] = [block(bytes(80 << 10))] * 400
    first = report["cases"][0]
    exchanges = [
        first["exchanges"][0] | {"request": [n, 0, 100], "response": ""} for n in range(400)
    ]
    report["cases"] = [first | {"exchanges": exchanges}]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda report: placed(report, 2, 0, 1), "there is no block 2"),
        (lambda report: placed(report, 0, 10, 10**6), "block 0 has no 1000000 bytes from 10 on"),
        (lambda report: placed(report, 0, 10**20, 1), "block 0 has no 1 bytes"),
        (lambda report: report.pop("messages"), "it is in a block, but none is there"),
        (lambda report: report.update(messages=[block(b"abc", 10**9)]), "too long for several"),
        (lambda report: report.update(messages=[block(b"abc", 1000)]), "it has not 1000 bytes"),
        (
            lambda report: report["messages"][0].update(deflated="AAAA"),
            "a message in the report is damaged",
        ),
        (overlapping, "longer than those of any run"),
        (bombs, "longer than those of any run"),
    ],
    ids=[
        "no such block",
        "behind its end",
        "far behind it",
        "no blocks",
        "a giant",
        "too few",
        "no zlib",
        "overlapping",
        "bombs",
    ],
)
def test_a_damaged_block_is_one_line(
    change: Callable[[Document], object], words: str, tmp_path: Path
) -> None:
    path = write_report(tmp_path, reported(exchange(ASKED, ANSWERED), exchange(LONG)))
    report = json.loads(path.read_text())
    change(report)
    report["integrity"]["digest"] = document_digest(report)
    path.write_text(json.dumps(report))
    with pytest.raises(ReportFileError, match=words) as found:
        load_report(path)
    assert "\n" not in str(found.value)


def test_a_record_has_no_blocks(tmp_path: Path) -> None:
    path = tmp_path / "report.jsonl"
    one = msgspec.structs.replace(exchange(b"GET"), request_kept=Place(0, 0, 3))
    report = report_of([case("P2/x", "pass", None, one)])
    header = {
        name: msgspec.to_builtins(getattr(report, name))
        for name in ("suite", "target", "started", "own", "planned")
    }
    lines = [
        {"header": header | {"order": ["P2/x"]}},
        {"case": msgspec.to_builtins(report.cases[0])},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(ReportFileError, match="it is in a block, but none is there"):
        load_report(path)


def test_unpacked_size_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_report(tmp_path, whole())
    monkeypatch.setattr(files, "_ALWAYS_UNPACKED", 0)
    monkeypatch.setattr(files, "_MOST_TIMES_AS_LONG", 0)
    with pytest.raises(ReportFileError, match="longer than those of any run"):
        load_report(path)
