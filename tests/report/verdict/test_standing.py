"""What a report amounts to in few words."""

from __future__ import annotations

from support.reports import case, passes, report_of
from v2_conformance.report.verdict.standing import claim
from v2_conformance.suite.causes.circumstances import RoleAbsent


def test_optional_models_that_cases_would_have_needed_are_named_beside_the_profiles() -> None:
    cause = RoleAbsent("trio", "no model trio")
    unsupported = [case(f"M1/{n}", "unsupported", cause=cause) for n in range(2)]
    report = report_of([*passes(), case("M1/plain"), *unsupported])
    assert claim(report) == "binary; without BF16, the model trio"
    assert report.verdict.conformant


def test_a_model_that_is_not_optional_is_named_as_what_blocks() -> None:
    cause = RoleAbsent("mixed", "no model mixed")
    report = report_of([*passes(), case("M1/x", "not_run", cause=cause)])
    assert claim(report) == "binary; without BF16"
    assert not report.verdict.conformant
