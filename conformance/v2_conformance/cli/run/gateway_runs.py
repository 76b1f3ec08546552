"""The second run of `run --through`: the same cases through a gateway, and what it does to them."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from v2_conformance.certifying.progress import Reporter
from v2_conformance.certifying.servers import Plan, start
from v2_conformance.cli.ending import masked_errors
from v2_conformance.cli.reporting import Reporting
from v2_conformance.errors import UnreachableError
from v2_conformance.formats.gateway.page import render
from v2_conformance.formats.gateway.text import gateway_lines
from v2_conformance.formats.registry import (
    OF_GATEWAYS,
    PAGE,
    Check,
    file_names,
    make_folder,
    unchecked,
    write_formats,
)
from v2_conformance.options.runs import RunOptions
from v2_conformance.report.comparing.gateway import (
    GatewayReport,
    Transparency,
    compare_sides,
    gateway_json,
)
from v2_conformance.report.document import Report
from v2_conformance.report.files import write_atomically
from v2_conformance.report.folder_lock import sole_run
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.scheduling.deaths import Recovery
from v2_conformance.runs.targets.readiness import wait_until_ready
from v2_conformance.runs.targets.target import Target, checked_target

FOLDER = "gateway"
"""The folder, in that of the direct run's report, for the report of the run through the gateway."""


@dataclass(frozen=True)
class GatewayRun:
    """A run through a gateway that is to follow the direct one."""

    options: RunOptions
    target: Target
    plan: Plan
    recovery: Recovery
    reporting: Reporting

    def exit_code(self, direct: Report, check: Check) -> int:
        """Run the cases through the gateway, write its reports, print what it does, and return the
        exit code to use if the direct run's is 0.

        The verdict is the direct run's: only with --strict must the gateway be transparent.
        `check` is that of the direct run: no file may have its secrets either.
        """
        options, directory = self.options, self.options.report_dir
        folder = directory / FOLDER
        with ExitStack() as stack:
            stack.enter_context(masked_errors(self.target.mask))
            stack.enter_context(sole_run(folder))
            started = start(
                self.target,
                self.plan,
                folder,
                recovery=self.recovery,
                outdated=file_names(),
                ready_within_s=options.wait_ready,
                workers=options.workers,
            )
            planned = len(self.plan.chosen)
            count = options.workers or started.usual_workers
            limit = self.target.max_time_s
            with Reporter(planned, self.target.public_url, limit, count) as reporter:
                report = started.finish(workers=count, on_case=reporter.show)
            mask = started.record.mask
            write_formats(folder, report, check=mask.check)

            def check_both(content: str | bytes, what: str) -> None:
                check(content, what)
                mask.check(content, what)

            found = compare_sides(direct, report)
            lines = [*gateway_lines(found)]
            check_both("\n".join(lines), "the summary")
            write_gateway_files(
                directory,
                found,
                direct=PAGE.file_name,
                through=f"{FOLDER}/{PAGE.file_name}",
                check=check_both,
            )
        print("\n".join(lines))
        print(f"report: {directory / OF_GATEWAYS[1]}")
        if not report.complete:
            return UnreachableError.exit_code
        return int(options.strict and found.transparency is not Transparency.TRANSPARENT)


def gateway_target(target: Target, url: str, ready_within_s: float | None) -> Target:
    """Return `target` behind the gateway at `url`, which has answered.

    Raises UsageError and UnreachableError: better now than after the direct run.
    """
    behind = checked_target(replace(target, url=url))
    with masked_errors(behind.mask):
        wait_until_ready(behind, ready_within_s)
        discover(behind)
    return behind


def write_gateway_files(
    directory: Path,
    found: GatewayReport,
    *,
    direct: str = "",
    through: str = "",
    check: Check = unchecked,
) -> None:
    """Write gateway.json and gateway.html into a folder, which is made if it is not there, with
    links to the pages of both runs. Raises UsageError.
    """
    make_folder(directory)
    page = render(found, direct=direct, through=through)
    contents: tuple[str | bytes, ...] = (gateway_json(found), page)
    for name, content in zip(OF_GATEWAYS, contents, strict=True):
        check(content, name)
        write_atomically(directory / name, content)
