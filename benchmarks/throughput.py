"""Cases per second, and the same requests on a bare socket: `throughput.py URL` prints JSON.

`cases_per_s` covers all cases except the dangerous ones, which would kill the models of a real
server. The ratio covers those that a bare socket can repeat like for like: the request was sent in
one write, on one connection, and the server kept the connection open.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from replay import timed_replay
from sizes import size

from v2_conformance.conversations.discovery import Server
from v2_conformance.conversations.steps import Result
from v2_conformance.report.recorder import Record
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.scheduling.running import run
from v2_conformance.runs.targets.making import make_target
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.cases import Case, GetCase, RequestCase
from v2_conformance.suite.library import suite_cases
from v2_conformance.wire.encode.requests import Prepared, get_request, prepare

ROUNDS = size(15, 1)
PROFILES = ("raw", "bf16")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    target = make_target(parser.parse_args().url, profiles=PROFILES, timeout=30)
    server = discover(target)
    engine = Engine(target, server)
    cases = harmless_cases()
    gc.freeze()  # as the command run does
    timed_run(engine, target, server, cases)  # finds the canaries, and warms up both sides
    whole, results = timed_run(engine, target, server, cases)
    repeatable = [result for result in results if _repeatable(result, target, server)]
    requests = [bytes(exchange.request) for result in repeatable for exchange in result.exchanges]
    suite, bare = [], []
    for _ in range(ROUNDS):
        suite.append(timed_run(engine, target, server, [r.case for r in repeatable])[0])
        bare.append(timed_replay(target.url, requests))
    print(
        json.dumps(
            {
                "cases": len(results),
                "exchanges": sum(len(result.exchanges) for result in results),
                "cases_per_s": len(results) / whole,
                "repeated_cases": len(repeatable),
                "repeated_exchanges": len(requests),
                "suite_s": statistics.median(suite),
                "bare_s": statistics.median(bare),
                "ratio": statistics.median(a / b for a, b in zip(suite, bare, strict=True)),
            }
        )
    )


def harmless_cases() -> list[Case]:
    """Return all cases but the dangerous ones, or in a smoke run some of them."""
    cases = [case for case in suite_cases() if not case.dangerous]
    return cases[:: size(1, 40)]


def timed_run(
    engine: Engine, target: Target, server: Server, cases: Sequence[Case]
) -> tuple[float, list[Result]]:
    """Seconds for `cases`, with a record on disk as in a real run, and their results."""
    results = []
    with tempfile.TemporaryDirectory() as folder:
        record = Record(Path(folder), target, server, cases)
        started = time.perf_counter()
        for event in run(engine, cases):
            record.add(event.result)
            results.append(event.result)
        duration = time.perf_counter() - started
        record.finish()
    return duration, results


def _repeatable(result: Result, target: Target, server: Server) -> bool:
    case = result.case
    if not result.exchanges or not isinstance(case, GetCase | RequestCase):
        return False
    if isinstance(case, GetCase):
        prepared = Prepared(get_request(target.address, case.path))
    elif case.together > 1:
        return False
    else:
        prepared = prepare(case, target.address, server.present[case.model])
    if len(prepared.request.http1) > 1:
        return False
    return all(exchange.open for exchange in result.exchanges)


if __name__ == "__main__":
    main()
