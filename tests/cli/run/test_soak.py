"""`run --soak`: what it asks for, what is written and shown, and what `verify` says of it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.commands import Cli
from support.reports import read_document
from support.runs import command
from v2_conformance.cli.main import main
from v2_conformance.cli.run.soak import load_of
from v2_conformance.formats.ci.github import markdown
from v2_conformance.formats.html.page import render
from v2_conformance.options.runs import RunOptions
from v2_conformance.report.causes.words import must_words, shown_causes
from v2_conformance.report.digest import document_digest
from v2_conformance.report.document import Report
from v2_conformance.report.files import read_report
from v2_conformance.report.shown import soak_words
from v2_conformance.report.verdict.summary import concluded
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.soaking import KindGrowth, Trend

SOME = ("--case", "P2", "--case", "D1", "--case", "Z6/truncated*", "--case", "H6")
PROFILE = ("--profile", "compression")
Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run with a short soak of a server whose values change when it is busy."""
    made = tmp_path_factory.mktemp("soak")
    fault = ("--fault", "values-change-when-busy")
    main(["run", *SOME, *PROFILE, *fault, "--soak", "0.02", "--report-dir", str(made)])
    return made


@pytest.fixture(scope="module")
def report(folder: Path) -> Report:
    return read_report(folder / "report.json").report


def test_process_here_and_server_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    options = RunOptions(soak_minutes=1, pid=os.getpid())
    assert load_of(options, None, Target("http://192.0.2.1:8000")) is not None
    assert "may not be on it" in capsys.readouterr().err
    options = RunOptions(soak_minutes=0.5, pid=os.getpid(), workers=4)
    here = load_of(options, None, Target("http://127.0.0.1:8000"))
    assert here is not None
    assert (here.seconds, here.connections, here.pid) == (30, 4, os.getpid())
    assert capsys.readouterr().err == ""


def test_wrong_answers_under_load_count_as_failures(report: Report) -> None:
    soak = report.soak
    assert soak is not None
    assert sum(soak.wrong.values()) > 0
    assert not report.verdict.conformant
    assert any("did not hold under load" in reason for reason in report.verdict.reasons)
    # Alone every answer was right.
    assert all(case.outcome.harmless for case in report.cases)
    assert must_words(report, shown_causes(report)).endswith("MUST hold, but not under load")


def test_a_soak_is_shown_everywhere(report: Report, folder: Path) -> None:
    assert report.soak is not None
    for words in soak_words.lines(report.soak):
        assert words in render(report).replace("&#39;", "'")
    page = (folder / "report.html").read_text()
    assert '<h2 id="soak">Under load</h2>' in page
    assert "<polyline" in page  # the time to an answer
    assert "answers that were right alone were wrong" in markdown(report)


def test_a_run_without_a_soak_says_nothing_of_one(tmp_path: Path, cli: Cli) -> None:
    ended = cli("run", "--case", "P2/blob-follows-json[INT32]", "--report-dir", tmp_path / "run")
    assert "under load" not in ended.out
    assert "soak" not in read_document(tmp_path / "run" / "report.json")
    assert 'id="soak"' not in (tmp_path / "run" / "report.html").read_text()


def test_a_report_with_a_soak_holds(folder: Path, cli: Cli) -> None:
    assert "its soak measured and counted" in cli("verify", folder / "report.json", code=0).shown


def _one_less(soak: dict[str, Any]) -> None:
    name = next(iter(soak["wrong"]))
    soak["wrong"][name] -= 1


def _grown(soak: dict[str, Any]) -> None:
    trend = {"quantity": "memory", "movement": "settles", "first": 1, "last": 1, "most": 1}
    soak["trends"] = [trend]


def _of_another_case(soak: dict[str, Any]) -> None:
    soak["kept"][0]["case"] = "P1/extension-listed"


def _unordered(soak: dict[str, Any]) -> None:
    soak["samples"].reverse()


def _huge(soak: dict[str, Any]) -> None:
    soak["samples"][0]["memory"] = 10**300


EDITS: dict[str, tuple[Change, str]] = {
    "a wrong answer less": (_one_less, "not as many as those by kind"),
    "another trend": (_grown, "does not follow from its samples"),
    "an answer to another case": (_of_another_case, "of a case that it does not count"),
    "samples in another order": (_unordered, "not in their order"),
    "a number beyond all memory": (_huge, "is not a report"),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_soak_is_noticed(
    name: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change, words = EDITS[name]
    document = read_document(folder / "report.json")
    change(document["soak"])
    document["integrity"]["digest"] = document_digest(document)
    path = tmp_path / "report.json"
    path.write_text(json.dumps(document))
    assert main(["verify", str(path)]) in (1, 2)
    said = capsys.readouterr()
    assert words in " ".join((said.out + said.err).split())


def test_a_leak_is_a_warning_and_no_more(report: Report) -> None:
    from msgspec.structs import replace

    assert report.soak is not None
    leak = Trend(
        "memory", "leaks", 1, 2, 3, 1000.0, 10.0, (KindGrowth("compressed_failing", 12_000.0),)
    )
    clean = replace(report.soak, wrong={}, trends=(leak,))
    leaking = concluded(replace(report, soak=clean)).verdict
    none = concluded(replace(report, soak=None)).verdict
    assert leaking.reasons == none.reasons
    (more,) = set(leaking.warnings) - set(none.warnings)
    assert more.startswith("under load, memory leaks: 12 KB per compressed request that fails")


def test_a_soak_that_the_server_did_not_survive_is_not_robust(report: Report) -> None:
    from msgspec.structs import replace

    assert report.soak is not None
    died = replace(report.soak, wrong={}, ended="died", survived=False)
    reasons = concluded(replace(report, soak=died)).verdict.reasons
    assert "the server did not survive the soak: it was gone" in reasons


@pytest.mark.long
def test_an_interrupted_soak_keeps_what_it_has(tmp_path: Path) -> None:
    arguments = ["run", "--soak", "10", *SOME[:4], "--report-dir", str(tmp_path)]
    with command(*arguments) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("soak:"):
                break
        process.send_signal(signal.SIGINT)
        process.communicate()
    soak = read_report(tmp_path / "report.json").report.soak
    assert soak is not None
    assert soak.ended == "interrupted"
    assert "stopped early with Ctrl-C" in (tmp_path / "report.html").read_text()
