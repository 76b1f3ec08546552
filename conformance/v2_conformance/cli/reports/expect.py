"""The command `expect`: compares a report with known failures, or writes the file of these."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import cloup

from v2_conformance.cli import exit_codes
from v2_conformance.cli.command import FILE, REPORT_HELP, Command

if TYPE_CHECKING:
    from v2_conformance.report.document import Report
    from v2_conformance.report.expectations.known import Expectations
    from v2_conformance.suite.cases import Case

_DEFAULT = Path("v2-expect.yaml")
_STANDARD_OUTPUT = Path("-")


@cloup.command(
    "expect",
    cls=Command,
    examples={
        "v2-conformance expect --write reports/report.json": f"Write its failures to {_DEFAULT}.",
        "v2-conformance expect reports/report.json": f"Compare it with {_DEFAULT}.",
    },
    exit_codes={
        0: "Every result is as expected; with --write, the file is written.",
        1: "Some result is not as expected, or an expectation no longer holds.",
        2: "Wrong usage, or a file that cannot be read.",
        3: "The report is incomplete, or the suite itself failed.",
        4: "No case ran.",
    },
)
@cloup.argument("report", type=FILE, help=REPORT_HELP)
@cloup.argument(
    "file",
    type=FILE,
    default=_DEFAULT,
    help=f"File of known failures.  [default: {_DEFAULT}]",
)
@cloup.option(
    "--write",
    is_flag=True,
    help="Write FILE from the report, or bring it up to date. If FILE is '-', print it.",
)
@cloup.option("--strict", is_flag=True, help="Exit with 1 on warnings that are not known, too.")
def expect(*, report: Path, file: Path, write: bool, strict: bool) -> int:
    """Compare a report with known failures, or write them to a file.

    docs/ci.md describes the file and how to use it.
    """
    from v2_conformance.report.expectations.known import load_expectations
    from v2_conformance.report.files import load_report
    from v2_conformance.suite.library import every_case

    document = load_report(report)
    if write:
        _write(document, file)
        return 0
    known = load_expectations(file)
    return print_comparison(document, known, every_case(), strict=strict)


def print_comparison(
    report: Report, known: Expectations, cases: Sequence[Case], *, strict: bool
) -> int:
    """Print how a report compares with known failures, and return the exit code that this means.

    `cases` are all cases of the suite that the report could have.
    """
    from v2_conformance.certifying.servers import today
    from v2_conformance.formats.text.terminal import expectation_lines
    from v2_conformance.report.expectations.known import judge_expectations
    from v2_conformance.report.verdict.standing import standing

    ids = {case.id: case.requirement for case in cases}
    judged = judge_expectations(known, report.cases, ids, today(), strict=strict)
    for line in expectation_lines(known.name, judged, words=standing(report).words):
        print(line)
    return exit_codes.beside_expectations(report, as_expected=judged.good, strict=strict)


def _write(report: Report, file: Path) -> None:
    from v2_conformance.report.expectations.known import Expectations, load_expectations
    from v2_conformance.report.expectations.updates import file_text, updated
    from v2_conformance.report.files import write_atomically
    from v2_conformance.suite.library import every_case
    from v2_conformance.terminal_safe_text import plain

    printed = file == _STANDARD_OUTPUT
    old = load_expectations(file) if not printed and file.exists() else Expectations(str(file))
    known = {case.id: case.requirement for case in every_case()}
    update = updated(old, report.cases, known)
    server = report.target.server
    before = file.read_text(encoding="utf-8") if old.entries else ""
    text = file_text(f"{server.name} {server.version}", update, before)
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
