"""The command `replay`: what failed in a report is sent again, and what became of it is told."""

from __future__ import annotations

from collections.abc import Sequence
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
from v2_conformance.report.files import load_report, write_report
from v2_conformance.suite.library import client_cases
from v2_conformance.suite.outcomes import Outcome
from v2_mutants.servers import MutantServer

SOME = ("--case", "P5/header-length-is-exact[*]", "--case", "H6/not-a-number[letters]")
NOBODY = "http://127.0.0.1:9"
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


def told(broken: str, good: str, report: Path, capsys: pytest.CaptureFixture[str]) -> set[str]:
    """The failures of a report, each of which still fails on one server and is fixed on another."""
    failed = {case.id for case in load_report(report).of(Outcome.FAIL)}
    code, lines = replay(capsys, str(report), broken)
    assert (code, lines.pop()) == (1, f"{len(failed)} still failing")
    assert {line.split()[2].rstrip(":") for line in lines} == failed
    code, lines = replay(capsys, str(report), good)
    assert (code, lines.pop()) == (0, f"{len(failed)} fixed")
    assert {line.split()[1] for line in lines} == failed
    return failed


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (SOME, "response-header-length-short"),
        (("--case", "R2", "--case", "H6/*"), "error-is-plain-text"),  # also what is observed
    ],
)
def test_only_failures_are_replayed(
    options: Sequence[str],
    fault: str,
    url: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = reported(tmp_path, *options, "--fault", fault)
    with MutantServer([fault]) as broken:
        failed = told(broken.url, url, report, capsys)
    assert {name.partition("/")[0] for name in failed} in ({"P5"}, {"R2"})
    assert any("observed" in name for name in failed) == (fault == "error-is-plain-text")


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


def test_models_are_those_of_report(
    tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    report = reported(tmp_path, *SOME, "--fault", "response-header-length-short")
    document = load_report(report)
    models = {**document.target.models}
    models["identity/INT32"] = msgspec.structs.replace(models["identity/INT32"], model="nowhere")
    target = msgspec.structs.replace(document.target, models=models)
    write_report(tmp_path, msgspec.structs.replace(document, target=target))
    code, lines = replay(capsys, str(report), url)
    assert code == 3
    assert all(line.startswith("unknown ") for line in lines[:-1])


@pytest.mark.parametrize(
    ("outcome", "options", "said"),
    [
        ("pass", (), "nothing failed in"),
        ("fail", ("--case", "P1"), "nothing of these cases failed"),
    ],
)
def test_nothing_to_send_is_said(
    outcome: str, options: tuple[str, ...], said: str, tmp_path: Path, cli: Cli
) -> None:
    report = saved(report_of([case("H6/a", outcome)]), tmp_path / "report.json")
    assert said in cli("replay", report, NOBODY, *options, code=4).err


def test_a_url_that_the_report_hides_a_part_of_has_to_be_given(tmp_path: Path, cli: Cli) -> None:
    hidden = report_of([case("H6/a", "fail")], url="http://127.0.0.1:9/******/")
    assert "give the URL" in cli("replay", saved(hidden, tmp_path / "report.json"), code=2).err


def test_cases_that_no_server_can_get_are_counted_and_fix_nothing(tmp_path: Path, cli: Cli) -> None:
    scenario = client_cases()[0].id
    failed = [case("H6/of-another-version", "fail"), case(scenario, "fail")]
    ended = cli("replay", saved(report_of(failed), tmp_path / "report.json"), NOBODY, code=3)
    assert ended.out.splitlines()[-1] == "2 unknown"
    assert scenario in ended.out
    assert ended.shown.count("this version of the suite has no such case") == 2


OF_ANY_MODEL = ("--model", "widener", "--case", "P5/*", "--case", "P2", "--case", "E1")


def test_model_whose_answers_were_malformed_is_fixed(
    tmp_path: Path, start: Start, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    class OtherNames(Behaviour):
        def response_output(self, tensor: Tensor, binary: bool) -> dict[str, Any]:
            return {**super().response_output(tensor, binary), "name": tensor.name.lower()}

    report = reported(tmp_path, start(OtherNames).url, *OF_ANY_MODEL[:-2])
    failed = load_report(report).of(Outcome.FAIL)
    code, lines = replay(capsys, str(report), url)
    assert (code, lines[-1]) == (0, f"{sum(1 for _ in failed)} fixed")
