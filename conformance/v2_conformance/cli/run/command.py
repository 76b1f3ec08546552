"""The command `run`: tests a server, writes the report and prints a summary."""

from __future__ import annotations

import gc
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cloup

from v2_conformance.cli import exit_codes
from v2_conformance.cli.access import ACCESS
from v2_conformance.cli.command import Command
from v2_conformance.cli.report_options import report_options
from v2_conformance.cli.reports.sign import signing_key
from v2_conformance.cli.run import any_model, soak
from v2_conformance.cli.run.ci_files import CI_FILES, ci_files, write_ci_files
from v2_conformance.cli.run.generated_requests import GENERATED_REQUESTS
from v2_conformance.cli.run.options import EMBEDDED_SERVER, EXECUTION, SELECTION, TARGET
from v2_conformance.cli.start import server_under_test
from v2_conformance.cli.stopping import naming_the_record
from v2_conformance.errors import UsageError

if TYPE_CHECKING:
    from v2_conformance.redaction import Mask
    from v2_conformance.report.document import Report
    from v2_conformance.report.tested import Shard

_EXAMPLES = {
    "v2-conformance run": "Test the embedded reference server.",
    "v2-conformance run http://localhost:8000 --profile raw": (
        "Test a server that claims the profile raw."
    ),
    "v2-conformance run http://localhost:8000 --model my-model": (
        "Test a server with any model, whatever it computes."
    ),
    "v2-conformance run --target server.yaml -n 4 --report-dir out": (
        "Test the server in a target file."
    ),
    "v2-conformance run http://localhost:8000 --case 'H6/*'": "Run only cases of H6.",
    "v2-conformance run http://localhost:8000 --expect v2-expect.yaml": (
        "Exit with 1 only if something new fails."
    ),
    "v2-conformance run http://localhost:8080/predict --binding vertex": (
        "Test the endpoint of Triton for Vertex AI."
    ),
    "v2-conformance run http://localhost:8000 --soak 10 --pid 4711": (
        "Then put load on it for 10 minutes, and look for leaks."
    ),
    "v2-conformance run http://localhost:8000 --through https://models.example.com": (
        "Also show what a gateway in front of the server does."
    ),
}
_EXIT_CODES = {
    **exit_codes.OF_A_RUN,
    0: "Conformant; with --model, consistent. With --expect: every result is as expected. With "
    "--fuzz: every answer is right. With --cases: no MUST case of the file fails. With --shard: "
    "the whole shard ran; `merge` gives the verdict.",
    1: "Not conformant, or not consistent; with --strict, also if there are warnings, or the "
    "gateway (--through) is not transparent. With --expect: a result is not as expected. With "
    "--fuzz: an answer is wrong.",
}


