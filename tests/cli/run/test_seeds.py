"""`--seed`: which values a run sends, and that whoever repeats its requests finds them again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.commands import Cli
from support.reports import read_document
from v2_conformance.certifying.resending import reported_target
from v2_conformance.report.files import document_digest, load_report
from v2_conformance.runs.targets.target import Target

SOME = ("--case", "P2/*", "--case", "H6/*", "--case", "O1/*")


def ran(cli: Cli, url: str, folder: Path, *more: str) -> Path:
    cli("run", url, *SOME, "--report-dir", folder, *more)
    return folder / "report.json"


def sent(path: Path) -> list[object]:
    report = load_report(path)
    return [one.request for case in report.cases for one in case.exchanges]


def test_a_run_draws_a_fresh_seed_and_says_which(url: str, tmp_path: Path, cli: Cli) -> None:
    ended = cli("run", url, *SOME, "--report-dir", tmp_path / "one")
    first, second = (
        load_report(tmp_path / "one" / "report.json"),
        load_report(ran(cli, url, tmp_path / "two")),
    )
    assert first.seed != second.seed
    assert f"--seed {first.seed}" in " ".join(ended.err.split())
    assert f"<dd>{first.seed}</dd>" in (tmp_path / "one" / "report.html").read_text("utf-8")


def test_the_same_seed_sends_the_same_and_another_does_not(
    url: str, tmp_path: Path, cli: Cli
) -> None:
    one, two, other = (
        sent(ran(cli, url, tmp_path / name, "--seed", seed))
        for name, seed in (("one", "7"), ("two", "7"), ("other", "8"))
    )
    assert one == two
    assert one != other


def test_diff_of_two_seeds_is_silent(url: str, tmp_path: Path, cli: Cli) -> None:
    one, other = (ran(cli, url, tmp_path / seed, "--seed", seed) for seed in ("7", "8"))
    assert cli("diff", one, other).code == 0


def test_verify_makes_the_requests_from_the_seed(url: str, tmp_path: Path, cli: Cli) -> None:
    path = ran(cli, url, tmp_path / "run", "--seed", "7")
    cli("verify", path, code=0)
    document = read_document(path)
    document["seed"] = 8
    document["integrity"]["digest"] = document_digest(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    assert cli("verify", path).code == 1


def test_an_expectation_file_has_the_seed_of_its_run(url: str, tmp_path: Path, cli: Cli) -> None:
    path, file = ran(cli, url, tmp_path / "run", "--seed", "7"), tmp_path / "expect.yaml"
    cli("expect", "--write", path, file, code=0)
    assert "seed: 7\n" in file.read_text("utf-8")
    again = ran(cli, url, tmp_path / "again", "--expect", str(file))
    told = ran(cli, url, tmp_path / "told", "--expect", str(file), "--seed", "9")
    assert [load_report(path).seed for path in (again, told)] == [7, 9]


@pytest.mark.parametrize("seed", ["-1", "4294967296", "1.5"])
def test_a_wrong_seed_in_an_expectation_file_is_one_line(
    seed: str, url: str, tmp_path: Path, cli: Cli
) -> None:
    file = tmp_path / "expect.yaml"
    file.write_text(f"seed: {seed}\nexpected: []\n", encoding="utf-8")
    ended = cli("run", url, *SOME, "--report-dir", tmp_path / "run", "--expect", file, code=2)
    assert "expect.yaml:1: seed" in ended.line


def test_replay_sends_what_the_run_sent(url: str, tmp_path: Path, cli: Cli) -> None:
    report = load_report(ran(cli, url, tmp_path / "run", "--seed", "7"))
    assert reported_target(report, Target(url)).seed == 7
