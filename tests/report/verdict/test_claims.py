"""What a server claims, beside what its cases show."""

from __future__ import annotations

import pytest

from support.reports import case, passes, report_of
from v2_conformance.report.document import Report
from v2_conformance.report.verdict.claims import Claim, claims


def claim(report: Report, subject: str) -> Claim:
    return next(claim for claim in claims(report) if claim.subject == subject)


@pytest.mark.parametrize(
    ("advertised", "outcome", "sign", "words"),
    [
        (True, "pass", "pass", "does what it advertises"),
        (True, "fail", "fail", "advertises it and does not keep to it"),
        (True, "not_run", "inconclusive", "not shown in full"),
        (False, "pass", "inconclusive", "It works, though"),
        (False, "fail", "fail", "does not advertise it, and does not keep to it"),
        (False, "inconclusive", "inconclusive", "not shown in full"),
    ],
)
def test_extension_beside_conduct(advertised: bool, outcome: str, sign: str, words: str) -> None:
    listed = "binary_tensor_data" if advertised else "binary_tensor_data_2"
    report = report_of(passes(case("P5/x", outcome)), extensions=[listed])
    found = claim(report, "Extension binary_tensor_data")
    assert found.outcome == sign
    assert words in found.shown
    assert found.claimed.startswith("advertised" if advertised else "not advertised")


def test_a_profile_names_the_requirements_that_contradict_it() -> None:
    cases = passes(case("P5/x", "fail"), case("P8/x", "inconclusive"), case("P4/x", "fail"))
    found = claim(report_of(cases), "Profile binary")
    assert found.outcome == "fail"
    assert found.requirements == ("P5",)
    assert "failed, 1 more not shown to hold" in found.shown


def test_a_profile_that_is_not_claimed_is_not_judged() -> None:
    raw = [case(f"W1/{n}", "unsupported") for n in range(3)]
    found = claim(report_of([*passes(), *raw]), "Profile raw")
    assert (found.claimed, found.outcome) == ("not claimed", "unsupported")
    assert found.shown == "Not tested: 3 cases were not sent."


def test_a_profile_of_which_nothing_ran_does_not_hold() -> None:
    report = report_of(passes(), profiles=["binary", "raw"])
    assert claim(report, "Profile raw").outcome == "not_run"
