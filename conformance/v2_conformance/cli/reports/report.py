"""The command `report`: makes the report files of a record, or the page of a report again."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from v2_conformance.cli.command import FILE, command
from v2_conformance.cli.options import REPORT_HELP
from v2_conformance.errors import UsageError


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
    "if named. A wrong name is answered with all of them. Repeatable.",
)
def report(path: Path, formats: tuple[str, ...]) -> int:
    """Write the files that are made of a report, also of the record of a run that was killed.

    Writes report.html and the other report files beside REPORT and, if that is a report.jsonl,
    report.json.
    """
    from v2_conformance.formats.registry import named, write_formats
    from v2_conformance.report.files import read_report, write_report

    if path.is_dir():
        raise UsageError(f"{path} is a folder: name the report.json or report.jsonl in it")
    chosen = named(formats)
    file = read_report(path)
    if not file.is_intact:
        print(
            f"v2-conformance: {path} was edited: its digest does not match",
            file=sys.stderr,
        )
    if file.is_record:
        print(write_report(path.parent, file.report))
    for written in write_formats(path.parent, file.report, chosen):
        print(written)
    return 0
