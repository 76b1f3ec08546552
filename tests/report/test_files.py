"""Reading and writing reports: cut off anywhere, hostile or old, each is one line."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from random import randbytes
from typing import Any

import pytest

from support.reports import case, document, exchange, report_of
from v2_conformance.errors import ReportFileError
from v2_conformance.report.document import RecordFooter, RecordHeader, RecordLine, Report
from v2_conformance.report.files import (
    PACKED_REPORT,
    RECORD,
    REPORT,
    as_json,
    from_json,
    load_report,
    read_report,
    sealed,
    write_report,
)
from v2_conformance.suite.causes.base import describe
from v2_conformance.suite.causes.causes import NotDone
from v2_conformance.suite.causes.kinds import NotHttp

CASES = tuple(case(f"D1/case-{number}") for number in range(3))
WHOLE = sealed(report_of(CASES))
OWN = exchange(b"")
HEADER = RecordHeader(
    suite=WHOLE.suite,
    target=WHOLE.target,
    started=WHOLE.started,
    own=True,
    planned=WHOLE.planned,
    order=tuple(case.id for case in CASES),
)


def record(*, footer: bool = True) -> str:
    """The lines of the record of a run."""
    lines = [RecordLine(header=HEADER), *(RecordLine(case=case) for case in CASES)]
    if footer:
        lines.append(RecordLine(footer=RecordFooter(True, WHOLE.duration_s)))
    return "".join(as_json(line) + "\n" for line in lines)


def refused(path: Path) -> str:
    with pytest.raises(ReportFileError) as error:
        load_report(path)
    assert str(error.value).replace("…", "").isascii()
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 500 + len(str(path))
    assert path.name in str(error.value)
    return str(error.value)


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = write_report(tmp_path, WHOLE)
    assert path == tmp_path / REPORT
    assert load_report(path) == WHOLE
    file = read_report(path)
    assert (file.is_record, file.is_intact) == (False, True)
    path.write_text(path.read_text().replace("Why D1", "Because D1", 1))
    assert not read_report(path).is_intact
    path.write_text(as_json(report_of(CASES)))
    assert not read_report(path).is_intact  # without a digest


def test_a_packed_report_is_read_as_the_report_in_it(tmp_path: Path) -> None:
    packed = tmp_path / PACKED_REPORT
    packed.write_bytes(gzip.compress(write_report(tmp_path, WHOLE).read_bytes()))
    file = read_report(packed)
    assert (file.report, file.is_intact) == (WHOLE, True)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda data: data[:-9], "was cut off"),
        (lambda data: data[:12] + b"\xff" * 20, "is not a gzip file"),
        (lambda data: gzip.compress(bytes(17 << 20)), "has more than 16 MiB in it"),
        (lambda data: gzip.compress(randbytes(3 << 20) + bytes(25 << 20)), "more than 24 MiB"),
    ],
    ids=["cut", "broken", "bomb", "bomb with ballast"],
)
def test_a_packed_report_that_cannot_be_unpacked_is_refused_in_one_line(
    spoil: Callable[[bytes], bytes], words: str, tmp_path: Path
) -> None:
    packed = tmp_path / PACKED_REPORT
    packed.write_bytes(spoil(gzip.compress(write_report(tmp_path, WHOLE).read_bytes())))
    with pytest.raises(ReportFileError, match=words) as raised:
        read_report(packed)
    assert "\n" not in str(raised.value)


def test_the_record_of_a_finished_run_is_its_report(tmp_path: Path) -> None:
    (tmp_path / RECORD).write_text(record())
    file = read_report(tmp_path / RECORD)
    assert file.report == WHOLE
    assert (file.is_record, file.is_intact) == (True, True)


# A run that was killed.


@pytest.mark.parametrize("footer", [True, False], ids=["in the footer", "in a case"])
@pytest.mark.parametrize("first", range(8))
def test_cut_record_is_still_read(tmp_path: Path, footer: bool, first: int) -> None:
    path = tmp_path / RECORD
    whole = record(footer=footer).encode()
    last = whole.rindex(b"\n", 0, -1) + 1
    for end in range(last + first, len(whole) + 1, 8):
        path.write_bytes(whole[:end])
        report = load_report(path)
        done = end >= len(whole) - 1
        assert report.complete is (footer and done)
        assert len(report.cases) == (3 if footer or done else 2)
        assert report.verdict.conformant is (footer and done)


def test_a_report_cut_anywhere_is_refused_with_a_hint_at_the_record(tmp_path: Path) -> None:
    path = write_report(tmp_path, WHOLE)
    whole = path.read_bytes()
    for end in range(0, len(whole) - 2, 61):
        path.write_bytes(whole[:end])
        message = refused(path)
        assert RECORD in message or not end


# What is no report.


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "null",
        "<html>",
        '{"header":',
        '{"header":{}}\n',
        '{"header":{}}\n{"case":{}}\n',
        '{"header":{"order":[]}}\n{"case":3}\n',
        '{"header":null}\n',
        '{"header":{"order":[]}}\nnot json\n{"footer":{}}\n',
        '{"header":{"order":[]}}\n[]\n',
        "[" * 100_000,
        '{"suite":' * 100_000,
        '{"header":' * 100_000,
        "NaN",
        "9" * 10_000,
        '{"suite":{"version":"9.9.9","report":NaN}}',
        '{"suite":{"version":"9.9.9","report":1e999}}',
        '{"suite":{"version":"9.9.9","report":3.5}}',
        '{"suite":{"version":"9.9.9","report":' + "9" * 5000 + "}}",
        '{"suite":{"version":"\\ud800","report":3}}',
        '{"suite":{"version":"9.9.9","report":3}}',
        '{"suite":{"version":"9.9.9","report":3,"\x1b[31m":1}}',
        "\ufeff{}",
    ],
)
def test_what_is_no_report_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / REPORT
    path.write_text(text)
    refused(path)


@pytest.mark.parametrize("depth", [1, 60, 64, 100, 500, 900, 950, 980, 1000, 2000, 100_000])
def test_deeply_nested_entry_is_one_line_or_used(depth: int, tmp_path: Path) -> None:
    text = as_json(report_of([case("D1/x", "pass", None, OWN)]))
    entry = "[" * depth + "]" * depth
    text = text.replace('"sent":0', '"sent":0,"entry":{"x":' + entry + "}")
    (tmp_path / REPORT).write_text(text)
    if depth < 64:
        assert not read_report(tmp_path / REPORT).is_intact
        report = load_report(tmp_path / REPORT)
        assert from_json(as_json(report), Report) == report
    else:
        assert "nested too deeply" in refused(tmp_path / REPORT) or depth > 800


@pytest.mark.parametrize("depth", [1, 2, 100, 500, 900, 950, 980, 1000, 2000, 100_000])
def test_a_cause_in_causes_is_one_line(depth: int, tmp_path: Path) -> None:
    text = as_json(report_of([case("D1/x", "pass", None, OWN, cause=NotDone(NotHttp("")))]))
    part = '{"kind":"not_done","finding":{"kind":"not_http","detail":""}}'
    assert part in text
    deep = '{"kind":"not_done","finding":' * depth + '{"kind":"accepted"}' + "}" * depth
    (tmp_path / REPORT).write_text(text.replace(part, deep))
    if depth == 1:
        assert describe(load_report(tmp_path / REPORT).cases[0].cause)
    else:
        refused(tmp_path / REPORT)


def test_a_report_that_breaks_its_schema_is_refused_with_the_place(tmp_path: Path) -> None:
    report = document(WHOLE)
    report["cases"][1]["outcome"] = "fine"
    (tmp_path / REPORT).write_text(json.dumps(report))
    assert "`$.cases[1].outcome`" in refused(tmp_path / REPORT)


@pytest.mark.parametrize("record", [False, True], ids=["report", "record"])
@pytest.mark.parametrize(
    ("found", "version"), [(None, "0.1.0"), (1, "0.1.7"), (2, "1.0.0"), (4, "9.0.0")]
)
def test_another_format_is_said_with_the_version_that_reads_it(
    found: int | None, version: str, record: bool, tmp_path: Path
) -> None:
    suite: dict[str, Any] = {"name": "v2-conformance", "version": version, "catalogue": "0"}
    if found is not None:
        suite["report"] = found
    document = {"suite": suite, "target": {}, "cases": [{"id": "D1/x"}]}
    (tmp_path / REPORT).write_text(json.dumps({"header": document} if record else document))
    assert refused(tmp_path / REPORT).endswith(
        f"report format {found or 1}, but this version reads format 3: v2-conformance {version} "
        "can read it"
    )


# Writing.
