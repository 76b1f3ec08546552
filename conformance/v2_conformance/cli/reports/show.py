"""The command `show`: prints one case of a report, or writes what sends it again."""

from __future__ import annotations

import os

from v2_conformance.cli.command import command
from v2_conformance.options.reports import ShowOptions


@command(
    "show",
    ShowOptions,
    examples={
        "v2-conformance show reports/report.json 'H6/not-a-number[letters]'": "Show one case.",
        "v2-conformance show reports/report.json H1 --replay out": (
            "Write its request and a script that sends it into the folder out."
        ),
    },
)
def show(options: ShowOptions) -> int:
    """Show one case of a report, with its bytes, or replay it."""
    from rich.console import Console

    from v2_conformance.formats.replay.commands import write_replay
    from v2_conformance.formats.text.case import find, lines
    from v2_conformance.report.files import load_report
    from v2_conformance.terminal_safe_text import WIDTH

    document = load_report(options.report)
    found = find(document, options.case)
    if options.replay is not None:
        print(write_replay(document, found, options.replay))
        return 0
    colors = None if os.environ.get("NO_COLOR") else "auto"
    console = Console(color_system=colors, width=WIDTH, highlight=False)  # type: ignore[arg-type]
    for line in lines(document, found, path=str(options.report), full=options.full):
        console.print(line, soft_wrap=True)
    return 0
