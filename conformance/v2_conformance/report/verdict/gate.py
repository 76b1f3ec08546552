"""The gate of CI: what a report has to show for exit code 0. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from v2_conformance.report.document import CaseResult, Report
from v2_conformance.report.verdict.standing import is_whole
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import Blocks

_SHOWN = (Outcome.PASS, Outcome.DISPUTED)


@dataclass(frozen=True)
class Gate:
    """The verdict that a run is required to have. A `strict` gate requires *robust*, and no
    warnings.
    """

    require: Blocks = "conformant"
    strict: bool = False

    @property
    def required(self) -> Blocks:
        """The verdict that opens it."""
        return "robust" if self.strict else self.require

    def counts(self, case: CaseResult) -> bool:
        """Return True if a failure of this case keeps it shut."""
        if case.blocks is None:
            return self.strict and case.level == "SHOULD"
        return case.blocks == "conformant" or self.required == "robust"

    def is_open_for(self, report: Report) -> bool:
        """Return True if the report shows what is required. A part of the suite, or cases of one's
        own, have no verdict: one has to pass, and none that counts may have failed.
        """
        if report.relations is not None and report.target.absent:  # a model that was named
            return False
        if not is_whole(report):
            bad = (case for case in report.cases if not case.outcome.harmless)
            return any(report.of(*_SHOWN)) and not any(map(self.counts, bad))
        verdict = report.verdict
        if self.strict and verdict.warnings:
            return False
        if verdict.consistent is not None:
            return verdict.consistent
        return verdict.robust if self.required == "robust" else verdict.conformant
