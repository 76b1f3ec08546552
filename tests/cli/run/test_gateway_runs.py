"""`run --through`: two runs, one comparison; the verdict is the server's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support import faulty_gateways as gateways
from support.commands import Cli
from v2_conformance.cli.main import main
from v2_conformance.report.files import load_report
from v2_conformance.resources import schema
from v2_conformance.suite.library import suite_cases
from v2_conformance.verifying.verification import verify

CASES = ("--case", "P2/blob-follows-json[INT32]", "--case", "H6/not-a-number[letters]")
TOKEN = "s3cret-token-of-the-server"
PASSWORD = "s3cret-password-of-the-gateway"


def test_both_runs_written(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with gateways.gateway(url, gateways.header_dropped) as through:
        code = main(["run", url, "--through", through, *CASES, "--report-dir", str(tmp_path)])
    assert code == 0  # that of the direct run
    direct = load_report(tmp_path / "report.json")
    behind = load_report(tmp_path / "gateway" / "report.json")
    assert [report.target.url for report in (direct, behind)] == [url, through]
    assert {case.outcome for case in direct.cases} == {"pass"}
    assert {case.outcome for case in behind.cases} == {"pass", "fail"}
    found = json.loads((tmp_path / "gateway.json").read_bytes())
    schema("gateway").validate(found)
    assert found["transparency"] == "not transparent"
    assert direct.integrity is not None
    assert found["direct"]["digest"] == direct.integrity.digest
    out = capsys.readouterr().out
    assert "gateway NOT TRANSPARENT: header not kept in 1 case" in out
    page = (tmp_path / "gateway.html").read_text("utf-8")
    for link in ("report.html", "gateway/report.html"):
        assert f'href="{link}' in page
        assert (tmp_path / link).exists()


def test_reports_verify_and_compare_again(url: str, tmp_path: Path, cli: Cli) -> None:
    with gateways.gateway(url, gateways.header_dropped) as through:
        main(["run", url, "--through", through, *CASES, "--report-dir", str(tmp_path)])
    first, second = tmp_path / "report.json", tmp_path / "gateway" / "report.json"
    for path in (first, second):
        assert not [case for case in verify(path, suite_cases()).cases if case.problem]
    again = tmp_path / "again"
    ended = cli("gateway", first, second, "--output", again, code=1)
    assert "header not kept in 1 case" in ended.out
    assert (again / "gateway.json").read_bytes() == (tmp_path / "gateway.json").read_bytes()


def test_no_secret_is_shown(url: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def echoing(request: bytes, answer: gateways.Answer) -> gateways.Answer:
        head = request.partition(b"\r\n\r\n")[0].decode("latin-1")
        sent = head.partition("Authorization: ")[2].partition("\r\n")[0]
        return gateways.page(502).with_field("Via", sent) if "/infer" in head else answer

    with gateways.gateway(url, echoing) as through:
        behind = through.replace("//", f"//user:{PASSWORD}@")
        secret = ("--header", f"X-Token: {TOKEN}")
        main(["run", url, "--through", behind, *CASES, *secret, "--report-dir", str(tmp_path)])
    written = [path.read_text("utf-8") for path in tmp_path.rglob("*") if path.is_file()]
    said = capfd.readouterr()
    for text in (*written, said.out, said.err):
        assert PASSWORD not in text
        assert TOKEN not in text
        assert "dXNlcjpzM2NyZXQ" not in text  # user:s3cret in base64
    assert "NOT TRANSPARENT" in said.out


def test_run_without_gateway_removes_older_comparison(url: str, tmp_path: Path) -> None:
    for name in ("gateway.json", "gateway.html"):
        (tmp_path / name).write_text("of an older run")
    main(["run", url, *CASES, "--report-dir", str(tmp_path)])
    assert not list(tmp_path.glob("gateway*"))


def test_unreachable_gateway_stops_before_the_run(url: str, tmp_path: Path, cli: Cli) -> None:
    folder = tmp_path / "r"
    arguments = ["run", url, "--through", "http://127.0.0.1:1", "--report-dir", str(folder)]
    assert "127.0.0.1:1" in cli(*arguments, code=3).err
    assert not folder.exists()
