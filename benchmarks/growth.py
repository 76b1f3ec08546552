"""How costs grow with the number of cases and with the size of a tensor: `growth.py URL`, as JSON.

`cases` has the seconds that so many cases take, with the record on disk. `sizes` has those of one
round trip of a tensor, from making its values to the verdict, and of the same bytes on a bare
socket. What one case costs, or one MiB, should be the same in a short run and in a long one.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from dataclasses import replace

from replay import timed_replay
from sizes import size
from throughput import PROFILES, harmless_cases, timed_run

from v2_conformance.judging.judge import judge
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.targets.making import make_target
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.case_files import make_case
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.encode.requests import prepare

ROUNDS = size(3, 1)
SHARES = size((8, 4, 2, 1), (2, 1))
MEBIBYTES = size((1, 4, 16, 64), (1, 2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    target = make_target(parser.parse_args().url, profiles=PROFILES, timeout=120)
    target = replace(target, limits=replace(target.limits, response=(max(MEBIBYTES) + 1) << 20))
    print(json.dumps({"cases": _of_cases(target), "sizes": [_of(target, n) for n in MEBIBYTES]}))


def _of_cases(target: Target) -> list[dict[str, float]]:
    """Every eighth case, every fourth, …: the mix of cheap and dear ones stays the same."""
    server = discover(target)
    engine = Engine(target, server)
    cases = harmless_cases()
    timed_run(engine, target, server, cases)  # finds the canaries, and warms up both sides
    found = []
    for share in SHARES:
        some = cases[::share]
        times = [timed_run(engine, target, server, some)[0] for _ in range(ROUNDS)]
        found.append({"cases": len(some), "seconds": statistics.median(times)})
    return found


def _of(target: Target, mebibytes: int) -> dict[str, float]:
    case = make_case(
        {
            "id": "L1/benchmark",
            "why": "One round trip.",
            "model": "identity/UINT64",
            "request": {
                "inputs": [{"shape": [mebibytes << 17], "values": "counting"}],
                "outputs": [{"tensor": 0, "binary_data": True}],
            },
            "expect": {"outcome": "success", "outputs": {"0": "binary"}},
        }
    )
    assert isinstance(case, RequestCase)
    binding = target.binding(case.model)
    suite, bare = [], []
    connection = target.connection()
    for _ in range(ROUNDS):
        started = time.perf_counter()
        prepared = prepare(case, target.address, binding)
        verdict = judge(case, prepared, connection.exchange(prepared.request))
        suite.append(time.perf_counter() - started)
        assert verdict.outcome is Outcome.PASS, verdict
        bare.append(timed_replay(target.url, [b"".join(prepared.request.http1)]))
    connection.close()
    seconds, least = statistics.median(suite), statistics.median(bare)
    return {"mebibytes": mebibytes, "seconds": seconds, "bare_s": least}


if __name__ == "__main__":
    main()
