"""What a server lacks excuses nothing else: whatever a target leaves out, no requirement that has
nothing to do with it is lost in silence.

The walk: each datatype, most of them, each role, each optional role, each profile and coding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import cache

import pytest

from support.reports import case as made_case
from support.reports import report_of
from v2_conformance.judging.claims import Claims, skipped
from v2_conformance.judging.verdict import Verdict
from v2_conformance.protocol.datatypes import DATATYPES as KNOWN
from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.models import contract, stand_ins
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import catalogue
from v2_conformance.wire.encode.inputs import stood_in

DATATYPES = [name for name in KNOWN if name not in ("INT32", "BF16")]  # one is always there
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


cases = cache(suite_cases)


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
        came = verdict or Verdict(Outcome.PASS)
        members = {"cause": came.cause, "level": facts.level, "profile": facts.profile}
        found.append(made_case(case.id, came.outcome, "", **members))
        if facts.level == "MUST":
            tried[case.requirement] = tried.get(case.requirement, False) or verdict is None
    planned = Counter(case.requirement for case in cases())
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
