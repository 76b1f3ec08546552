"""The command `badge`: writes the badges of a report."""

from __future__ import annotations

from pathlib import Path

import click

from v2_conformance.cli.command import FILE, FOLDER, command
from v2_conformance.cli.options import REPORT_HELP


@command(
    "badge",
    examples={
        "v2-conformance badge reports/report.json docs": (
            "Write docs/badge.svg and docs/badge.json."
        ),
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
