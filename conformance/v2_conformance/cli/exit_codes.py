"""Exit codes: other programs rely on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from v2_conformance.errors import NothingRanError, UnreachableError
from v2_conformance.suite.outcomes import Outcome

if TYPE_CHECKING:
    from v2_conformance.report.document import Report
    from v2_conformance.report.verdict.judged import Gate

OF_A_RUN = {
    0: "Conformant, or what --require says; with models of your own, consistent.",
    1: "The verdict is worse, or the extension is not implemented. In a partial run: a case that "
    "blocks the verdict failed.",
    2: "Wrong usage or configuration.",
    3: "The server cannot be reached, the run was stopped, or the suite itself failed.",
    4: "Nothing was tested: --case matches no case, or the server has none of the contract's "
    "models, and none of its own can be tested.",
}


def of_report(report: Report, gate: Gate) -> int:
    """Return the exit code for the verdict of a report."""
    from v2_conformance.report.verdict.standing import has_no_model, is_decided

    outcomes = {case.outcome for case in report.cases}
    if Outcome.ERROR in outcomes or not (report.complete or is_decided(report)):
        return UnreachableError.exit_code
    if has_no_model(report) or not outcomes - {Outcome.UNSUPPORTED, Outcome.NOT_RUN}:
        return NothingRanError.exit_code
    return int(not gate.is_open_for(report))


def with_expectations(report: Report, gate: Gate, *, as_expected: bool) -> int:
    """Return the exit code if only what is not `as_expected` counts."""
    code = of_report(report, gate)
    if not report.complete:  # what did not run may be unexpected
        return UnreachableError.exit_code
    judged = code not in (UnreachableError.exit_code, NothingRanError.exit_code)
    return int(not as_expected) if judged else code
