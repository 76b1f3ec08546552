"""The commands that read a report and write or print what is made of it."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from v2_conformance.cli.command import FILE, FOLDER, command, console
from v2_conformance.cli.options import REPORT_HELP
from v2_conformance.errors import ReportFormatError, UnreachableError, UsageError
from v2_conformance.terminal_safe_text import plain


@command(
    "show",
    examples={
        "v2-conformance show reports/report.json 'H6/not-a-number[letters]'": "Show one case.",
        "v2-conformance show reports/report.json H1 --full": "Show every byte of it.",
    },
)
@click.argument("report", type=FILE, help=REPORT_HELP)
@click.argument(
    "case", help="The id of a case, or a pattern or requirement: then the first that failed."
)
@click.option("--full", is_flag=True, help="Show every body in full, however long it is.")
def show(report: Path, case: str, full: bool) -> int:
    """Show one case of a report, with its bytes."""
    from v2_conformance.formats.text.case import find, lines, others
    from v2_conformance.report.files import load_report

    if Path(case).is_file() and not report.exists():
        raise UsageError(f"the report comes first: v2-conformance show {case} '{report}'")
    document, terminal = load_report(report), console()
    chosen, *rest = find(document, case)
    for line in (*lines(document, chosen, path=str(report), full=full), *others(rest)):
        terminal.print(line, soft_wrap=True)
    return 0


@command(
    "report",
    examples={
        "v2-conformance report reports/report.jsonl": (
            "Turn the record of a killed run into a report."
        ),
        "v2-conformance report reports/report.json --format junit.xml": (
            "Write JUnit XML of a report."
        ),
    },
)
@click.argument("path", metavar="REPORT", type=FILE, help=REPORT_HELP)
@click.option(
    "--format",
    "formats",
    metavar="NAME",
    multiple=True,
    help="Write only the file with this name; junit.xml and summary.md (GitHub's) are written only "
    "if named. An unknown name lists all of them. Repeatable.",
)
def report(path: Path, formats: tuple[str, ...]) -> int:
    """Write the files of a report, also from the record of a killed run.

    Writes report.html and the other report files beside REPORT and, if that is a report.jsonl,
    report.json.
    """
    from v2_conformance.formats.registry import named, write_formats
    from v2_conformance.report.files import read_report, write_report

    chosen = named(formats)
    file = read_report(path)
    if not file.is_intact:
        print(f"v2-conformance: {path} was edited: its digest does not match", file=sys.stderr)
    if file.is_record:
        print(write_report(path.parent, file.report))
    for written in write_formats(path.parent, file.report, chosen):
        print(written)
    return 0


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
    from v2_conformance.report.diff import diff_reports
    from v2_conformance.report.files import load_report

    newer = load_report(new)
    try:
        changes = diff_reports(load_report(old), newer)
    except ReportFormatError as error:
        print(f"nothing to compare with: {plain(str(error))}")
        return 0
    for line in (as_markdown if markdown else as_text)(changes):
        print(line)
    if exit_zero:
        return 0
    if changes.broken(strict=strict):
        return 1
    return 0 if changes.complete else UnreachableError.exit_code


@command(
    "badge",
    examples={
        "v2-conformance badge reports/report.json docs": (
            "Write docs/badge.svg and docs/badge.json."
        )
    },
)
@click.argument("report", type=FILE, help=REPORT_HELP)
@click.argument("directory", metavar="DIR", type=FOLDER, help="Folder to write the badges to.")
def badge(report: Path, directory: Path) -> int:
    """Write badge.svg and badge.json of a report.

    badge.json is for services, such as shields.io, that draw badges from an endpoint.
    """
    from v2_conformance.formats.registry import BADGES, write_formats
    from v2_conformance.report.files import load_report

    for path in write_formats(directory, load_report(report), BADGES):
        print(path)
    return 0


@command(
    "verify",
    examples={"v2-conformance verify report.json": "Check a published report."},
    exit_codes={
        0: "The verdict holds: judged again from the recorded bytes, every result is as reported.",
        1: "The verdict does not hold: the report was edited, or a case or the verdict comes "
        "out differently.",
        2: "The verdict cannot be confirmed here: the report cannot be read, or another version or "
        "catalogue made it, or a body in it is cut or withheld.",
    },
)
@click.argument("report", type=FILE, help=REPORT_HELP)
def verify(report: Path) -> int:
    """Judge a report again from its recorded bytes, without a server.

    Makes each request again and compares it, judges each response again, and derives the plan, the
    requirements and the verdict again. Prints what differs.
    """
    from v2_conformance.formats.text.verification import verification_lines
    from v2_conformance.suite.library import every_case
    from v2_conformance.verifying import verification

    result = verification.verify(report, every_case())
    for line in verification_lines(result):
        print(line)
    return result.exit_code
