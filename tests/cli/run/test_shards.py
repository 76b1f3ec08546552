"""`run --shard` and `merge`: many machines run parts of the suite, and one verdict comes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.commands import Cli
from v2_conformance.cli.main import main
from v2_conformance.report.files import load_report
from v2_mutants.servers import MutantServer

SOME = ("--case", "P2", "--case", "H6", "--case", "R2")


@pytest.mark.long
def test_three_shards_merge_to_the_report_of_one_run(url: str, tmp_path: Path, cli: Cli) -> None:
    common = (url, "--profile", "raw")
    assert main(["run", *common, "--report-dir", str(tmp_path / "one")]) == 0
    paths = []
    for number in range(1, 4):
        folder = tmp_path / f"shard-{number}"
        call = ["run", *common, "--shard", f"{number}/3", "--report-dir", str(folder)]
        assert main(call) == 0
        paths.append(str(folder / "report.json"))
    merged = tmp_path / "merged"
    printed = cli("merge", *paths, "--report-dir", merged, code=0).shown
    assert "CONFORMANT, ROBUST report: " in printed
    ended = cli("verify", merged / "report.json", code=0)
    assert "the verdict holds: CONFORMANT, ROBUST" in ended.out
    one, all_of_them = (
        load_report(tmp_path / "one/report.json"),
        load_report(merged / "report.json"),
    )
    assert all_of_them.verdict == one.verdict
    assert all_of_them.requirements == one.requirements
    assert [(c.id, c.outcome, c.cause) for c in all_of_them.cases] == [
        (c.id, c.outcome, c.cause) for c in one.cases
    ]
    assert "CONFORMANT" in (merged / "report.html").read_text(encoding="utf-8").upper()


@pytest.fixture(scope="module")
def two(url: str, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The reports of both shards of a short run."""
    folder = tmp_path_factory.mktemp("two")
    for number in (1, 2):
        report_dir = str(folder / str(number))
        assert main(["run", url, *SOME, "--shard", f"{number}/2", "--report-dir", report_dir]) == 0
    return [str(folder / name / "report.json") for name in ("1", "2")]


def test_a_shard_says_that_it_is_not_the_whole_run(url: str, tmp_path: Path, cli: Cli) -> None:
    call = ["run", url, *SOME, "--shard", "1/2", "--report-dir", str(tmp_path)]
    printed = cli(*call, code=0).shown
    assert "this is shard 1 of 2: the verdict is that of the merged report" in printed
    assert "INCOMPLETE RUN" in printed
    assert "incomplete run" in (tmp_path / "badge.json").read_text()


def test_indexed_job_has_shard(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "1")
    assert main(["run", url, *SOME, "--shard", "auto/2", "--report-dir", str(tmp_path)]) == 0
    shard = load_report(tmp_path / "report.json").selection.shard
    assert shard is not None
    assert (shard.number, shard.of) == (2, 2)


def test_missing_shard_is_one_line(two: list[str], tmp_path: Path, cli: Cli) -> None:
    ended = cli("merge", two[0], "--report-dir", tmp_path / "merged", code=2)
    assert ended.err == "v2-conformance: shard 2 of 2 is missing\n"
    assert not (tmp_path / "merged/report.json").exists()


def test_no_shard_is_overwritten(two: list[str], cli: Cli) -> None:
    before = Path(two[0]).read_bytes()
    ended = cli("merge", *two, "--report-dir", Path(two[0]).parent, code=2)
    assert "has one of the shards: name another --report-dir" in ended.err
    assert Path(two[0]).read_bytes() == before


def test_what_an_older_run_left_is_removed(
    two: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "report.jsonl").write_text("of an older run")
    assert main(["merge", *two, "--report-dir", str(tmp_path)]) == 0
    assert not (tmp_path / "report.jsonl").exists()
    assert (tmp_path / "report.html").exists()


def test_known_failures_are_expected_in_a_merged_report(tmp_path: Path) -> None:
    """Those that are judged over all shards, too."""
    folders = [tmp_path / "1", tmp_path / "2"]
    with MutantServer(["error-is-plain-text"]) as server:
        for number, folder in enumerate(folders, 1):
            shard = ["--shard", f"{number}/2", "--report-dir", str(folder)]
            assert main(["run", server.url, *SOME, *shard]) == 0
    paths = [str(folder / "report.json") for folder in folders]
    merged = tmp_path / "merged"
    assert main(["merge", *paths, "--report-dir", str(merged)]) == 1
    known = str(tmp_path / "known.yaml")
    assert main(["expect", "--write", str(merged / "report.json"), known]) == 0
    assert main(["merge", *paths, "--report-dir", str(merged), "--expect", known]) == 0
    report = load_report(merged / "report.json")
    failed = [case for case in report.cases if case.outcome.value == "fail"]
    assert any(case.id == "R2/observed" for case in failed)
    assert all(case.expected is not None for case in failed)
