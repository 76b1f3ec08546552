"""The command `replay`: sends what failed in a report again."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from v2_conformance.cli.command import FILE, argument, command, masked_errors, option, takes
from v2_conformance.cli.options import REPORT_HELP, SendingOptions, server_under_test, target_of
from v2_conformance.errors import NothingRanError, UsageError


@dataclass(frozen=True, kw_only=True)
class ReplayOptions(SendingOptions):
    """`replay`."""

    report: Path = argument(type=FILE, help=REPORT_HELP)
    url: str | None = argument(
        default=None, help="Base URL of the server.  [default: that in the report]"
    )
    patterns: tuple[str, ...] = option(
        "--case PATTERN...",
        "Send only the failed cases of this requirement, such as H6, or those whose id "
        "matches this pattern, such as 'H6/*'. Repeatable.",
    )
    target_file: Path | None = option(
        "--target FILE",
        "Read the URL, credentials and model names from this target file; the report has the "
        "claims.",
    )
    workers: int = option("-n, --workers N", "Number of cases to run at the same time.", default=1)


@command(
    "replay",
    examples={
        "v2-conformance replay reports/report.json": "Send what failed again to the same server.",
        "v2-conformance replay reports/report.json http://localhost:8001 --case H6": (
            "Send only the failed cases of H6, to another server."
        ),
        "v2-conformance replay reports/report.json --bearer-env TOKEN": (
            "Give the token, which the report does not show."
        ),
    },
    exit_codes={
        0: "Everything that failed is fixed, except MAY cases.",
        1: "Some case other than a MAY still fails.",
        2: "Wrong usage, a report that cannot be read, or a secret of it that was not supplied.",
        3: "The server cannot be reached, or some case could not be tried.",
        4: "No case failed in the report, or none that --case matches.",
    },
)
@takes(ReplayOptions)
def replay(options: ReplayOptions) -> int:
    """Send the failed cases of a report again, and say which are fixed.

    Sends only the cases that failed, judges the new answers and prints a line for each: fixed, or
    still failing and why. Writes no report: only a whole run has a verdict.
    """
    from v2_conformance.certifying.progress import warnings_about_secrets
    from v2_conformance.certifying.resending import Now, failures, reported_target, resend
    from v2_conformance.redaction import MASKED
    from v2_conformance.report.files import load_report
    from v2_conformance.runs.scheduling.deaths import Recovery
    from v2_conformance.runs.targets.making import load_target
    from v2_conformance.suite.library import every_case
    from v2_conformance.terminal_safe_text import wrapped

    document = load_report(options.report)
    failed = failures(document, every_case(), options.patterns)
    if not failed:
        chosen = " of these cases" if options.patterns else ""
        raise NothingRanError(
            f"nothing{chosen} failed in {options.report}: there is nothing to send again"
        )
    file = options.target_file
    if options.url is None and not (file is not None and load_target(file).url):
        if MASKED in document.target.url:
            raise UsageError("the report hides a part of its URL: give the URL")
        options = replace(options, url=document.target.url)
    given = target_of(options)
    with ExitStack() as stack:
        stack.enter_context(masked_errors(given.mask))
        target = reported_target(document, given)
        for line in warnings_about_secrets(target):
            print(line, file=sys.stderr)
        print(
            f"sending {len(failed)} of {len(document.cases)} cases to {target.public_url}",
            file=sys.stderr,
        )
        stack.enter_context(server_under_test(options, target, options.report.parent))
        counts: Counter[Now] = Counter()
        wrong = False
        for again in resend(
            target,
            failed,
            of=document,
            recovery=Recovery(options.restart_command, options.wait_ready or 0.0),
            ready_within_s=options.wait_ready,
            workers=options.workers,
        ):
            counts[again.now] += 1
            wrong = wrong or again.counts
            words = f": {again.words}" if again.words else ""
            line = f"{again.now.value:<14} {again.case_id}{words}"
            for part in wrapped(target.mask.text(line), " " * 15):
                print(part, flush=True)
    print(", ".join(f"{counts[now]} {now.value}" for now in Now if counts[now]))
    if not document.complete:
        print("the run of this report was incomplete: what it did not reach was not sent")
    if wrong:
        return 1
    return 3 if counts[Now.UNKNOWN] else 0
