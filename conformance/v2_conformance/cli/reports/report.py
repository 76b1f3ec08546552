"""The command `report`: makes the report files of a record, or the page of a report again."""

from __future__ import annotations

import sys

from v2_conformance.cli.command import command
from v2_conformance.errors import UsageError
from v2_conformance.options.reports import RewriteOptions


@command(
    "report",
    RewriteOptions,
    examples={
        "v2-conformance report reports/report.jsonl": (
            "Turn the record of a killed run into a report."
        ),
        "v2-conformance report reports/report.json --format junit.xml": (
            "Write JUnit XML of a report."
        ),
    },
)
def report(options: RewriteOptions) -> int:
    """Write the files that are made of a report, also of the record of a run that was killed.

    Writes report.html and the other report files beside REPORT and, if that is a report.jsonl,
    report.json.
    """
    from v2_conformance.formats.registry import named, write_formats
    from v2_conformance.report.files import read_report, write_report

    if options.report.is_dir():
        raise UsageError(
            f"{options.report} is a folder: name the report.json or report.jsonl in it"
        )
    formats = named(options.formats)
    file = read_report(options.report)
    if not file.is_intact:
        print(
            f"v2-conformance: {options.report} was edited: its digest does not match",
            file=sys.stderr,
        )
    if file.is_record:
        print(write_report(options.report.parent, file.report))
    for path in write_formats(options.report.parent, file.report, formats):
        print(path)
    return 0
