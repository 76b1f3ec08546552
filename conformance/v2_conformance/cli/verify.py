"""The command `verify`: judges a report again from its own bytes."""

from __future__ import annotations

from pathlib import Path

import cloup

from v2_conformance.cli.command import FILE, REPORT_HELP, Command
from v2_conformance.errors import UsageError


@cloup.command(
    "verify",
    cls=Command,
    examples={"v2-conformance verify report.json": "Check a report that somebody published."},
    exit_codes={
        0: "The verdict holds: judged again from the recorded bytes, every result is as reported.",
        1: "The verdict does not hold: the report was edited, or a case or the verdict comes out "
        "differently.",
        2: "The verdict cannot be confirmed here: the report cannot be read, or it has cases of "
        "another version or catalogue.",
    },
)
@cloup.argument("report", type=FILE, help=REPORT_HELP)
def verify(*, report: Path) -> int:
    """Judge a report again from its recorded bytes, without a server.

    Prints every case that comes out differently, and what had to be taken on trust because the
    bytes cannot show it.
    """
    from v2_conformance.formats.verification_text import verification_lines
    from v2_conformance.suite.library import every_case
    from v2_conformance.verifying import verification

    if report.is_dir():
        raise UsageError(f"{report} is a folder: name the report.json in it")
    found = verification.verify(report, every_case())
    for line in verification_lines(found):
        print(line)
    return found.exit_code
