"""A run against an endpoint far away: `distance.py [MILLISECONDS [WORKERS]]` prints JSON.

It starts the embedded server and a proxy in front of it that delays all bytes. `recorded` are the
exchanges that the report has; of those of C6, which sends many requests at once, that is one for
each case.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from delayed import delayed
from embedded import embedded_server
from sizes import size

from v2_conformance.certifying.servers import usual_workers
from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.report.recorder import Record
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.scheduling.running import run
from v2_conformance.runs.targets.making import make_target
from v2_conformance.suite.library import suite_cases


def main() -> None:
    """Print the figures of one run."""
    round_trip_s = float(sys.argv[1]) / 1000 if len(sys.argv) > 1 else 0.05
    asked = int(sys.argv[2]) if len(sys.argv) > 2 else None
    cases = suite_cases()[:: size(1, 40)]
    with embedded_server() as near, delayed(int(near.rpartition(":")[2]), round_trip_s) as url:
        target = make_target(url, profiles=SERVER_PROFILES, timeout=30)
        started = time.perf_counter()
        server = discover(target)
        engine = Engine(target, server)
        usual = usual_workers(server.asked)
        workers = asked or usual
        recorded = 0
        with tempfile.TemporaryDirectory() as folder:
            record = Record(Path(folder), target, server, cases)
            for event in run(engine, cases, workers):
                record.calibrated(engine.live.canary.news())
                record.add(event.result)
                recorded += len(event.result.exchanges)
            seconds = time.perf_counter() - started
            record.finish()
    print(
        json.dumps(
            {
                "round_trip_s": round_trip_s,
                "workers": workers,
                "usual_workers": usual,
                "cases": len(cases),
                "recorded": recorded,
                "seconds": seconds,
            }
        )
    )


if __name__ == "__main__":
    main()
