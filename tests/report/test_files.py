"""Reading and writing reports: cut off anywhere, hostile or old, each is one line."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from random import randbytes
from typing import Any

import pytest

from support.reports import as_json, case, document, exchange, from_json, report_of
from v2_conformance.errors import ReportFileError
from v2_conformance.report.document import RecordFooter, RecordHeader, RecordLine, Report
from v2_conformance.report.files import (
    PACKED_REPORT,
    RECORD,
    REPORT,
    load_report,
    read_report,
    sealed,
    write_report,
)
from v2_conformance.resources import fits
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


SPOILED: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "cut": (lambda data: data[:-9], "was cut off"),
    "broken": (lambda data: data[:12] + b"\xff" * 20, "is not a gzip file"),
    "bomb": (lambda data: gzip.compress(bytes(17 << 20)), "has more than 16 MiB in it"),
    "bomb with ballast": (
        lambda data: gzip.compress(randbytes(3 << 20) + bytes(25 << 20)),
        "more than 24 MiB",
    ),
}


@pytest.mark.parametrize("name", SPOILED)
def test_a_packed_report_is_read_unless_it_is_cut_or_a_bomb(name: str, tmp_path: Path) -> None:
    spoil, words = SPOILED[name]
    packed = tmp_path / PACKED_REPORT
    packed.write_bytes(gzip.compress(write_report(tmp_path, WHOLE).read_bytes()))
    file = read_report(packed)
    assert (file.report, file.is_intact) == (WHOLE, True)
    packed.write_bytes(spoil(packed.read_bytes()))
    assert words in refused(packed)


@pytest.mark.parametrize("footer", [True, False], ids=["in the footer", "in a case"])
def test_cut_record_is_still_read(tmp_path: Path, footer: bool) -> None:
    path = tmp_path / RECORD
    whole = record(footer=footer).encode()
    last = whole.rindex(b"\n", 0, -1) + 1
    for end in (*range(last, len(whole) - 2, 7), len(whole) - 2, len(whole) - 1, len(whole)):
        path.write_bytes(whole[:end])
        report = load_report(path)
        done = end >= len(whole) - 1
        assert report.complete is report.verdict.conformant is (footer and done)
        assert len(report.cases) == (3 if footer or done else 2)


def test_a_report_cut_anywhere_is_refused_with_a_hint_at_the_record(tmp_path: Path) -> None:
    path = write_report(tmp_path, WHOLE)
    (tmp_path / RECORD).touch()
    whole = path.read_bytes()
    for end in range(0, len(whole) - 2, 61):
        path.write_bytes(whole[:end])
        message = refused(path)
        assert RECORD in message or not end


SUITE = '{"suite":{"version":"9.9.9","report":%s}}'


@pytest.mark.parametrize(
    "text",
    [
        "", "{}", "null", "<html>", '{"header":', '{"header":{}}\n', '{"header":null}\n',
        '{"header":{}}\n{"case":{}}\n', '{"header":{"order":[]}}\n{"case":3}\n',
        '{"header":{"order":[]}}\nnot json\n{"footer":{}}\n', '{"header":{"order":[]}}\n[]\n',
        "[" * 100_000, '{"suite":' * 100_000, '{"header":' * 100_000, "NaN", "9" * 10_000,
        SUITE % "NaN", SUITE % "1e999", SUITE % "3.5", SUITE % ("9" * 5000), SUITE % "3",
        '{"suite":{"version":"\\ud800","report":3}}', "\ufeff{}",
        '{"suite":{"version":"9.9.9","report":3,"\x1b[31m":1}}',
    ],
)  # fmt: skip
def test_what_is_no_report_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / REPORT
    path.write_text(text)
    refused(path)


@pytest.mark.parametrize("depth", [1, 60, 64, 900, 980, 1000, 100_000])
def test_deeply_nested_entry_is_one_line_or_used(depth: int, tmp_path: Path) -> None:
    text = as_json(report_of([case("D1/x", "pass", None, OWN)]))
    entry = '"sent":0,"entry":{"x":' + "[" * depth + "]" * depth + "}"
    (tmp_path / REPORT).write_text(text.replace('"sent":0', entry))
    if depth < 64:
        assert not read_report(tmp_path / REPORT).is_intact
        report = load_report(tmp_path / REPORT)
        assert from_json(as_json(report), Report) == report
    else:
        assert "nested too deeply" in refused(tmp_path / REPORT) or depth > 800


@pytest.mark.parametrize("depth", [1, 2, 900, 980, 1000, 100_000])
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


Place = tuple[str | int, ...]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("unknown",), 1),
        (("cases", 1, "unknown"), 1),
        (("cases", 1, "outcome"), "fine"),
        (("cases", 1, "exchanges", 0, "sent"), -1),
        (("target", "host"), "a\r\nb"),
        (("target",), {}),
        (("target", "headers"), [["A", "\x1b[31m"]]),
        (("requirements", 0, "cases"), {"pass": 0}),
        (("planned", "D1"), -1),
        (("integrity", "algorithm"), "md5"),
    ],
    ids=str,
)
def test_a_report_that_breaks_its_schema_is_refused_with_the_place(
    place: Place, value: object, tmp_path: Path
) -> None:
    case_with_exchange = case("D1/exchange", "pass", None, OWN)
    report = document(sealed(report_of([CASES[0], case_with_exchange])))
    assert fits("report", report)
    part: Any = report
    for step in place[:-1]:
        part = part[step]
    part[place[-1]] = value
    assert not fits("report", report)
    (tmp_path / REPORT).write_text(json.dumps(report))
    said = refused(tmp_path / REPORT)
    assert f"`$.{place[0]}" in said or "unknown" in said


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
