"""The command `diff`."""

from __future__ import annotations

import argparse

from v2_conformance.errors import UnreachableError
from v2_conformance.formats.diff_text import as_markdown, as_text
from v2_conformance.report.diff import compare
from v2_conformance.report.recorder import load_report


def diff_command(options: argparse.Namespace) -> int:
    """Print what changed. 1 where something broke, 3 where the new report is incomplete, else 0."""
    difference = compare(load_report(options.old), load_report(options.new))
    for line in (as_markdown if options.markdown else as_text)(difference):
        print(line)
    if options.exit_zero:
        return 0
    if difference.broken(strict=options.strict):
        return 1
    return 0 if difference.complete else UnreachableError.exit_code
