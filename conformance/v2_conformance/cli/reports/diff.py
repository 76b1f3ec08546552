"""The command `diff`: prints what changed between two reports."""

from __future__ import annotations

from v2_conformance.cli.command import command
from v2_conformance.errors import ReportFormatError, UnreachableError
from v2_conformance.options.reports import DiffOptions
from v2_conformance.terminal_safe_text import plain


@command(
    "diff",
    DiffOptions,
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
def diff(options: DiffOptions) -> int:
    """Show what changed between two reports.

    Compares them case by case: what is broken, fixed, new, gone or otherwise changed.
    """
    from v2_conformance.formats.text.diff import as_markdown, as_text
    from v2_conformance.report.comparing.diff import diff_reports
    from v2_conformance.report.files import load_report

    new = load_report(options.new)
    try:
        found = diff_reports(load_report(options.old), new)
    except ReportFormatError as error:
        print(f"nothing to compare with: {plain(str(error))}")
        return 0
    for line in (as_markdown if options.markdown else as_text)(found):
        print(line)
    if options.exit_zero:
        return 0
    if found.broken(strict=options.strict):
        return 1
    return 0 if found.complete else UnreachableError.exit_code
