"""The command `run`: engine, record, progress and summary put together."""

from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import date, datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

from v2_conformance.engine.discovery import discover
from v2_conformance.engine.engine import Engine, Recovery, run
from v2_conformance.engine.fuzzing import (
    CertifyingEngine,
    explore,
    roles,
    run_alone,
    write_counterexample,
)
from v2_conformance.engine.target import Target, check_claims, make_target
from v2_conformance.errors import NothingRanError, UnreachableError, UsageError
from v2_conformance.formats.page_files import write_page
from v2_conformance.formats.terminal import Reporter, expectation_lines, print_summary
from v2_conformance.judging.judge import ERROR, FAIL, PASS, UNSUPPORTED
from v2_conformance.report.digest import is_intact
from v2_conformance.report.expectations import Expectations, judge_expectations, load_expectations
from v2_conformance.report.recorder import Record, load_report, write_report
from v2_conformance.suite.cases import Case, load_cases
from v2_conformance.suite.library import suite_cases
from v2_conformance.terminal_safe_text import matches

# The exit codes of a run that tells nothing about the server.
_NOT_JUDGED = (UnreachableError.exit_code, NothingRanError.exit_code)


def run_command(options: argparse.Namespace) -> int:
    """Run the suite as the options say, write the reports, print the summary; the exit code."""
    if options.workers < 1:
        raise UsageError("-n takes a number of workers from 1")
    if options.fuzz is not None:
        return _fuzz(options)
    if options.seed is not None:
        raise UsageError("--seed is for --fuzz: what a run generates is always the same")
    own = options.cases is None
    cases = suite_cases(large=options.large) if own else _given_cases(options.cases)
    chosen = select(cases, options.case)
    known = load_expectations(options.expect) if options.expect else Expectations("")
    today = datetime.now(timezone.utc).date()
    with ExitStack() as stack:
        target = _target(options, stack)
        if own:
            check_claims(target, cases)
        server = discover(target)
        recovery = Recovery(options.restart_command, options.wait)
        engine = CertifyingEngine(target, server, recovery=recovery, directory=options.report_dir)
        noted = partial(known.noted, today=today)
        record = Record(options.report_dir, target, server, cases, own=own, noted=noted)
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
    from v2_conformance.formats.github import publish

    publish(report, options.report_dir, print)
    if not options.expect:
        return exit_code(report, strict=options.strict)
    return beside_expectations(report, known, cases, today, strict=options.strict)


def beside_expectations(
    report: Mapping[str, Any],
    known: Expectations,
    cases: Sequence[Case],
    today: date,
    *,
    strict: bool,
) -> int:
    """Print how a report compares with what is expected of it; the exit code that it means."""
    ids = {case.id: case.requirement for case in cases}
    judged = judge_expectations(known, report["cases"], ids, today, strict=strict)
    conformant = report["verdict"]["conformant"]
    for line in expectation_lines(known.name, judged, conformant=conformant):
        print(line)
    code = exit_code(report, strict=strict)
    return code if code in _NOT_JUDGED else int(not judged.good)


def _given_cases(path: Path) -> list[Case]:
    return load_cases(path, large=True)


_FUZZ_SHRINK_S = 60.0


def _fuzz(options: argparse.Namespace) -> int:
    """A campaign of generated requests; 1 where one of them failed, and its case is written."""
    if options.fuzz < 1:
        raise UsageError("--fuzz takes a number of requests from 1")
    if options.case or options.cases:
        raise UsageError("--fuzz generates its requests: leave --case and --cases out")
    seed = secrets.randbelow(2**32) if options.seed is None else options.seed
    with ExitStack() as stack:
        target = _target(options, stack)
        server = discover(target)
        engine = Engine(target, server, recovery=Recovery(options.restart_command, options.wait))
        stack.callback(engine.close)
        if not roles(engine):
            raise NothingRanError("the server has no model that generated requests can go to")
        print(
            f"fuzzing {target.public_url} with {options.fuzz} requests, --seed {seed}", flush=True
        )
        extras = _takes_unknown_parameters(engine)
        campaign = explore(engine, options.fuzz, seed, extras=extras, shrink_s=_FUZZ_SHRINK_S)
        result = campaign.result
        if result is None or not campaign.failed:
            print(f"{campaign.sent} requests: all answered exactly")
            return 0
        path = write_counterexample(engine, campaign, options.report_dir, f"--seed {seed}")
        print(
            f"{result.outcome} after {campaign.sent} requests: {target.mask.text(result.message)}"
        )
        print(f"written: {path}")
        # As another run would: without what this one knows of connections and of the dead.
        fresh = Engine(target, server)
        stack.callback(fresh.close)
        again = run_alone(fresh, path)
        if again.outcome == result.outcome:
            print(f"run alone: {again.outcome} again: {target.mask.text(again.message)}")
        else:
            words = f" ({target.mask.text(again.message)})" if again.message else ""
            print(f"run alone it does not reproduce: {again.outcome}{words}")
        return 1 if result.outcome == FAIL else 3


def _takes_unknown_parameters(engine: Engine) -> bool:
    """Whether requests may have some: a server that refuses them (S14) would refuse them all."""
    cases = [case for case in load_cases() if case.requirement == "S14"]
    if all(engine.run(case).outcome == PASS for case in cases):
        return True
    print("the server takes no unknown parameters (S14): the requests have none")
    return False


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
    return case.requirement == pattern or matches(case.id, pattern)


def _target(options: argparse.Namespace, stack: ExitStack) -> Target:
    url = options.url
    if url is None and options.target is None:
        from v2_conformance.reference.server import ReferenceServer

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


def write_reports(record: Path) -> list[Path]:
    """Make report.json (of a record) and report.html beside `record`; the paths written."""
    if record.is_dir():
        raise UsageError(f"{record} is a folder; name the report.json or report.jsonl in it")
    report = load_report(record)
    if not is_intact(report):
        print(f"v2-conformance: {record} was edited: its digest does not match", file=sys.stderr)
    directory = record.parent
    written = []
    if record.suffix == ".jsonl":
        written.append(write_report(directory, report))
    return [*written, write_page(directory, report)]
