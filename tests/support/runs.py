"""Runs: cases by the start of their ids, a run's results by case id, its report,
and what `verify` says of a changed one."""

from __future__ import annotations

import contextlib
import json
import shlex
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from subprocess import PIPE, Popen

from support.reports import Document, read_document
from v2_conformance.conversations.discovery import Server
from v2_conformance.conversations.steps import Result
from v2_conformance.formats.text.verification import verification_lines
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.files import document_digest
from v2_conformance.report.recorder import Record
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.scheduling.deaths import Recovery
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.scheduling.running import run
from v2_conformance.runs.targets.making import make_target
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.cases import Case, GeneratedCase
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.verifying.verification import Verification, verify
from v2_mutants.servers import MutantServer

CASES = cache(
    lambda: {case.id: case for case in suite_cases() if not isinstance(case, GeneratedCase)}
)


# What a shell starts in the background ignores interrupts, and so does what that starts; nohup does
# the same for a terminal that goes away.
_HEEDS_INTERRUPTS = (
    "import signal, sys; from v2_conformance.cli.main import main;"
    "signal.signal(signal.SIGINT, signal.default_int_handler);"
    "signal.signal(signal.SIGHUP, signal.SIG_DFL); sys.exit(main())"
)


@contextlib.contextmanager
def command(*arguments: str) -> Iterator[Popen[str]]:
    """The command in a process that heeds interrupts; it is gone when the block ends."""
    run_it = [sys.executable, "-c", _HEEDS_INTERRUPTS, *arguments]
    with Popen(run_it, stdout=PIPE, stderr=PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def chosen(*prefixes: str) -> list[Case]:
    """The cases whose ids begin so, in the plan's order."""
    return [case for case in CASES().values() if case.id.startswith(prefixes)]


def target_of(url: str, *profiles: str, timeout: float = 3) -> Target:
    return make_target(url, profiles=profiles, timeout=timeout)


@contextlib.contextmanager
def engine_for(url: str, *profiles: str, server: Server | None = None) -> Iterator[Engine]:
    """An engine for the server at `url`, which is asked what it has unless `server` is given."""
    target = target_of(url, *profiles)
    engine = Engine(target, server or discover(target))
    with contextlib.closing(engine):
        yield engine


def results(
    target: Target, cases: Sequence[Case], *, workers: int = 1, recovery: Recovery | None = None
) -> dict[str, Result]:
    """What became of each case, in the order in which they ended."""
    engine = Engine(target, discover(target), recovery=recovery)
    return {event.result.case.id: event.result for event in run(engine, cases, workers)}


def outcomes(found: dict[str, Result]) -> dict[str, Outcome]:
    return {name: result.outcome for name, result in found.items()}


GOOD = "P2/blob-follows-json[INT32]"
BAD = "H6/not-a-number[letters]"  # rejected, and followed by two canaries
FEW = chosen(
    GOOD, BAD, "P4/", "R1/", "R3/survives", "C6/", "O18/", "W1/fixed-shape", "P1/", "R2/observed"
)
SECRET = "s3cret-token-of-the-tests"


def made(
    folder: Path,
    target: Target,
    cases: Sequence[Case] = FEW,
    *,
    planned: Sequence[Case] | None = None,
    workers: int = 1,
) -> Path:
    """The report of a run of `cases`, out of those of the suite if none are `planned`."""
    server = discover(target)
    record = Record(folder, target, server, planned or suite_cases())
    engine = Engine(target, server)
    for event in run(engine, cases, workers):
        record.calibrated(engine.live.canary.news())
        record.add(event.result)
    record.finish()
    return folder / "report.json"


def of_faulty(folder: Path, *faults: str, cases: Sequence[Case] = FEW) -> Path:
    """The report of a run of `cases` against the reference server with these faults."""
    with MutantServer(faults) as server:
        target = make_target(server.url, timeout=1, headers=(f"Authorization: Bearer {SECRET}",))
        return made(folder, target, cases)


def words_of(found: Verification) -> str:
    """What verifying prints, in one line."""
    return " ".join(" ".join(verification_lines(found)).split())


def said(path: Path) -> tuple[Verification, str]:
    """What verifying finds, and what it prints in one line."""
    found = verify(path, suite_cases())
    return found, words_of(found)


def changed(
    original: Path, folder: Path, change: Callable[[Document], object], *, seal: bool = True
) -> tuple[Verification, str]:
    """What verifying says of a report after a change, with its digest computed again or not."""
    report = read_document(original)
    change(report)
    if seal:
        report["integrity"] = {"algorithm": "sha256", "digest": document_digest(report)}
    path = folder / "report.json"
    path.write_text(json.dumps(report))
    return said(path)


def cases_that_differ(found: Verification) -> list[str]:
    """The ids of the cases in which the recorded bytes do not agree with the report."""
    return [case.id for case in found.cases if case.problem]


@contextlib.contextmanager
def restarting_on_request(server: ReferenceServer) -> Iterator[str]:
    """A shell command that returns when it has had `server` restarted."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def work() -> None:
            while True:
                try:
                    sock, _ = listener.accept()
                except OSError:
                    return
                with sock:
                    server.stop()
                    server.start()

        thread = threading.Thread(target=work)
        thread.start()
        code = (
            "import socket; "
            f"socket.create_connection(('127.0.0.1', {listener.getsockname()[1]})).recv(1)"
        )
        try:
            yield shlex.join([sys.executable, "-c", code])
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
