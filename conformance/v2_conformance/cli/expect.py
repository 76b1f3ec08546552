"""The command `expect`: compares a report with known failures, or writes the file of these."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from v2_conformance.cli.command import FILE, argument, command, option, takes
from v2_conformance.cli.options import REPORT_HELP, GateOptions

if TYPE_CHECKING:
    from v2_conformance.report.document import Report

_STANDARD_OUTPUT = Path("-")


@dataclass(frozen=True, kw_only=True)
class ExpectOptions(GateOptions):
    """`expect`."""

    report: Path = argument(type=FILE, help=REPORT_HELP)
    file: Path = argument(
        type=FILE,
        default=Path("v2-expect.yaml"),
        help="File of known failures.  [default: v2-expect.yaml]",
    )
    write: bool = option(
        "--write", "Write FILE from the report, or update FILE. If FILE is '-', print it."
    )


@command(
    "expect",
    examples={
        "v2-conformance expect --write reports/report.json": (
            "Write its failures to v2-expect.yaml."
        ),
        "v2-conformance expect reports/report.json": "Compare it with v2-expect.yaml.",
    },
    exit_codes={
        0: "Every result is as expected; with --write, the file is written.",
        1: "A result is not as expected, or an expectation no longer holds.",
        2: "Wrong usage, or a file that cannot be read.",
        3: "The report is incomplete, or the suite itself failed.",
        4: "No case ran.",
    },
)
@takes(ExpectOptions)
def expect(options: ExpectOptions) -> int:
    """Compare a report with known failures, or write them to a file.

    docs/ci.md describes the file and how to use it.
    """
    from v2_conformance.cli.reporting import print_comparison
    from v2_conformance.report.expectations import load_expectations
    from v2_conformance.report.files import load_report
    from v2_conformance.report.verdict.judged import Gate

    document = load_report(options.report)
    if options.write:
        _write(document, options.file)
        return 0
    known = load_expectations(options.file)
    gate = Gate(options.require, options.strict)
    return print_comparison(document, known, _known(document), gate)


def _known(report: Report) -> dict[str, str]:
    """Return the requirement of each case that such a run could have."""
    from v2_conformance.suite.library import every_case

    cases = every_case() if report.relations is None else report.cases
    return {case.id: case.requirement for case in cases}


def _write(report: Report, file: Path) -> None:
    from v2_conformance.report.expectation_updates import file_text, updated
    from v2_conformance.report.expectations import Expectations, load_expectations
    from v2_conformance.report.files import write_atomically
    from v2_conformance.terminal_safe_text import plain

    printed = file == _STANDARD_OUTPUT
    old = load_expectations(file) if not printed and file.exists() else Expectations(str(file))
    update = updated(old, report.cases, _known(report))
    server = report.target.server
    before = file.read_text(encoding="utf-8") if not printed and file.exists() else ""
    text = file_text(f"{server.name} {server.version}", update, before, report.seed)
    if printed:
        sys.stdout.write(text)
        return
    write_atomically(file, text)
    print(
        f"{file}: {len(update.kept)} entries kept, {len(update.added)} added, "
        f"{len(update.dropped)} dropped"
    )
    for entry, why in update.dropped:
        print(plain(f"dropped {entry.what} ({entry.reason}): {why}"))
