"""The command `replay`: sends what failed in a report again."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import cloup

from v2_conformance.cli import known_values
from v2_conformance.cli.access import ACCESS
from v2_conformance.cli.command import FILE, REPORT_HELP, Command, seconds, whole_number
from v2_conformance.cli.start import START, server_under_test
from v2_conformance.errors import NothingRanError


@cloup.command(
    "replay",
    cls=Command,
    examples={
        "v2-conformance replay reports/report.json": "Send what failed again to the same server.",
        "v2-conformance replay reports/report.json http://localhost:8001 --case H6": (
            "Send only what failed of H6, and to another server."
        ),
        "v2-conformance replay reports/report.json --bearer-env TOKEN": (
            "Give the token, which the report does not show."
        ),
    },
    exit_codes={
        0: "Everything that failed is fixed, but for MAY.",
        1: "Some case still fails, other than at MAY.",
        2: "Wrong usage, a report that cannot be read, or a secret of it that is not given.",
        3: "The server cannot be reached, or some case could not be tried.",
        4: "Nothing failed in the report.",
    },
)
@cloup.argument("report", type=FILE, help=REPORT_HELP)
@cloup.argument(
    "url", required=False, help="Base URL of the server.  [default: that in the report]"
)
@cloup.option(
    "--case",
    "patterns",
    multiple=True,
    metavar="PATTERN",
    shell_complete=known_values.cases_of_report,
    help="Send only what failed of this requirement, such as H6, or what has an id that matches "
    "this pattern, such as 'H6/*'. Repeatable.",
)
@cloup.option(
    "--target",
    "target_file",
    type=FILE,
    metavar="FILE",
    help="Read the URL, credentials and model names from this target file; the report has the "
    "claims.",
)
@cloup.option(
    "--header",
    "headers",
    multiple=True,
    metavar="'NAME: VALUE'",
    help="Send this header field with every request. Its value is a secret. Repeatable.",
)
@cloup.option("--timeout", type=seconds, metavar="SECONDS", help="Time limit for one exchange.")
@cloup.option(
    "--wait-ready",
    type=seconds,
    metavar="SECONDS",
    help="Time limit for the server to become ready before the first case.",
)
@START
@cloup.option("--insecure", is_flag=True, help="Do not verify TLS certificates.")
@cloup.option(
    "-n",
    "--workers",
    type=whole_number(least=1),
    default=1,
    metavar="N",
    help="Number of cases to run at the same time.",
)
@cloup.option(
    "--restart-command",
    metavar="COMMAND",
    help="Run this shell command to restart the server after a case has killed it.",
)
@cloup.option(
    "--wait",
    type=seconds,
    default=0,
    metavar="SECONDS",
    help="Time limit for a killed server to recover or restart.",
)
@ACCESS
def replay(
    *,
    report: Path,
    url: str | None,
    patterns: tuple[str, ...],
    target_file: Path | None,
    headers: tuple[str, ...],
    timeout: float | None,
    wait_ready: float | None,
    start_command: str | None,
    insecure: bool,
    workers: int,
    restart_command: str | None,
    wait: float,
    **access: Any,
) -> int:
    """Send what failed in a report again, and say whether it is fixed.

    Sends only the cases that failed, judges the answers anew and prints a line for each: fixed, or
    still failing and why. Writes no report: only a whole run has a verdict.
    """
    from v2_conformance.certifying.reported_target import reported_target, shown_url
    from v2_conformance.certifying.resending import Now, resend
    from v2_conformance.cli.masked_errors import masked_errors
    from v2_conformance.formats.text.secrets import warnings_about_secrets
    from v2_conformance.report.files import load_report
    from v2_conformance.runs.deaths import Recovery
    from v2_conformance.runs.targets.access import Access
    from v2_conformance.runs.targets.file import load_target
    from v2_conformance.runs.targets.make import make_target
    from v2_conformance.suite.library import every_case
    from v2_conformance.terminal_safe_text import wrapped
    from v2_conformance.verifying.failures import failures

    document = load_report(report)
    failed = failures(document, every_case(), patterns)
    if not failed:
        chosen = " of these cases" if patterns else ""
        raise NothingRanError(f"nothing{chosen} failed in {report}: there is nothing to send again")
    if url is None and not (target_file is not None and load_target(target_file).url):
        url = shown_url(document)
    given = make_target(
        url,
        file=target_file,
        headers=headers,
        timeout=timeout,
        insecure=insecure,
        access=Access(**access),
    )
    with ExitStack() as stack:
        stack.enter_context(masked_errors(given.mask))
        target = reported_target(document, given)
        for line in warnings_about_secrets(target):
            print(line, file=sys.stderr)
        print(
            f"sending {len(failed)} of {len(document.cases)} cases to {target.public_url}",
            file=sys.stderr,
        )
        directory = report.parent
        stack.enter_context(server_under_test(start_command, target, directory, wait_ready))
        counts: Counter[Now] = Counter()
        wrong = False
        for again in resend(
            target,
            failed,
            recovery=Recovery(restart_command, wait),
            ready_within_s=wait_ready,
            workers=workers,
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
