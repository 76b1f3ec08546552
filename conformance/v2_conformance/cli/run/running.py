"""Main flow of `run`: starts what has to be started, sends the cases and writes the report."""

from __future__ import annotations

import gc
import shlex
import sys
from contextlib import ExitStack, nullcontext
from dataclasses import replace

import click

from v2_conformance.certifying.progress import Reporter, served, warnings_about_secrets
from v2_conformance.certifying.relations import Asked, learned_plan
from v2_conformance.certifying.servers import Plan, StartedRun, find, plan_of, seeded, start
from v2_conformance.cli.command import PROGRAM, masked_errors, naming_the_record
from v2_conformance.cli.options import server_under_test, target_of
from v2_conformance.cli.reporting import Reporting
from v2_conformance.cli.run import any_model
from v2_conformance.cli.run.options import RunOptions, check_options
from v2_conformance.elsewhere import elsewhere
from v2_conformance.errors import NothingRanError
from v2_conformance.formats.registry import JUNIT, write_formats
from v2_conformance.protocol.names import OPT_IN_PROFILES
from v2_conformance.report.document import Report
from v2_conformance.report.recorder import sole_run
from v2_conformance.report.verdict.standing import has_no_model
from v2_conformance.runs.scheduling.deaths import Recovery
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.cases import RelationCase
from v2_conformance.suite.causes.base import counted
from v2_conformance.suite.outcomes import FAILED
from v2_conformance.terminal_safe_text import defused


def run_server(options: RunOptions) -> int:
    """Test the server that the options name, or the embedded one, and return the exit code."""
    check_options(options)
    with ExitStack() as stack:
        if not options.names_server:
            if options.models:
                print("no URL was given: these are models of the embedded server", file=sys.stderr)
            server = stack.enter_context(elsewhere("server")(options.faults))
            options = replace(
                options,
                url=server.url,
                profiles=options.profiles or OPT_IN_PROFILES,  # it serves all of them
            )
        target = target_of(options)
        stack.enter_context(masked_errors(target.mask))
        for line in warnings_about_secrets(target):
            print(line, file=sys.stderr)
        if options.inputs:
            note = "the report will have the tensors of --input, as it has every byte that is sent"
            print(note, file=sys.stderr)
        return _certify(options, target, stack)


def _certify(options: RunOptions, target: Target, stack: ExitStack) -> int:
    reporting = Reporting(options)
    target = seeded(target, options.seed, generated=options.generated, expected=reporting.expected)
    tested = any_model.read_asked(options, target) or plan_of(
        options.patterns, large=options.large, case_files=options.case_files
    )
    stack.enter_context(sole_run(options.report_dir))
    stack.enter_context(server_under_test(options, target, options.report_dir))
    started = start(
        target,
        _plan(options, target, tested),
        options.report_dir,
        recovery=Recovery(options.restart_command, options.wait_ready or 0.0),
        expectations=reporting.expected,
    )
    stack.enter_context(naming_the_record(options.report_dir))
    report = _finish(options, started)
    mask = started.record.mask
    reporting.show(report)
    if any(report.of(*FAILED)):
        # The command that sends the same once more, as it was typed.
        seed = () if options.seed is not None else ("--seed", str(target.seed))
        again = shlex.join([PROGRAM, *click.get_current_context().obj, *seed])
        print(mask.text(f"repeat: {again}"))
    if options.junit_xml is not None:
        junit = replace(JUNIT, file_name=options.junit_xml.name)
        write_formats(options.junit_xml.parent, report, [junit])
    if has_no_model(report):
        for line in any_model.what_next(report, target):
            print(mask.text(line))
    return reporting.exit_code(report, started.plan.planned)


def _plan(options: RunOptions, target: Target, tested: Plan | Asked) -> Plan:
    """Return the plan of a run with the contract's models or, if the server has none of them, with
    others."""
    if isinstance(tested, Asked):
        return learned_plan(target, tested, options.patterns, options.wait_ready)
    server = find(target, tested, options.wait_ready)
    asked = any_model.asked_instead(options, target, server) if tested.own else None
    if asked is not None:
        for line in any_model.announced(asked, server.info, target):
            print(target.mask.text(defused(line)), file=sys.stderr)
        asked = replace(asked, names=asked.names[: any_model.TRIED])
        try:
            return learned_plan(target, asked, options.patterns, options.wait_ready)
        except NothingRanError as error:
            print(target.mask.text(defused(str(error))), file=sys.stderr)
    return replace(tested, server=server)


def _finish(options: RunOptions, started: StartedRun) -> Report:
    target, server = started.engine.target, started.engine.server
    count = options.workers or started.usual_workers
    chosen = started.plan.chosen
    own = {case.of.model for case in chosen if isinstance(case, RelationCase)}
    cases = counted(len(chosen), "case") + (f" of {counted(len(own), 'model')}" if own else "")
    place = (
        f"{target.public_url}, {target.mask.text(defused(served(server.info)))}, {cases}, "
        f"--seed {target.seed}"
    )
    nothing = started.plan.own and not server.present  # nothing is tested, as the summary says
    with (
        nullcontext() if nothing else Reporter(len(chosen), place, target.max_time_s, count)
    ) as reporter:
        for role, why in server.absent.items():
            if role in target.models:
                print(target.mask.text(defused(f"no model for {role}: {why}")), file=sys.stderr)
        gc.freeze()  # all that was read stays to the end, so no collection need examine it again
        show = (lambda event: None) if reporter is None else reporter.show
        return started.finish(workers=count, on_case=show)
