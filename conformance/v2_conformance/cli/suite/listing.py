"""The command `list`: prints what the suite has, one item a line."""

from __future__ import annotations

import sys

import click

from v2_conformance.cli.command import command
from v2_conformance.cli.suite.listings import LISTINGS
from v2_conformance.cli.usage import unknown
from v2_conformance.terminal_safe_text import for_people


@command(
    "list",
    examples={"v2-conformance list faults": "List the names that --fault takes."},
)
@click.argument(
    "what",
    help="One of requirements, cases, scenarios (for clients), faults and variants (of the "
    "embedded server), client-faults, client-variants (of the plain client), variations (of "
    "requests), relations (which `run --model` tests) and models (that a server must have).",
)
def listing(what: str) -> int:
    """List what the suite has: requirements, cases, scenarios, faults and more."""
    if what not in LISTINGS:
        raise unknown("listing", what, LISTINGS)
    fitted = sys.stdout.isatty()  # a program that reads this wants one item a line
    for line in LISTINGS[what]():
        print(for_people(line, "      ") if fitted else line)
    return 0
