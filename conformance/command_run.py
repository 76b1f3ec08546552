"""The command `run`: engine, record, progress and summary put together."""

from __future__ import annotations

import argparse
import fnmatch
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from conformance.discovery import discover
from conformance.errors import NothingRanError, UsageError
from conformance.judge import ERROR, UNSUPPORTED, check_case
from conformance.plan import Case, load_cases
from conformance.results import PAGE, REPORT, Record, load_report, write_atomically
from conformance.runner import Engine, Recovery, run
from conformance.seal import is_intact
from conformance.target import Target, make_target
from conformance.terminal import Reporter, print_summary


def run_command(options: argparse.Namespace) -> int:
    """Run the suite as the options say, write the reports, print the summary; the exit code."""
    if options.workers < 1:
        raise UsageError("-n takes a number of workers from 1")
    cases = load_cases()
    for case in cases:
        check_case(case)
    chosen = select(cases, options.case)
    with ExitStack() as stack:
        target = _target(options, stack)
        check_claims(target, cases)
        server = discover(target)
        engine = Engine(target, server, recovery=Recovery(options.restart_command, options.wait))
        record = Record(options.report_dir, target, server, cases)
        reporter = stack.enter_context(Reporter(len(chosen), target.public_url))
        complete = False
        try:
            for event in run(engine, chosen, options.workers):
                record.add(event.result)
                reporter.show(event)
            complete = True
        finally:
            report = record.finish(complete=complete)
    write_page(options.report_dir, report)
    print_summary(report, options.report_dir)
    return exit_code(report, strict=options.strict)


def check_claims(target: Target, cases: Sequence[Case]) -> None:
    """UsageError for a claimed profile that no case tests: no verdict could be about it."""
    tested = {"binary", *(case.profile for case in cases)}
    for profile in target.profiles:
        if profile not in tested:
            raise UsageError(f"this version has no cases for the profile {profile}")


def select(cases: Sequence[Case], patterns: Sequence[str]) -> list[Case]:
    """The cases whose id or requirement matches. Raises NothingRanError for an idle pattern."""
    if not patterns:
        return list(cases)
    for pattern in patterns:
        if not any(_matches(case, pattern) for case in cases):
            raise NothingRanError(
                f"--case {pattern!r} matches no case; `v2-conformance list cases` shows them"
            )
    return [case for case in cases if any(_matches(case, pattern) for pattern in patterns)]


def _matches(case: Case, pattern: str) -> bool:
    # Brackets are part of an id; in a pattern they stand for themselves.
    return case.requirement == pattern or fnmatch.fnmatchcase(case.id, pattern.replace("[", "[[]"))


def _target(options: argparse.Namespace, stack: ExitStack) -> Target:
    url = options.url
    if url is None and options.target is None:
        from conformance.reference.server import ReferenceServer

        url = stack.enter_context(ReferenceServer(options.fault)).url
    elif options.fault:
        raise UsageError("--fault is for the embedded server: leave the URL out, or use `serve`")
    return make_target(
        url,
        file=options.target,
        profiles=tuple(options.profile),
        headers=tuple(options.header),
        timeout=options.timeout,
        insecure=options.insecure,
    )


def exit_code(report: Mapping[str, Any], *, strict: bool) -> int:
    """The exit code that a report's verdict means."""
    outcomes = {case["outcome"] for case in report["cases"]}
    if ERROR in outcomes or not report["complete"]:
        return 3
    if not outcomes - {UNSUPPORTED, "not_run"}:
        return 4
    verdict = report["verdict"]
    if not verdict["conformant"]:
        return 1
    return 1 if strict and (verdict["warnings"] or not verdict["robust"]) else 0


def write_page(directory: Path, report: Mapping[str, Any]) -> Path:
    """Write report.html into `directory`."""
    from conformance.report.html import render

    path = directory / PAGE
    write_atomically(path, render(report))
    return path


def write_reports(record: Path) -> list[Path]:
    """Make report.json (of a record) and report.html beside `record`; the paths written."""
    import json

    if record.is_dir():
        raise UsageError(f"{record} is a folder; name the report.json or report.jsonl in it")
    report = load_report(record)
    if not is_intact(report):
        print(f"v2-conformance: {record} was edited: its digest does not match", file=sys.stderr)
    directory = record.parent
    written = []
    if record.suffix == ".jsonl":
        written.append(directory / REPORT)
        write_atomically(written[0], json.dumps(report) + "\n")
    return [*written, write_page(directory, report)]
