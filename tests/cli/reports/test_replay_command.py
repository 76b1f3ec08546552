"""The command `replay`: what failed in a report is sent again, and what became of it is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from support.commands import Cli
from support.first_mistakes import OtherNames
from support.reports import case, report_of, saved
from support.servers import Start
from v2_conformance.cli.main import main
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.report.document import Report
from v2_conformance.report.files import load_report, write_report
from v2_conformance.suite.library import client_cases
from v2_conformance.suite.outcomes import Outcome
from v2_mutants.servers import MutantServer

SOME = ("--case", "P5/header-length-is-exact[*]", "--case", "H6/not-a-number[letters]")
TOKEN = "Zk9-pQ7w_vX2-mN4-t0ken"


def reported(folder: Path, *options: str) -> Path:
    """The report of a run of some cases, most of which are for a binary response's length."""
    asked = ["--require", "robust", "--report-dir", str(folder)]
    assert main(["run", *options, *asked]) == 1
    return folder / "report.json"


def told(broken: str, good: str, report: Path, cli: Cli) -> set[str]:
    """The failures of a report, each of which still fails on one server and is fixed on another."""
    failed = {case.id for case in load_report(report).of(Outcome.FAIL)}
    for url, code, said, at in ((broken, 1, "still failing", 2), (good, 0, "fixed", 1)):
        lines = cli("replay", report, url, code=code).out.splitlines()
        assert lines.pop() == f"{len(failed)} {said}"
        assert {line.split()[at].rstrip(":") for line in lines if line[:1] != " "} == failed
    return failed


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (SOME, "response-header-length-short"),
        (("--case", "R2", "--case", "H6/*"), "error-is-plain-text"),  # also what is observed
    ],
)
def test_only_failures_are_replayed(
    options: Sequence[str], fault: str, url: str, tmp_path: Path, cli: Cli
) -> None:
    report = reported(tmp_path, *options, "--fault", fault)
    with MutantServer([fault]) as broken:
        failed = told(broken.url, url, report, cli)
    assert {name.partition("/")[0] for name in failed} in ({"P5"}, {"R2"})
    assert any("observed" in name for name in failed) == (fault == "error-is-plain-text")


class Guarded(Behavior):
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


def test_models_are_those_of_report(tmp_path: Path, url: str, cli: Cli) -> None:
    report = reported(tmp_path, *SOME, "--fault", "response-header-length-short")
    document = load_report(report)
    models = {**document.target.models}
    models["identity/INT32"] = msgspec.structs.replace(models["identity/INT32"], model="nowhere")
    target = msgspec.structs.replace(document.target, models=models)
    write_report(tmp_path, msgspec.structs.replace(document, target=target))
    lines = cli("replay", report, url, code=3).out.splitlines()
    assert all(line.startswith(("unknown ", " ")) for line in lines[:-1])


def test_what_cannot_be_sent_is_said(tmp_path: Path, cli: Cli) -> None:
    def replayed(report: Report, *words: str, code: int) -> str:
        return cli("replay", saved(report, tmp_path / "report.json"), *words, code=code).said

    nobody, scenario = "http://127.0.0.1:9", client_cases()[0].id
    failed = case("H6/a", "fail")
    assert "nothing failed in" in replayed(report_of([case("H6/a")]), nobody, code=4)
    chosen = replayed(report_of([failed]), nobody, "--case", "P1", code=4)
    assert "nothing of these cases failed in" in chosen
    hidden = report_of([failed], url="http://127.0.0.1:9/******/")
    assert "give the URL" in replayed(hidden, code=2)
    unknown = replayed(report_of([failed, case(scenario, "fail")]), nobody, code=3)
    assert "2 unknown" in unknown
    assert scenario in unknown
    assert unknown.count("this version of the suite has no such case") == 2


def test_model_whose_answers_were_malformed_is_fixed(
    tmp_path: Path, start: Start, url: str, cli: Cli
) -> None:
    chosen = ("--model", "widener", "--case", "P5/*", "--case", "P2")
    report = reported(tmp_path, start(OtherNames).url, *chosen)
    failed = sum(1 for _ in load_report(report).of(Outcome.FAIL))
    assert cli("replay", report, url, code=0).out.splitlines()[-1] == f"{failed} fixed"
