"""The command `show`: prints one case of a report, or writes what sends it again."""

from __future__ import annotations

import os
from pathlib import Path

import click

from v2_conformance.cli.command import FILE, FOLDER, command
from v2_conformance.cli.options import REPORT_HELP


@command(
    "show",
    examples={
        "v2-conformance show reports/report.json 'H6/not-a-number[letters]'": "Show one case.",
        "v2-conformance show reports/report.json H1 --replay out": (
            "Write its request and a script that sends it into the folder out."
        ),
    },
)
@click.argument("report", type=FILE, help=REPORT_HELP)
@click.argument(
    "case",
    help="The id of a case, or a pattern or requirement that only one case of the report matches.",
)
@click.option("--full", is_flag=True, help="Show every body in full, however long it is.")
@click.option(
    "--replay",
    metavar="DIR",
    type=FOLDER,
    help="Write the request, and a script that sends it again, into this folder.",
)
def show(report: Path, case: str, full: bool, replay: Path | None) -> int:
    """Show one case of a report, with its bytes, or replay it."""
    from rich.console import Console

    from v2_conformance.formats.replay import write_replay
    from v2_conformance.formats.text.case import find, lines
    from v2_conformance.report.files import load_report
    from v2_conformance.terminal_safe_text import WIDTH

    document = load_report(report)
    found = find(document, case)
    if replay is not None:
        print(write_replay(document, found, replay))
        return 0
    colors = None if os.environ.get("NO_COLOR") else "auto"
    console = Console(color_system=colors, width=WIDTH, highlight=False)  # type: ignore[arg-type]
    for line in lines(document, found, path=str(report), full=full):
        console.print(line, soft_wrap=True)
    return 0
