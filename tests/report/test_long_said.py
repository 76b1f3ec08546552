"""Long tensors that a client says: they take little room in a report, and come back whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.reports import case
from support.scenarios import plain
from v2_clients.run import client_target, make_client_plan, start_client_run
from v2_conformance import verify
from v2_conformance.errors import ReportFileError
from v2_conformance.formats.shown import client_lines
from v2_conformance.report.bodies import SHORT
from v2_conformance.report.document import LongTensor
from v2_conformance.report.files import REPORT, load_report
from v2_conformance.report.recorder import shortened
from v2_conformance.suite.client_lines import Line, Said, SaidTensor
from v2_conformance.wire.exchange import Body

LONG = bytes(range(256)) * 100


def said(*data: bytes) -> Said:
    tensors = tuple(SaidTensor("A", "UINT8", (len(one),), one) for one in data)
    return Said(lines=(Line(error="no"), Line(outputs=tensors)), exit=0)


@pytest.mark.parametrize("data", [(), (b"",), (b"short",), (LONG,), (b"", LONG, b"x", LONG)])
def test_what_is_long_comes_back(data: tuple[bytes, ...]) -> None:
    whole = said(*data)
    short, long = shortened(whole)
    assert len(long) == data.count(LONG)
    assert all(len(o.data) <= SHORT for line in short.lines for o in line.outputs or ())
    assert case("K1/x", said=short, said_long=long).reported == whole


@pytest.mark.parametrize(
    "long",
    [
        LongTensor(5, 0, Body(LONG)),
        LongTensor(0, 0, Body(LONG)),
        LongTensor(1, 1, Body(LONG)),
        LongTensor(1, 2, Body(LONG)),
    ],
)
def test_what_is_damaged_is_an_error(long: LongTensor) -> None:
    with pytest.raises(ReportFileError):
        print(case("K1/x", said=said(b"", b"taken"), said_long=(long,)).reported)


def test_a_tensor_of_16_mib_takes_little_room_and_is_verified(tmp_path: Path) -> None:
    plan = make_client_plan(["K40/large*"])
    run = start_client_run(client_target(), plan, tmp_path, command=["x"], timeout_s=30)
    run.finish(plain(), timeout_s=30)
    path = tmp_path / REPORT
    assert path.stat().st_size < 1_000_000
    report = load_report(path)
    assert all("16800000 bytes" in client_lines(c)[0] for c in report.cases if "16" in c.id)
    assert verify(path).exit_code == 0


@pytest.mark.parametrize(
    ("ended", "shown"),
    [
        (Said(exit=0), []),
        (Said(garbage="x: not JSON", exit=0), ["then an invalid line: x: not JSON"]),
        (Said(ended="timeout", seconds=2.5), ["did not end within 2.5 s"]),
        (Said(ended="flood"), ["printed too much"]),
        (Said(ended="unsaid"), ["nothing"]),
        (Said(exit=3, stderr="no"), ["exit code 3", "standard error: no"]),
        (Said(exit=-9), ["ended by signal 9"]),
        (Said(exit=0, stderr="a warning"), []),
        (
            Said(ended="timeout", exit=0, stderr="x"),
            ["did not end within 0 s", "standard error: x"],
        ),
        (Said(lines=(Line(outputs=()),)), ["no outputs"]),
        (Said(lines=(Line(error="bad", status=400),)), ["error: bad (status 400)"]),
        (Said(lines=(Line(unsupported="raw"),)), ["unsupported: raw"]),
    ],
)
def test_how_a_client_ended_is_said(ended: Said, shown: list[str]) -> None:
    assert client_lines(case("K1/x", "fail", said=ended)) == shown