@cloup.command("run", cls=Command, examples=_EXAMPLES, exit_codes=_EXIT_CODES)
@cloup.argument(
    "url",
    required=False,
    help="Base URL of the server, such as http://localhost:8000.  [default: the embedded reference "
    "server, started for this run]",
)
@TARGET
@ACCESS
@any_model.OPTIONS
@SELECTION
@EXECUTION
@soak.OPTIONS
@report_options()
@ci_files()
@GENERATED_REQUESTS
@EMBEDDED_SERVER
def run(
    *,
    url: str | None,
    target_file: Path | None,
    profiles: tuple[str, ...],
    headers: tuple[str, ...],
    public: tuple[str, ...],
    secrets: tuple[str, ...],
    secret_env: tuple[str, ...],
    timeout: float | None,
    max_time: float | None,
    wait_ready: float | None,
    start_command: str | None,
    insecure: bool,
    binding: str | None,
    models: tuple[str, ...],
    shapes: tuple[str, ...],
    ranges: tuple[str, ...],
    inputs: tuple[str, ...],
    rtol: float,
    atol: float,
    through: str | None,
    patterns: tuple[str, ...],
    large: bool,
    huge: bool,
    thorough: bool,
    variations: tuple[str, ...],
    shard: Shard | None,
    case_files: Path | None,
    workers: int | None,
    restart_command: str | None,
    wait: float,
    report_dir: Path,
    expectation_file: Path | None,
    key_file: Path | None,
    strict: bool,
    fuzz: int | None,
    seed: int | None,
    faults: tuple[str, ...],
    **access: Any,
) -> int:
    """Test a server and write a report.

    Sends every case of the suite to the server, judges each answer byte by byte, writes
    report.json, report.html and the other report files, and prints a summary.
    """
    from v2_conformance.certifying.relations import start_relations
    from v2_conformance.certifying.servers import NO_EXPECTATIONS, make_plan, start
    from v2_conformance.cli.masked_errors import masked_errors
    from v2_conformance.formats.registry import OF_GATEWAYS, file_names
    from v2_conformance.formats.text.secrets import warnings_about_secrets
    from v2_conformance.formats.text.terminal import Reporter, announcement, served
    from v2_conformance.report.expectations.known import load_expectations
    from v2_conformance.report.files import REPORT
    from v2_conformance.report.folder_lock import sole_run
    from v2_conformance.runs.deaths import Recovery
    from v2_conformance.runs.targets.access import Access
    from v2_conformance.runs.targets.make import make_target
    from v2_conformance.terminal_safe_text import defused

    if fuzz is None and seed is not None:
        raise UsageError("--seed needs --fuzz: without it, a run always sends the same requests")
    if fuzz is not None and (patterns or case_files or variations):
        raise UsageError(
            "--fuzz generates its own requests: remove --case, --cases and --variation"
        )
    if shard is not None and (case_files or fuzz is not None):
        raise UsageError("--shard is about the suite's own cases: remove --cases and --fuzz")
    if shard is not None and url is None and target_file is None:
        raise UsageError("--shard needs a URL: each shard would start its own embedded server")
    if fuzz is not None and key_file:
        raise UsageError("--fuzz writes no report to sign: remove --sign")
    if fuzz is not None and through is not None:
        raise UsageError("--fuzz sends its requests one way: remove --through")
    if through is not None and url is None and target_file is None:
        raise UsageError("--through needs the URL of the server that is behind the gateway, too")
    if start_command is not None and url is None and target_file is None:
        raise UsageError("--start needs the URL that the server will have")
    if faults and (url is not None or target_file is not None):
        raise UsageError("--fault breaks only the embedded server: remove the URL, or use `serve`")
    asked = any_model.read_asked(models, shapes, ranges, inputs, rtol, atol)
    if asked and (shard is not None or through is not None):
        raise UsageError("--model tests one server in one run: remove --shard and --through")
    if asked and (case_files or variations or large or huge or fuzz is not None):
        raise UsageError(
            "--model has cases of its own: remove --cases, --variation, --large, --huge and --fuzz"
        )
    soak_minutes, pid = access.pop("soak_minutes"), access.pop("pid")
    others = {"--fuzz": fuzz, "--shard": shard, "--through": through}
    unfit = tuple(name for name, value in others.items() if value is not None)
    soak.check_load(soak_minutes, pid, url is not None or target_file is not None, unfit)
    wanted = {name: access.pop(name) for name in CI_FILES}
    recovery = Recovery(restart_command, wait)
    key = None if key_file is None else signing_key(key_file)
    with ExitStack() as stack:
        if url is None and target_file is None:
            from v2_mutants.servers import MutantServer

            server = stack.enter_context(MutantServer(faults))
            url, recovery = server.url_of(binding), replace(recovery, anew=server.restart)
        target = make_target(
            url,
            file=target_file,
            profiles=profiles,
            headers=headers,
            public=public,
            secrets=secrets,
            secret_env=secret_env,
            timeout=timeout,
            max_time=max_time,
            insecure=insecure,
            access=Access(**access),
            binding=binding,
            through=through,
        )
        if through is not None and target.endpoint is not None:
            raise UsageError("--through compares V2 endpoints: remove the binding")
        if asked and target.endpoint is not None:
            raise UsageError("--model tests a V2 endpoint: remove the binding")
        stack.enter_context(masked_errors(target.mask))
        for line in warnings_about_secrets(target):
            print(line, file=sys.stderr)
        if fuzz is not None:
            from v2_conformance.cli.run.fuzz import fuzz_server

            stack.enter_context(sole_run(report_dir))
            stack.enter_context(server_under_test(start_command, target, report_dir, wait_ready))
            return fuzz_server(
                target,
                examples=fuzz,
                seed=seed,
                directory=report_dir,
                recovery=recovery,
                ready_within_s=wait_ready,
            )
        gc.freeze()  # modules, cases and catalogue stay to the end: nothing to look for in them
        known = load_expectations(expectation_file) if expectation_file else NO_EXPECTATIONS
        behind = None
        outdated = (*file_names(), *OF_GATEWAYS)
        if asked is None:
            plan = make_plan(
                patterns=patterns,
                files=case_files,
                large=large,
                huge=huge,
                thorough=thorough,
                variations=variations,
                shard=shard,
            )
            stack.enter_context(sole_run(report_dir))
            serving = server_under_test(start_command, target, report_dir, wait_ready)
            leader = stack.enter_context(serving)
            if through is not None:
                from v2_conformance.cli.run.gateway_runs import GatewayRun, gateway_target

                reached = gateway_target(target, through, wait_ready)
                behind = GatewayRun(reached, plan, report_dir, recovery, wait_ready, workers, key)
            started = start(
                target,
                plan,
                report_dir,
                recovery=recovery,
                expectations=known,
                outdated=outdated,
                ready_within_s=wait_ready,
                workers=workers,
            )
        else:
            stack.enter_context(sole_run(report_dir))
            serving = server_under_test(start_command, target, report_dir, wait_ready)
            leader = stack.enter_context(serving)
            started = start_relations(
                target,
                asked,
                report_dir,
                patterns=patterns,
                thorough=thorough,
                recovery=recovery,
                expectations=known,
                outdated=outdated,
                ready_within_s=wait_ready,
            )
        plan = started.plan
        load = soak.load_of(soak_minutes, pid, leader, workers, target)
        stack.enter_context(naming_the_record(report_dir))
        place = f"{target.public_url}, {target.mask.text(defused(served(started.engine.server)))}"
        count = workers or started.usual_workers
        for line in announcement(plan.chosen):
            print(line, file=sys.stderr)
        with Reporter(len(plan.chosen), place, target.max_time_s, count) as reporter:
            for role, why in started.engine.server.absent.items():
                if role in target.models:
                    print(target.mask.text(defused(f"no model for {role}: {why}")), file=sys.stderr)
            gc.freeze()  # all that was read stays to the end: no collection need look at it again
            report = started.finish(
                workers=count, on_case=reporter.show, load=load, on_load=soak.show
            )
        if key is not None:
            from v2_conformance.report.signatures.signing import sign_report

            sign_report(report_dir / REPORT, key)
        present(report, report_dir, started.record.mask)
        write_ci_files(report, wanted, started.record.mask)
        if asked is None and case_files is None and not report.target.models:
            for line in any_model.what_next(report, target):
                print(target.mask.text(line))
        code = 0
        if behind is not None:
            code = behind.exit_code(report, started.record.mask.check, strict=strict)
    if expectation_file:
        from v2_conformance.cli.reports.expect import print_comparison

        return print_comparison(report, known, plan.planned, strict=strict) or code
    if shard is not None:
        return exit_codes.of_shard(report) or code
    return exit_codes.of_report(report, strict=strict) or code


def present(report: Report, directory: Path, mask: Mask) -> None:
    """Write the files that people look at, print the summary and tell a CI service."""
    from v2_conformance.formats.ci.github import publish
    from v2_conformance.formats.registry import write_formats
    from v2_conformance.formats.text.terminal import print_summary, summary_lines

    write_formats(directory, report, check=mask.check)
    mask.check("\n".join(summary_lines(report, directory)), "the summary")
    print_summary(report, directory)
    publish(report, directory, print, check=mask.check)
