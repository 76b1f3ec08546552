"""`run --variation`: every case that must succeed, said in another way."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.commands import Cli
from v2_conformance.cli.main import main
from v2_conformance.report.files import REPORT, load_report
from v2_conformance.suite.outcomes import Outcome


def outcomes(folder: Path, *arguments: str) -> dict[str, Outcome]:
    code = main(["run", "--report-dir", str(folder), *arguments])
    found = {case.id: case.outcome for case in load_report(folder / REPORT).cases}
    assert code == int(Outcome.FAIL in found.values())
    return found


def test_cases_are_sent_in_each_variation_and_can_be_verified(tmp_path: Path, cli: Cli) -> None:
    names = ["members-reversed", "pipelined", "versioned-path"]
    given = [word for name in names for word in ("--variation", name)]
    found = outcomes(tmp_path, "--case", "P5", "--case", "H6", *given)
    assert set(found.values()) == {Outcome.PASS}
    assert {id.rpartition("+")[2] for id in found} == set(names)
    assert {id.partition("/")[0] for id in found} == {"P5"}  # those of H6 must be rejected
    assert "the verdict holds" in cli("verify", tmp_path / REPORT, code=0).out


def test_a_fault_of_one_spelling_fails_any_case_in_it(tmp_path: Path) -> None:
    fault = ["--fault", "escaped-name-unknown", "--case", "P5", "--variation"]
    assert set(outcomes(tmp_path, *fault, "escaped-names").values()) == {Outcome.FAIL}
    assert set(outcomes(tmp_path, *fault, "members-reversed").values()) == {Outcome.PASS}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--variation", "membersreversed"], 2, "did you mean members-reversed"),
        (["--case", "H6", "--variation", "spaced"], 4, "the variation spaced fits none"),
        (["--fuzz", "2", "--variation", "spaced"], 2, "--variation"),
    ],
)
def test_what_cannot_be_crossed_is_one_line(
    arguments: list[str], code: int, words: str, tmp_path: Path, cli: Cli
) -> None:
    error = cli("run", *arguments, "--report-dir", tmp_path, code=code).err
    assert words in error
    assert error.count("\n") == 1


def test_every_variation_is_listed(cli: Cli) -> None:
    assert "json     members-reversed: Writes" in cli("list", "variations", code=0).out
