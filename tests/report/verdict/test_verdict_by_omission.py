"""What a server lacks excuses nothing else: whatever a target leaves out, no requirement that has
nothing to do with it is lost in silence.

The walk: each datatype, most of them, each role, each optional role, each profile and coding.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import cache

import pytest

from support.reports import case as made_case
from support.reports import report_of
from v2_conformance.judging.survival import Claims, skipped
from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.cases import Case, RequestCase
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.models import contract, stand_ins
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import catalogue
from v2_conformance.wire.encode.inputs import stood_in
from v2_conformance.wire.encode.requests import prepare

DATATYPES = [
    "BOOL",
    "UINT8",
    "UINT16",
    "UINT32",
    "UINT64",
    "INT8",
    "INT16",
    "INT64",
    "FP16",
    "FP32",
    "FP64",
    "BYTES",
]  # INT32 cannot be left out
STAND_INS = frozenset(stand_ins().values())
OPTIONAL = frozenset(role for role, model in contract().items() if model.optional)
# What is left out, in words and as a set of datatypes and codings.
LACKS: dict[str, frozenset[str]] = {
    "nothing": frozenset(),
    **{name: frozenset({name}) for name in DATATYPES},
    "all but INT32": frozenset(DATATYPES),
    "floats": frozenset({"FP16", "FP32", "FP64"}),
    "one of each model with several inputs": frozenset({"FP16", "BYTES"}),
    "one byte": frozenset({"BOOL", "UINT8", "INT8"}),
    "gzip": frozenset({"gzip"}),
    "deflate": frozenset({"deflate"}),
}


@cache
def cases() -> Sequence[Case]:
    return suite_cases()


def run_without(
    lacks: Collection[str], absent: Collection[str] = (), profiles: Sequence[str] = SERVER_PROFILES
) -> tuple[Report, dict[str, bool]]:
    """What a run comes to in which every case that is sent passes, and which MUST requirements had
    a case that could have failed."""
    target = Target("http://h")
    lacking = frozenset(lacks)
    present = {
        role: target.binding(role)
        for role, model in contract().items()
        if role not in absent and model.profile in profiles and model.is_of_use(lacking)
    }
    missing = {role: "not there" for role in contract() if role not in present}
    claims = Claims(profiles, lacking, present, missing)
    found: list[CaseResult] = []
    tried: dict[str, bool] = {}
    for case in cases():
        sent = stood_in(case, lacking)
        verdict = skipped(sent, claims)
        facts = case.facts(profiles)
        outcome, cause = (
            (Outcome.PASS, None) if verdict is None else (verdict.outcome, verdict.cause)
        )
        found.append(
            made_case(
                case.id, outcome, cause=cause, level=facts.level, profile=facts.profile, message=""
            )
        )
        if facts.level == "MUST":
            tried[case.requirement] = tried.get(case.requirement, False) or verdict is None
    planned: dict[str, int] = {}
    for case in cases():
        planned[case.requirement] = planned.get(case.requirement, 0) + 1
    report = report_of(found, profiles=profiles, planned=planned, unsupported=tuple(lacking))
    return report, tried


def lost(conclusion: Report, tried: dict[str, bool], profiles: Collection[str]) -> Iterator[str]:
    """The MUST requirements of the profiles that nothing tested and that no reason names."""
    reasons = " ".join(conclusion.verdict.reasons) + " "
    for name, sent in tried.items():
        if not sent and catalogue()[name].profile in profiles and f" {name} " not in reasons:
            yield name


def excused(lacks: Collection[str]) -> set[str]:
    """The requirements that are about nothing but what is left out."""
    about = {name: set(entry.datatypes) for name, entry in catalogue().items()}
    return {name for name, datatypes in about.items() if datatypes and datatypes <= set(lacks)}


@pytest.mark.parametrize("lacks", LACKS.values(), ids=LACKS)
@pytest.mark.parametrize("absent", [frozenset(), STAND_INS, OPTIONAL], ids=["", "alone", "bare"])
def test_lacks_excuse_their_own_cases(lacks: frozenset[str], absent: frozenset[str]) -> None:
    conclusion, tried = run_without(lacks, absent)
    assert set(lost(conclusion, tried, SERVER_PROFILES)) <= excused(lacks)
    if lacks == {"FP16", "BYTES"}:  # then no model has tensors of different sizes
        words = " ".join(conclusion.verdict.reasons)
        assert "MUST (blocks conformant) D14 was not tested: its cases need " in words
    elif not absent:
        assert conclusion.verdict.reasons == ()
        assert conclusion.verdict.robust
    elif lacks & {"FP16", "BOOL", "UINT32"} and absent == OPTIONAL:
        assert "MUST (blocks conformant) M1 was not tested" in " ".join(conclusion.verdict.reasons)
        assert not conclusion.verdict.conformant


@pytest.mark.parametrize("lacks", DATATYPES)
def test_without_one_datatype_other_models_with_several_inputs_are_enough(lacks: str) -> None:
    """A server that has none of the models that stand in, but the optional ones, is certified."""
    conclusion, _ = run_without({lacks}, STAND_INS, ("binary",))
    assert conclusion.verdict.reasons == ()


@pytest.mark.parametrize("role", [role for role in contract() if role not in STAND_INS])
def test_a_missing_role_blocks_or_costs_no_requirement(role: str) -> None:
    conclusion, tried = run_without((), {role})
    assert not list(lost(conclusion, tried, SERVER_PROFILES))
    needed = any(case.role == role and case.level == "MUST" for case in cases())
    assert conclusion.verdict.conformant is (contract()[role].optional or not needed)


@pytest.mark.parametrize("left_out", [name for name in SERVER_PROFILES if name != "binary"])
def test_a_profile_that_is_not_claimed_costs_only_its_own_requirements(left_out: str) -> None:
    profiles = [name for name in SERVER_PROFILES if name != left_out]
    conclusion, tried = run_without((), (), profiles)
    assert not list(lost(conclusion, tried, profiles))
    assert conclusion.verdict.robust
    rows = {row.id for row in conclusion.requirements}
    assert rows.isdisjoint(n for n, entry in catalogue().items() if entry.profile == left_out)


@pytest.mark.parametrize("lacks", [{"FP16"}, {"BYTES", "FP32"}, set(DATATYPES)])
def test_a_case_that_is_sent_elsewhere_stays_the_case_that_it_is(lacks: set[str]) -> None:
    target = Target("http://h")
    moved = 0
    for case in suite_cases():
        sent = stood_in(case, lacks)
        if sent is case:
            continue
        moved += 1
        assert (sent.id, sent.requirement, sent.level) == (case.id, case.requirement, case.level)
        assert sent.datatypes.isdisjoint(lacks)
        assert not catalogue()[case.requirement].datatypes
        assert isinstance(sent, RequestCase)
        assert STAND_INS & {sent.role, *(other.role for other in sent.others)}
        made = prepare(sent, target.address, replace(target.binding(sent.model), version="1"))
        filled = [expected.tensor.blob for expected in made.expected if expected.tensor.blob]
        blobs = {bytes(blob[:4]) for blob in filled}
        if contract()[sent.model].does == "identity":
            assert len(blobs) == len(filled)  # or nobody would see that two were swapped
    assert moved > 50
