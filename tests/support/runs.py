"""What tests of runs share: cases by the start of their ids, a run's results by case id."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from subprocess import PIPE, Popen

from v2_conformance.engine.discovery import discover
from v2_conformance.engine.engine import Engine, Recovery, Result, run
from v2_conformance.engine.target import Target, make_target
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.exchange import Request
from v2_conformance.suite.cases import Case, load_cases

CASES = cache(lambda: {case.id: case for case in load_cases()})


# What a shell starts in the background ignores interrupts, and so does what that starts.
_HEEDS_INTERRUPTS = (
    "import signal, sys; from v2_conformance.cli.main import main;"
    "signal.signal(signal.SIGINT, signal.default_int_handler); sys.exit(main())"
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


def results(
    target: Target,
    cases: Sequence[Case],
    *,
    workers: int = 1,
    recovery: Recovery | None = None,
) -> dict[str, Result]:
    """What became of each case, in the order in which they ended."""
    engine = Engine(target, discover(target), recovery=recovery)
    return {event.result.case.id: event.result for event in run(engine, cases, workers)}


def outcomes(found: dict[str, Result]) -> dict[str, str]:
    return {name: result.outcome for name, result in found.items()}


def message_of(prefix: str, found: dict[str, Result]) -> str:
    """The message of the first case whose id begins so."""
    return next(result.message for name, result in found.items() if name.startswith(prefix))


def served(raw: bytes) -> bytes:
    """The reference behaviour's answer to a request with Content-Length."""
    head, _, body = raw.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    fields = [line.split(":", 1) for line in lines[1:]]
    request = Request(
        method=lines[0].split()[0],
        target=lines[0].split()[1],
        version="1.1",
        headers=tuple((name.lower(), value.strip()) for name, value in fields),
        head=head,
        body=memoryview(body),
    )
    behaviour = Behaviour()
    return b"".join(behaviour.serialise(behaviour.handle(request), keep_open=True))
