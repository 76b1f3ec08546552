"""Shards merge to the report of one run, and nothing else merges."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from support.reports import Document
from v2_conformance.certifying.servers import plan_of, start
from v2_conformance.errors import ReportFileError
from v2_conformance.options.selection import SelectionOptions
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.digest import document_digest, sealed
from v2_conformance.report.document import CaseResult
from v2_conformance.report.files import load_report, write_report
from v2_conformance.report.verdict.summary import concluded
from v2_conformance.runs.targets.make import make_target
from v2_conformance.suite.cases import ObservedCase
from v2_conformance.suite.library import every_case
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.verifying.merging import merge
from v2_conformance.verifying.verification import verify
from v2_mutants.servers import MutantServer

PATTERNS = ("R1", "R2", "H6", "P2", "W1", "O2*", "R3", "R8", "P11")
"""A few cases, some of which kill, and some that are about all others."""


def ran(
    url: str, folder: Path, shard: tuple[int, int] | None = None, patterns: Sequence[str] = PATTERNS
) -> Path:
    """The report.json of a run of a few cases, or of one shard of it."""
    plan = plan_of(SelectionOptions(patterns=tuple(patterns), shard=shard))
    start(make_target(url, profiles=("raw",), timeout=3), plan, folder).finish()
    return folder / "report.json"


def parts(url: str, folder: Path, count: int) -> list[Path]:
    return [ran(url, folder / str(n), (n, count)) for n in range(1, count + 1)]


def told(case: CaseResult) -> tuple[object, ...]:
    """What a case says, but for times and bytes that differ from run to run."""
    exchanges = [(e.purpose, e.request, e.ending, e.sent, e.pieces) for e in case.exchanges]
    return (case.id, case.outcome, case.cause, case.message, case.content, exchanges)


@pytest.mark.parametrize("fault", [None, "error-is-plain-text", "request-blobs-off-by-one"])
def test_shards_merge_to_the_report_of_one_run(fault: str | None, tmp_path: Path) -> None:
    with MutantServer([fault] if fault else []) as server:
        one = load_report(ran(server.url, tmp_path / "one"))
        shards = parts(server.url, tmp_path, 3)
        merged = merge(shards, every_case())
    # What is about all exchanges is judged over those of all shards.
    observed = {case.id for case in every_case() if isinstance(case, ObservedCase)}
    assert observed & {case.id for case in merged.cases}
    assert not observed & {case.id for shard in shards for case in load_report(shard).cases}
    assert [told(case) for case in merged.cases] == [told(case) for case in one.cases]
    assert merged.verdict == one.verdict
    assert merged.requirements == one.requirements
    assert merged.planned == one.planned
    assert merged.selection == one.selection
    assert merged.target == one.target
    assert [(c.role, c.form) for c in merged.calibration] != []
    assert {(c.role, c.form) for c in merged.calibration} == {
        (c.role, c.form) for c in one.calibration
    }
    assert len(merged.calibration) == len(one.calibration)
    again = verify(write_report(tmp_path, merged), every_case())
    assert again.exit_code == 0
    if fault is not None:
        assert Outcome.FAIL in {case.outcome for case in merged.cases}


@pytest.fixture(scope="module")
def three(url: str, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The reports of three shards of a good server."""
    return parts(url, tmp_path_factory.mktemp("three"), 3)


def refused(paths: Sequence[Path]) -> str:
    with pytest.raises(ReportFileError) as error:
        merge(paths, every_case())
    assert "\n" not in str(error.value)
    return str(error.value)


def edited(path: Path, folder: Path, change: Callable[[Document], object], *, seal: bool) -> Path:
    report = json.loads(path.read_text())
    change(report)
    if seal:
        report["integrity"] = {"algorithm": "sha256", "digest": document_digest(report)}
    copy = folder / "edited.json"
    copy.write_text(json.dumps(report))
    return copy


def test_the_order_in_which_shards_are_named_does_not_matter(three: list[Path]) -> None:
    assert merge(three, every_case()) == merge(three[::-1], every_case())


def test_a_merged_report_says_of_which_runs_it_was_made(three: list[Path]) -> None:
    merged = merge(three, every_case())
    made_of = [load_report(path) for path in three]
    assert [shard.number for shard in merged.shards] == [1, 2, 3]
    assert [shard.digest for shard in merged.shards] == [
        part.integrity.digest for part in made_of if part.integrity
    ]
    assert merged.started == min(part.started for part in made_of)


def test_a_shard_alone_is_an_incomplete_run(three: list[Path]) -> None:
    report = load_report(three[0])
    assert report.verdict.standing == "incomplete run"
    assert report.verdict.reasons[0].startswith("this is shard 1 of 3: ")
    assert not report.verdict.conformant
    assert verify(three[0], every_case()).exit_code == 0


def test_a_single_shard_of_one_is_incomplete_too(url: str, tmp_path: Path) -> None:
    path = ran(url, tmp_path, (1, 1))
    assert load_report(path).verdict.standing == "incomplete run"
    merged = merge([path], every_case())
    assert not any(reason.startswith("this is shard") for reason in merged.verdict.reasons)


