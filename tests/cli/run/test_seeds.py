"""`--seed`: which values a run sends, and that whoever repeats its requests finds them again."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from support.commands import Cli
from support.reports import read_document
from v2_conformance.report.files import document_digest, load_report

SOME = ("--case", "P2/*", "--case", "H6/*", "--case", "O1/*")


def ran(cli: Cli, url: str, folder: Path, *more: str) -> Path:
    cli("run", url, *SOME, "--report-dir", folder, *more)
    return folder / "report.json"


def sent(path: Path) -> list[object]:
    report = load_report(path)
    return [one.request for case in report.cases for one in case.exchanges]


def test_a_run_draws_a_fresh_seed_and_says_which(url: str, tmp_path: Path, cli: Cli) -> None:
    ended = cli("run", url, *SOME, "--report-dir", tmp_path / "one")
    seed = load_report(tmp_path / "one" / "report.json").seed
    assert seed != load_report(ran(cli, url, tmp_path / "two")).seed
    assert f"--seed {seed}" in " ".join(ended.err.split())
    assert f"<dd>{seed}</dd>" in (tmp_path / "one" / "report.html").read_text("utf-8")


def test_a_run_that_fails_prints_what_repeats_it(tmp_path: Path, cli: Cli) -> None:
    words = ["run", "--fault", "every-input-gets-the-rest", "--case", "M1"]
    words += ["--report-dir", str(tmp_path)]
    program, *again = shlex.split(cli(*words, code=1).out.partition("repeat: ")[2].split("\n")[0])
    assert (program, again[:-2]) == ("v2-conformance", words)
    assert again[-2:] == ["--seed", str(load_report(tmp_path / "report.json").seed)]


def test_the_seed_says_what_is_sent(url: str, tmp_path: Path, cli: Cli) -> None:
    seeds = {"one": "7", "two": "7", "other": "8"}
    paths = [ran(cli, url, tmp_path / name, "--seed", seed) for name, seed in seeds.items()]
    one, two, other = map(sent, paths)
    assert one == two
    assert one != other
    cli("diff", paths[0], paths[2], code=0)


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
