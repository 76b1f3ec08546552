"""The options that say what becomes of the report of a run, of servers and of clients alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloup

from v2_conformance.cli.command import FILE, FOLDER
from v2_conformance.cli.reports.sign import KEY_HELP


def report_options() -> Callable[[Any], Any]:
    """A decorator; made anew for each command, for a group remembers the options of its command."""
    return cloup.option_group(
        "Reports",
        cloup.option(
            "--report-dir",
            type=FOLDER,
            default=Path("reports"),
            metavar="DIR",
            help="Write report.json, report.html and the other report files to this folder.",
        ),
        cloup.option(
            "--expect",
            "expectation_file",
            type=FILE,
            metavar="FILE",
            help="Compare the results with the known failures in this file (`v2-conformance "
            "expect` writes it) and exit with 1 only if they differ.",
        ),
        cloup.option(
            "--sign",
            "key_file",
            type=FILE,
            metavar="KEY",
            help=f"Sign the report: write report.json.sig beside it. {KEY_HELP}",
        ),
        cloup.option(
            "--strict",
            is_flag=True,
            help="Exit with 1 on warnings, too; with --expect, on warnings that are not known.",
        ),
    )
