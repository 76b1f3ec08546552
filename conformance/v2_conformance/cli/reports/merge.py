"""The command `merge`: makes one report, with one verdict, of the reports of all shards."""

from __future__ import annotations

import os
from functools import partial

from v2_conformance.cli import exit_codes
from v2_conformance.cli.command import command
from v2_conformance.errors import UsageError
from v2_conformance.options.reports import MergeOptions

_EXIT_CODES = {
    **exit_codes.OF_A_RUN,
    1: f"{exit_codes.OF_A_RUN[1]} With --expect: a result is not as expected.",
    2: "Wrong usage, or reports that are not all shards of one run.",
    3: "The suite itself failed in a shard.",
}


@command(
    "merge",
    MergeOptions,
    examples={
        "v2-conformance merge shard-*/report.json --report-dir reports": (
            "Make one report of the shards that `run --shard` left in these folders."
        )
    },
    exit_codes=_EXIT_CODES,
)
def merge(options: MergeOptions) -> int:
    """Make one report and one verdict of the reports of all shards of a run.

    Judges every shard again from its recorded bytes, and refuses shards that were edited, are
    missing, are there twice or belong to different runs.
    """
    from v2_conformance.certifying.servers import today
    from v2_conformance.cli.reporting import Reporting
    from v2_conformance.formats.registry import file_names
    from v2_conformance.report.files import REPORT, remove_outdated, write_report
    from v2_conformance.report.folder_lock import sole_run
    from v2_conformance.suite.library import every_case
    from v2_conformance.verifying import merging

    # Not Path.resolve, which raises for a link to itself.
    if os.path.realpath(options.report_dir / REPORT) in set(map(os.path.realpath, options.reports)):
        raise UsageError(f"{options.report_dir} has one of the shards: name another --report-dir")
    reporting = Reporting(options)
    with sole_run(options.report_dir):
        noted = partial(reporting.expected.noted, today=today())
        report = merging.merge(options.reports, every_case(), noted)
        remove_outdated(options.report_dir, file_names())
        write_report(options.report_dir, report)
        reporting.show(report)
    return reporting.exit_code(report, every_case())
