"""A run against an endpoint far away: `distance.py [MILLISECONDS [WORKERS]]` prints JSON.

It starts the embedded server and a proxy in front of it that delays all bytes. `ratio` is the time
of the whole run, from its first request on, by the least that so many workers need for as many
exchanges, each of which takes a round trip. `recorded` are the exchanges that the report has; of
those of C6, which sends many requests at once, that is one for each case.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from pathlib import Path

from delayed import delayed
from embedded import embedded_server
from sizes import size

from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.report.recording.recorder import Record
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.distance import usual_workers
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.scheduling.running import run
from v2_conformance.runs.targets.make import make_target
from v2_conformance.suite.library import suite_cases
from v2_conformance.wire.transcript import Transcript
from v2_conformance.wire.transport import Connection, Request, Transport


class Counting:
    """A transport that counts the exchanges of all its connections."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._lock = threading.Lock()
        self.exchanges = 0

    def connection(self) -> Connection:
        """See transport.Transport."""
        return _CountingConnection(self._transport.connection(), self)

    def count(self) -> None:
        """One more exchange."""
        with self._lock:
            self.exchanges += 1


class _CountingConnection:
    def __init__(self, connection: Connection, counting: Counting) -> None:
        self._connection = connection
        self._counting = counting

    @property
    def open(self) -> bool:
        return self._connection.open

    def pending(self) -> bool:
        return self._connection.pending()

    def connect(self) -> None:
        self._connection.connect()

    def exchange(self, request: Request, *, fresh: bool = False) -> Transcript:
        self._counting.count()
        return self._connection.exchange(request, fresh=fresh)

    def close(self) -> None:
        self._connection.close()


def main() -> None:
    """Print the figures of one run."""
    round_trip_s = float(sys.argv[1]) / 1000 if len(sys.argv) > 1 else 0.05
    asked = int(sys.argv[2]) if len(sys.argv) > 2 else None
    cases = suite_cases()[:: size(1, 40)]
    with embedded_server() as near, delayed(int(near.rpartition(":")[2]), round_trip_s) as url:
        target = make_target(url, profiles=SERVER_PROFILES, timeout=30)
        started = time.perf_counter()
        server = discover(target, workers=asked)
        counting = Counting(target.transport())
        engine = Engine(target, server, transport=counting)
        usual = usual_workers(engine.round_trip_s)
        workers = asked or usual
        recorded = 0
        with tempfile.TemporaryDirectory() as folder:
            record = Record(Path(folder), target, server, cases)
            for event in run(engine, cases, workers):
                record.calibrated(engine.calibrations())
                record.add(event.result)
                recorded += len(event.result.exchanges)
            seconds = time.perf_counter() - started
            record.finish()
    exchanges = len(server.asked) + counting.exchanges
    print(
        json.dumps(
            {
                "round_trip_s": round_trip_s,
                "workers": workers,
                "usual_workers": usual,
                "cases": len(cases),
                "recorded": recorded,
                "exchanges": exchanges,
                "seconds": seconds,
                "ratio": seconds / (exchanges * round_trip_s / workers),
                "ratio_of_recorded": seconds / (recorded * round_trip_s / workers),
            }
        )
    )


if __name__ == "__main__":
    main()
