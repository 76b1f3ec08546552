"""The command `client`: a client as a command, and what its report may show."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from support.commands import Cli
from v2_conformance.cli.main import main
from v2_conformance.report.files import load_report
from v2_conformance.suite.outcomes import Outcome

PLAIN = (sys.executable, "-m", "v2_clients.plain")
SECRET = "s3cr3t-t0k3n-of-the-test"
K3 = "K3/mixed-order[reversed]"


def client(folder: Path, *words: str, scenario: str = K3) -> int:
    return main(["client", "--scenario", scenario, "--report-dir", str(folder), *words])


def test_client_report_is_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert client(tmp_path, "--", *PLAIN) == 0
    printed = capsys.readouterr()
    assert "the client v2-conformance-plain" in printed.out
    report = load_report(tmp_path / "report.json")
    assert {case.outcome for case in report.cases} == {Outcome.PASS}
    assert report.target.client is not None
    assert report.target.client.command == PLAIN
    assert main(["verify", str(tmp_path / "report.json")]) == 0
    verified = " ".join(capsys.readouterr().out.split())
    assert "the client v2-conformance-plain" in verified
    assert "that they are this client's is the word of" in verified
    assert main(["show", str(tmp_path / "report.json"), K3]) == 0
    shown = capsys.readouterr().out
    assert "What the client said" in shown
    assert "OUTPUT1 UINT32" in shown
    assert "v2-conformance client --scenario" in shown
    assert "Canary" not in shown
    page = (tmp_path / "report.html").read_text()
    assert "What the client said" in page
    assert "Client <bdi>v2-conformance-plain</bdi>" in page
    assert "Advertised extensions" not in page


def test_client_fault_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = json.dumps({"scenario": K3, "lines": [{"error": "no"}]})
    broken = ("--", sys.executable, "-c", f"print({line!r})")
    assert client(tmp_path, *broken) == 1
    known = tmp_path / "known.yaml"
    report = str(tmp_path / "report.json")
    assert main(["expect", report, str(known), "--write"]) == 0
    known.write_text(known.read_text().replace("TODO", "known"))
    assert client(tmp_path, "--expect", str(known), *broken) == 0
    out = capsys.readouterr().out
    assert "MUST (blocks conformant) K3" in out
    assert main(["diff", report, report]) == 0
    assert main(["badge", report, str(tmp_path / "badges")]) in (0, 2)


def test_secrets_are_in_no_file_and_in_no_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        "import json, os, sys, urllib.request\n"
        "task = json.loads(sys.stdin.readline())\n"
        f"secret = {SECRET!r}\n"
        "one = task['requests'][0]\n"
        "url = task['url'] + '/v2/models/' + one['model'] + '/infer'\n"
        "asked = urllib.request.Request(url, data=('{' + secret).encode(), "
        "headers={'Authorization': 'Bearer ' + secret})\n"
        "try: urllib.request.urlopen(asked).read()\n"
        "except Exception as error: pass\n"
        "print(secret, file=sys.stderr, flush=True)\n"
        "line = {'error': 'no ' + secret, 'client': {'name': secret}}\n"
        "print(json.dumps({'scenario': task['scenario'], 'lines': [line]}))\n"
    )
    monkeypatch.setenv("TOKEN", SECRET)
    words = ("--secret-env", "TOKEN", "--", sys.executable, "-c", code, f"--token={SECRET}")
    assert client(tmp_path, *words) == 1
    printed = capsys.readouterr()
    assert SECRET not in printed.out + printed.err
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes(), path
    report = load_report(tmp_path / "report.json")
    (case,) = (case for case in report.cases if case.id == K3)
    assert case.outcome is Outcome.FAIL
    assert case.reported is not None
    assert case.reported.lines[0].error == "no " + "*" * len(SECRET)
    assert case.exchanges
    assert SECRET.encode() not in bytes(case.exchanges[0].request)


def test_what_a_new_adapter_prints_wrong_is_said_before_a_run(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "report.json").write_text("an older one")
    code = """print('{"level": "info"}')"""
    words = ["--scenario", "K3", "--report-dir", tmp_path, "--", sys.executable, "-c", code]
    line = cli("client", *words, code=2).line
    assert "the command does not work: in 3 scenarios" in line
    assert "a log belongs on standard error" in line
    assert (tmp_path / "report.json").read_text() == "an older one"


def test_a_client_that_removes_its_record_does_not_cost_the_report(tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    code = f"import shutil; shutil.rmtree({str(folder)!r}, ignore_errors=True)"
    assert client(folder, "--", sys.executable, "-c", code) == 1
    assert load_report(folder / "report.json").complete
