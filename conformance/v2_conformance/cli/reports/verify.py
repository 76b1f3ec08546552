"""The command `verify`: judges a report again from its own bytes."""

from __future__ import annotations

from pathlib import Path

import click

from v2_conformance.cli.command import FILE, command
from v2_conformance.cli.options import REPORT_HELP
from v2_conformance.errors import UsageError


@command(
    "verify",
    examples={
        "v2-conformance verify report.json": "Check a published report.",
    },
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

    if report.is_dir():
        raise UsageError(f"{report} is a folder: name the report.json in it")
    found = verification.verify(report, every_case())
    for line in verification_lines(found):
        print(line)
    return found.exit_code
