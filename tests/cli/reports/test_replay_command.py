"""The command `replay`: what failed in a report is sent again, and what became of it is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from support.commands import Cli
from support.reports import case, report_of, saved
from support.servers import Start
from v2_conformance.cli.main import main
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.document import Report
from v2_conformance.report.files import load_report, write_report
from v2_conformance.suite.models import ModelContract
from v2_conformance.suite.outcomes import Outcome
from v2_mutants.servers import MutantServer

SOME = ("--case", "P5/header-length-is-exact[*]", "--case", "H6/not-a-number[letters]")
TOKEN = "Zk9-pQ7w_vX2-mN4-t0ken"


def reported(folder: Path, *options: str) -> Path:
    """The report of a run of some cases, most of which are for a binary response's length."""
    asked = ["--require", "robust", "--report-dir", str(folder)]
    assert main(["run", *options, *asked]) == 1
    return folder / "report.json"


def replay(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str]]:
    """The exit code and the lines of standard output, without those that go on with another."""
    capsys.readouterr()
    code = main(["replay", *arguments])
    return code, [line for line in capsys.readouterr().out.splitlines() if line[:1] != " "]


def test_only_failures_are_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = reported(tmp_path, *SOME, "--fault", "response-header-length-short")
    failed = {c.id for c in load_report(report).cases if c.outcome == "fail"}
    assert {name.partition("/")[0] for name in failed} == {"P5"}
    with MutantServer(["response-header-length-short"]) as broken:
        code, lines = replay(capsys, str(report), broken.url)
    assert code == 1
    assert lines.pop() == f"{len(failed)} still failing"
    assert {line.split()[2].rstrip(":") for line in lines} == failed
    with ReferenceServer() as good:
        code, lines = replay(capsys, str(report), good.url)
    assert code == 0
    assert lines.pop() == f"{len(failed)} fixed"
    assert {line.split()[1] for line in lines} == failed


def test_observed_failure_is_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--case", "R2", "--case", "H6/*", "--fault", "error-is-plain-text")
    report = reported(tmp_path, *options)
    failed = [c for c in load_report(report).cases if c.outcome == "fail"]
    assert [c.id for c in failed if not c.exchanges], "no observed case fails: choose another fault"
    with MutantServer(["error-is-plain-text"]) as broken:
        code, lines = replay(capsys, str(report), broken.url)
    assert (code, lines[-1]) == (1, f"{len(failed)} still failing")
    with ReferenceServer() as good:
        code, lines = replay(capsys, str(report), good.url)
    assert (code, lines[-1]) == (0, f"{len(failed)} fixed")


class Guarded(Behaviour):
    """Wants a token, and says nothing of the length of its JSON."""

    def handle(self, request: Request) -> Response:
        if request.values("authorization") != [f"Bearer {TOKEN}"]:
            return self.error(401, "no token")
        response = super().handle(request)
        kept = [f for f in response.headers if not f[0].lower().startswith("inference")]
        return replace(response, headers=tuple(kept))


def test_a_secret_that_the_report_hides_must_be_given_and_is_not_printed(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setenv("MY_TOKEN", TOKEN)
    url = start(Guarded).url
    report = reported(tmp_path, url, *SOME, "--bearer-env", "MY_TOKEN")
    line = cli("replay", report, code=2).line
    assert "the report hides the value of Authorization: give it again" in line
    printed = cli("replay", report, "--bearer-env", "MY_TOKEN", code=1)
    assert "still failing" in printed.out
    assert TOKEN not in printed.out + printed.err


def test_models_are_those_of_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = reported(tmp_path, *SOME, "--fault", "response-header-length-short")
    document = load_report(report)
    models = {**document.target.models}
    models["identity/INT32"] = msgspec.structs.replace(models["identity/INT32"], model="nowhere")
    target = msgspec.structs.replace(document.target, models=models)
    renamed: Report = msgspec.structs.replace(document, target=target)
    write_report(tmp_path, renamed)
    with ReferenceServer() as good:
        code, lines = replay(capsys, str(report), good.url)
    assert code == 3
    assert all(line.startswith("unknown ") for line in lines[:-1])


@pytest.mark.parametrize(
    ("outcome", "options", "code", "said"),
    [
        ("pass", (), 4, "nothing failed in"),
        ("fail", ("--case", "P1"), 4, "nothing of these cases failed in"),
    ],
)
def test_nothing_to_send_is_said(
    outcome: str, options: tuple[str, ...], code: int, said: str, tmp_path: Path, cli: Cli
) -> None:
    report = saved(report_of([case("H6/a", outcome)]), tmp_path / "report.json")
    assert said in cli("replay", report, "http://127.0.0.1:9", *options, code=code).err


def test_a_report_that_is_cut_off_is_refused_in_one_line(tmp_path: Path, cli: Cli) -> None:
    report = saved(report_of([case("H6/a", "fail")]), tmp_path / "report.json")
    report.write_bytes(report.read_bytes()[:-100])
    assert cli("replay", report, "http://127.0.0.1:9", code=2).err.count("\n") == 1


def test_a_url_that_the_report_hides_a_part_of_has_to_be_given(tmp_path: Path, cli: Cli) -> None:
    hidden = report_of([case("H6/a", "fail")], url="http://127.0.0.1:9/******/")
    assert "give the URL" in cli("replay", saved(hidden, tmp_path / "report.json"), code=2).err


OF_ANY_MODEL = ("--model", "widener", "--case", "P5/*", "--case", "P2", "--case", "E1")


class OnlyPlain(Behaviour):
    """Models that are ready no more."""

    def infer(self, model: ModelContract, request: Request) -> Response:
        return self.error(503, "not ready")


@pytest.mark.long
def test_failures_of_any_model_are_replayed(
    tmp_path: Path, start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    with MutantServer(["response-header-length-short"]) as broken:
        report = reported(tmp_path, broken.url, *OF_ANY_MODEL)
        failed = {c.id for c in load_report(report).of(Outcome.FAIL)}
        assert failed
        assert all(name.endswith("@widener") for name in failed)
        code, lines = replay(capsys, str(report), broken.url)
    assert (code, lines[-1]) == (1, f"{len(failed)} still failing")
    with ReferenceServer() as good:
        code, lines = replay(capsys, str(report), good.url)
    assert (code, lines[-1]) == (0, f"{len(failed)} fixed")
    code, lines = replay(capsys, str(report), start(OnlyPlain).url)
    assert (code, lines[-1]) == (3, f"{len(failed)} unknown")


def test_model_whose_answers_were_malformed_is_fixed(
    tmp_path: Path, start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    class OtherNames(Behaviour):
        def response_output(self, tensor: Tensor, binary: bool) -> dict[str, Any]:
            return {**super().response_output(tensor, binary), "name": tensor.name.lower()}

    report = reported(tmp_path, start(OtherNames).url, *OF_ANY_MODEL[:-2])
    failed = load_report(report).of(Outcome.FAIL)
    with ReferenceServer() as good:
        code, lines = replay(capsys, str(report), good.url)
    assert (code, lines[-1]) == (0, f"{sum(1 for _ in failed)} fixed")
