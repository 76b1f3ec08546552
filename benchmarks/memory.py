"""Peak memory of one large binary round trip: `memory.py URL` prints it as JSON.

This needs a process of its own: the peak is that of the whole process, including imports.
"""

from __future__ import annotations

import argparse
import json
import resource
from dataclasses import replace

from sizes import size

from v2_conformance.judging.judge import judge
from v2_conformance.runs.canary import Canary  # noqa: F401 (a run loads it, so it counts)
from v2_conformance.runs.targets.making import make_target
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.encode.requests import prepare

SIZE = size(256, 1) * 1024 * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    target = make_target(parser.parse_args().url, timeout=120)
    target = replace(target, limits=replace(target.limits, response=SIZE + 1024 * 1024))
    before = _peak()
    request = {
        "inputs": [{"shape": [SIZE // 8], "values": "counting"}],
        "outputs": [{"tensor": 0, "binary_data": True}],
    }
    case = RequestCase(
        id="L1/benchmark",
        requirement="L1",
        why="",
        level="SHOULD",
        profile="binary",
        model="identity/UINT64",
        request=request,
        expect={"outcome": "success", "outputs": {"0": "binary"}},
    )
    prepared = prepare(case, target.address, target.binding(case.model))
    connection = target.connection()
    verdict = judge(case, prepared, connection.exchange(prepared.request))
    connection.close()
    assert verdict.outcome is Outcome.PASS, verdict
    peak = _peak()
    print(json.dumps({"size": SIZE, "before": before, "peak": peak, "ratio": peak / SIZE}))


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # Linux reports KiB


if __name__ == "__main__":
    main()
