"""The command `diff`: prints what changed between two reports."""

from __future__ import annotations

from pathlib import Path

import click

from v2_conformance.cli.command import FILE, command
from v2_conformance.cli.options import REPORT_HELP
from v2_conformance.errors import ReportFormatError, UnreachableError
from v2_conformance.terminal_safe_text import plain


@command(
    "diff",
    examples={
        "v2-conformance diff main/report.json reports/report.json": "Show what a change did.",
        "v2-conformance diff OLD.json NEW.json --markdown --exit-zero": (
            "Write a comment for a pull request."
        ),
    },
    exit_codes={
        0: "Nothing broke, or OLD has an older report format; with --exit-zero, always.",
        1: "A MUST case broke, a new one fails, or the verdict got worse; with --strict, also if a "
        "SHOULD case broke.",
        2: "Wrong usage, or a report that cannot be read.",
        3: "The new report is incomplete, and nothing broke in what it has.",
    },
)
@click.argument("old", type=FILE, help=REPORT_HELP)
@click.argument("new", type=FILE, help="The report to compare with OLD.")
@click.option("--markdown", is_flag=True, help="Print Markdown, for a pull request's comment.")
@click.option("--strict", is_flag=True, help="Also exit with 1 if a SHOULD case broke.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0, whatever broke.")
def diff(old: Path, new: Path, markdown: bool, strict: bool, exit_zero: bool) -> int:
    """Show what changed between two reports.

    Compares them case by case: what is broken, fixed, new, gone or otherwise changed.
    """
    from v2_conformance.formats.text.diff import as_markdown, as_text
    from v2_conformance.report.comparing.diff import diff_reports
    from v2_conformance.report.files import load_report

    newer = load_report(new)
    try:
        found = diff_reports(load_report(old), newer)
    except ReportFormatError as error:
        print(f"nothing to compare with: {plain(str(error))}")
        return 0
    for line in (as_markdown if markdown else as_text)(found):
        print(line)
    if exit_zero:
        return 0
    if found.broken(strict=strict):
        return 1
    return 0 if found.complete else UnreachableError.exit_code
