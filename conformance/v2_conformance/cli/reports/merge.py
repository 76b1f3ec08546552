"""The command `merge`: makes one report, with one verdict, of the reports of all shards."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import cloup

from v2_conformance.cli import exit_codes
from v2_conformance.cli.command import FILE, FOLDER, Command
from v2_conformance.cli.reports.sign import KEY_HELP, signing_key
from v2_conformance.errors import UsageError

_EXIT_CODES = {
    **exit_codes.OF_A_RUN,
    1: "Not conformant; with --strict, also if there are warnings. With --expect: a result is not "
    "as expected.",
    2: "Wrong usage, or reports that are not all shards of one run.",
    3: "The suite itself failed in a shard.",
}


@cloup.command(
    "merge",
    cls=Command,
    examples={
        "v2-conformance merge shard-*/report.json --report-dir reports": (
            "Make one report of the shards that `run --shard` left in these folders."
        )
    },
    exit_codes=_EXIT_CODES,
)
@cloup.argument(
    "reports",
    type=FILE,
    nargs=-1,
    required=True,
    metavar="REPORT...",
    help="The report.json of every shard, packed with gzip or not, in any order.",
)
@cloup.option(
    "--report-dir",
    type=FOLDER,
    default=Path("reports"),
    metavar="DIR",
    help="Write report.json, report.html and the other report files to this folder.",
)
@cloup.option(
    "--expect",
    "expectation_file",
    type=FILE,
    metavar="FILE",
    help="Compare the results with the known failures in this file and exit with 1 only if they "
    "differ.",
)
@cloup.option(
    "--sign",
    "key_file",
    type=FILE,
    metavar="KEY",
    help=f"Sign the report: write report.json.sig beside it. {KEY_HELP}",
)
@cloup.option(
    "--strict",
    is_flag=True,
    help="Exit with 1 on warnings, too; with --expect, on warnings that are not known.",
)
def merge(
    *,
    reports: tuple[Path, ...],
    report_dir: Path,
    expectation_file: Path | None,
    key_file: Path | None,
    strict: bool,
) -> int:
    """Make one report and one verdict of the reports of all shards of a run.

    Judges every shard again from its recorded bytes, and refuses shards that were edited, are
    missing, are there twice or belong to different runs.
    """
    from v2_conformance.certifying.servers import NO_EXPECTATIONS, today
    from v2_conformance.cli.reports.expect import print_comparison
    from v2_conformance.formats.ci.github import publish
    from v2_conformance.formats.registry import file_names, write_formats
    from v2_conformance.formats.text.terminal import print_summary
    from v2_conformance.report.expectations.known import load_expectations
    from v2_conformance.report.files import REPORT, remove_outdated, write_report
    from v2_conformance.report.folder_lock import sole_run
    from v2_conformance.report.signatures.signing import sign_report
    from v2_conformance.suite.library import every_case
    from v2_conformance.verifying import merging

    key = None if key_file is None else signing_key(key_file)
    # Not Path.resolve, which raises for a link to itself.
    if os.path.realpath(report_dir / REPORT) in set(map(os.path.realpath, reports)):
        raise UsageError(f"{report_dir} has one of the shards: name another --report-dir")
    known = load_expectations(expectation_file) if expectation_file else NO_EXPECTATIONS
    with sole_run(report_dir):
        report = merging.merge(reports, every_case(), partial(known.noted, today=today()))
        remove_outdated(report_dir, file_names())
        write_report(report_dir, report)
        if key is not None:
            sign_report(report_dir / REPORT, key)
        write_formats(report_dir, report)
    print_summary(report, report_dir)
    publish(report, report_dir, print)
    if expectation_file:
        return print_comparison(report, known, every_case(), strict=strict)
    return exit_codes.of_report(report, strict=strict)
