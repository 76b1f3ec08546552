"""Every command that reads a report reads it packed, too."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from support.reports import case, exchange, report_of
from v2_conformance.cli.main import main
from v2_conformance.report.files import write_report

REQUEST = b"POST /v2/models/m/infer HTTP/1.1\r\nContent-Length: 0\r\n\r\n"
RESPONSE = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize(
    "command",
    [
        "verify {}",
        "show {} P2/x",
        "diff {} {}",
        "report {}",
        "badge {} out",
        "expect --write {} -",
    ],
    ids=lambda command: str(command).split()[0],
)
def test_a_packed_report_is_read_like_any_other(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write_report(
        tmp_path, report_of([case("P2/x", "fail", None, exchange(REQUEST, RESPONSE))])
    )
    plain = main(command.format(path.name, path.name).split())
    said = capsys.readouterr().out
    Path("report.json.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    packed = main(command.format("report.json.gz", "report.json.gz").split())
    assert packed == plain
    assert capsys.readouterr().out == said.replace("report.json", "report.json.gz")
    assert said