def test_gaps_are_refused(three: list[Path]) -> None:
    assert refused(three[:2]) == "shard 3 of 3 is missing"
    assert refused(three[1:2]) == "shards 1, 3 of 3 are missing"


def test_overlaps_are_refused(three: list[Path]) -> None:
    assert refused([*three, three[1]]).endswith("are both shard 2 of 3")


def test_the_report_of_a_whole_run_is_no_shard(url: str, three: list[Path], tmp_path: Path) -> None:
    whole = ran(url, tmp_path)
    assert refused([whole]) == f"{whole} is not the report of a shard: no --shard made it"
    merged = write_report(tmp_path, merge(three, every_case()))
    assert "is not the report of a shard" in refused([merged])


def test_shards_of_different_targets_are_refused(three: list[Path], tmp_path: Path) -> None:
    with ReferenceServer() as other:
        shard = ran(other.url, tmp_path, (3, 3))
    message = refused([*three[:2], shard])
    assert message.endswith("are not shards of one run: they differ in the URL of the target")


def test_shards_with_different_claims_are_refused(
    url: str, three: list[Path], tmp_path: Path
) -> None:
    plan = plan_of(SelectionOptions(patterns=PATTERNS, shard=(3, 3)))
    start(make_target(url, timeout=3), plan, tmp_path).finish()
    assert refused([*three[:2], tmp_path / "report.json"]).endswith("they differ in the profiles")


def test_shards_of_different_selections_are_refused(
    url: str, three: list[Path], tmp_path: Path
) -> None:
    other = ran(url, tmp_path / "other", (3, 3), patterns=("P2", "H6"))
    assert "they were asked for different cases" in refused([*three[:2], other])
    more = ran(url, tmp_path / "more", (3, 4))
    assert refused([*three[:2], more]).endswith("they count 3 and 4 shards")


def test_shards_of_another_edition_of_the_draws_are_refused(
    url: str, three: list[Path], tmp_path: Path
) -> None:
    plan = plan_of(SelectionOptions(patterns=PATTERNS, shard=(3, 3)))
    target = make_target(url, profiles=("raw",), timeout=3)
    start(replace(target, draws=1), plan, tmp_path).finish()
    message = refused([*three[:2], tmp_path / "report.json"])
    assert "edition 2 and edition 1 drew their values" in message


def test_shards_of_another_catalogue_are_refused(three: list[Path], tmp_path: Path) -> None:
    def change(report: Document) -> None:
        report["suite"]["catalogue"] = "0123456789abcdef"

    message = refused([edited(three[0], tmp_path, change, seal=True), *three[1:]])
    assert "(0123456789abcdef), and this is v2-conformance" in message
    assert message.endswith("merge with the version that ran the shards")


def outcome_flipped(report: Document) -> None:
    report["cases"][0]["outcome"] = "fail"


def case_removed(report: Document) -> None:
    del report["cases"][0]


def case_twice(report: Document) -> None:
    report["cases"].append(report["cases"][0])


def another_number(report: Document) -> None:
    report["selection"]["shard"]["number"] = 3


def number_beyond(report: Document) -> None:
    report["selection"]["shard"]["number"] = 4


def huge_count(report: Document) -> None:
    report["selection"]["shard"]["of"] = 10**12


def no_shard(report: Document) -> None:
    del report["selection"]["shard"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (outcome_flipped, "does not hold: "),
        (case_removed, "does not hold: |lacks cases of its shard: "),
        (case_twice, "does not hold: .* cases twice"),
        (another_number, "does not hold: .*not in the plan"),
        (number_beyond, "does not hold: no run can have this selection: there is no shard 4 of 3"),
        (huge_count, "does not hold: no run can have this selection: .* cases cannot be divided"),
        (no_shard, "does not hold: |is not the report of a shard"),
    ],
)
def test_edited_shards_are_refused(
    change: Callable[[Document], object], words: str, three: list[Path], tmp_path: Path
) -> None:
    for seal in (True, False):
        message = refused([edited(three[0], tmp_path, change, seal=seal), *three[1:]])
        assert re.search(words if seal else "digest", message), message


def test_a_shard_that_lacks_a_case_and_owns_up_to_it_is_refused(
    three: list[Path], tmp_path: Path
) -> None:
    """Even if its verdict and its rows follow from the cases that are left."""
    report = load_report(three[0])
    fewer = sealed(concluded(msgspec.structs.replace(report, cases=report.cases[1:])))
    path = write_report(tmp_path, fewer)
    assert verify(path, every_case()).exit_code == 0
    assert "lacks cases of its shard: " in refused([path, *three[1:]])


def test_a_shard_that_was_stopped_is_refused(url: str, three: list[Path], tmp_path: Path) -> None:
    plan = plan_of(SelectionOptions(patterns=PATTERNS, shard=(3, 3)))
    target = make_target(url, profiles=("raw",), timeout=3, max_time=1e-6)
    start(target, plan, tmp_path).finish()
    message = refused([*three[:2], tmp_path / "report.json"])
    assert message.endswith("is incomplete: run shard 3/3 again")


def test_the_record_of_a_shard_is_refused(three: list[Path]) -> None:
    record = three[0].with_name("report.jsonl")
    assert refused([record, *three[1:]]).endswith("is the record of a run: name its report.json")
