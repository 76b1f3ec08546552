"""Exit codes: other programs rely on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from v2_conformance.errors import NothingRanError, UnreachableError
from v2_conformance.suite.outcomes import Outcome

if TYPE_CHECKING:
    from v2_conformance.report.document import Report

OF_A_RUN = {
    0: "Conformant; with --model, consistent.",
    1: "Not conformant, or not consistent; with --strict, also if there are warnings.",
    2: "Wrong usage or configuration.",
    3: "The server cannot be reached, or the suite itself failed.",
    4: "No case ran, or only those about discovery: the server has none of the contract's models.",
}


_FAILED = (Outcome.FAIL, Outcome.FLAKY, Outcome.INCONCLUSIVE)


def of_report(report: Report, *, strict: bool) -> int:
    """Return the exit code for the verdict of a report."""
    outcomes = {case.outcome for case in report.cases}
    if Outcome.ERROR in outcomes or not report.complete:
        return UnreachableError.exit_code
    without_models = report.own and not report.target.models and report.target.client is None
    if without_models or not outcomes - {Outcome.UNSUPPORTED, Outcome.NOT_RUN}:
        return NothingRanError.exit_code
    if not report.own:  # without a verdict, what matters is whether these cases pass
        counted = ("MUST", "SHOULD") if strict else ("MUST",)
        bad = (case for case in report.cases if case.outcome in _FAILED)
        return int(any(case.level in counted for case in bad))
    verdict = report.verdict
    if verdict.consistent is not None:
        return 1 if not verdict.consistent or (strict and verdict.warnings) else 0
    if not verdict.conformant:
        return 1
    return 1 if strict and (verdict.warnings or not verdict.robust) else 0


def of_shard(report: Report) -> int:
    """Return the exit code for the report of a shard, which has no verdict: whether
    all of it ran.
    """
    failed = any(case.outcome is Outcome.ERROR for case in report.cases)
    return UnreachableError.exit_code if failed or not report.complete else 0


def beside_expectations(report: Report, *, as_expected: bool, strict: bool) -> int:
    """Return the exit code if known failures are expected: only what is not `as_expected` counts,
    unless the report says nothing about the server at all.
    """
    code = of_report(report, strict=strict)
    judged = code not in (UnreachableError.exit_code, NothingRanError.exit_code)
    return int(not as_expected) if judged else code
