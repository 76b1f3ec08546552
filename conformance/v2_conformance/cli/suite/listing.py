"""The command `list`: prints what the suite has, one item a line."""

from __future__ import annotations

import sys

from v2_conformance.cli.command import command
from v2_conformance.cli.suite.listings import LISTINGS
from v2_conformance.cli.usage import unknown
from v2_conformance.options.others import ListOptions
from v2_conformance.terminal_safe_text import for_people


@command(
    "list",
    ListOptions,
    examples={"v2-conformance list faults": "List the names that --fault takes."},
)
def listing(options: ListOptions) -> int:
    """List what the suite has: requirements, cases, scenarios, faults and more."""
    if options.what not in LISTINGS:
        raise unknown("listing", options.what, LISTINGS)
    fitted = sys.stdout.isatty()  # a program that reads this wants one item a line
    for line in LISTINGS[options.what]():
        print(for_people(line, "      ") if fitted else line)
    return 0
