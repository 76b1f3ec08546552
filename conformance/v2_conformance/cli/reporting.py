"""Handles the report of a command: shows it and compares it with known failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from v2_conformance.certifying.servers import NO_EXPECTATIONS, today
from v2_conformance.cli.command import console
from v2_conformance.cli.options import ReportOptions
from v2_conformance.errors import NothingRanError, UnreachableError
from v2_conformance.formats.github import publish
from v2_conformance.formats.outcomes_shown import LOOKS
from v2_conformance.formats.registry import write_formats
from v2_conformance.formats.text.terminal import expectation_lines, gate_lines, summary_lines
from v2_conformance.report.document import Report
from v2_conformance.report.expectations import Expectations, judge_expectations, load_expectations
from v2_conformance.report.verdict.judged import Gate
from v2_conformance.report.verdict.standing import has_no_model, is_decided, standing
from v2_conformance.suite.cases import Case
from v2_conformance.suite.outcomes import Outcome


class Reporting:
    """Report options of a command. Raises UsageError for a wrong file."""

    def __init__(self, options: ReportOptions) -> None:
        self._options = options
        file = options.expectation_file
        self.expected: Expectations = load_expectations(file) if file else NO_EXPECTATIONS

    def show(self, report: Report) -> None:
        """Write the files that people look at, print the summary and tell a CI service."""
        directory = self._options.report_dir
        write_formats(directory, report)
        verdict, *rest = summary_lines(report, directory)
        console().print(verdict, style=LOOKS[standing(report).tone].style, soft_wrap=True)
        print(*rest, sep="\n")
        publish(report, directory, print)

    def exit_code(self, report: Report, cases: Sequence[Case]) -> int:
        """Return the exit code; `cases` are all of the suite that the report could have."""
        gate = Gate(self._options.require, self._options.strict)
        if self._options.expectation_file:
            ids = {case.id: case.requirement for case in cases}
            return print_comparison(report, self.expected, ids, gate)
        code = exit_code_of(report, gate)
        if code in (0, 1):
            print("\n".join(gate_lines(report, gate)))
        return code


def print_comparison(
    report: Report, known: Expectations, ids: Mapping[str, str], gate: Gate
) -> int:
    """Print how a report compares with known failures, and return the exit code that this means.
    `ids` are those of all cases that the report could have, with their requirements."""
    judged = judge_expectations(known, report.cases, ids, today(), gate)
    for line in expectation_lines(known.name, judged, words=standing(report).words):
        print(line)
    return with_expectations(report, gate, as_expected=judged.good)


def exit_code_of(report: Report, gate: Gate) -> int:
    """Return the exit code for the verdict of a report."""
    outcomes = {case.outcome for case in report.cases}
    if Outcome.ERROR in outcomes or not (report.complete or is_decided(report)):
        return UnreachableError.exit_code
    if has_no_model(report) or not outcomes - {Outcome.UNSUPPORTED, Outcome.NOT_RUN}:
        return NothingRanError.exit_code
    return int(not gate.is_open_for(report))


def with_expectations(report: Report, gate: Gate, *, as_expected: bool) -> int:
    """Return the exit code if only what is not `as_expected` counts."""
    code = exit_code_of(report, gate)
    if not report.complete:  # what did not run may be unexpected
        return UnreachableError.exit_code
    judged = code not in (UnreachableError.exit_code, NothingRanError.exit_code)
    return int(not as_expected) if judged else code
