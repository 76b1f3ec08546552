"""Measures how far away a server is, and chooses how many cases to run at the same time."""

from __future__ import annotations

from collections.abc import Sequence

from v2_conformance.wire.exchange import Exchange

MOST_WORKERS = 8
"""How many cases run at the same time at most unless the user says so."""

_WORTH_A_WORKER_S = 0.010


def round_trip_s(asked: Sequence[Exchange]) -> float:
    """Return the server's response time to the plainest request on a kept connection, as discovery
    measured it; 0 if it did not.
    """
    kept = [e.duration_ms for e in asked if e.reused]
    return min(kept or [e.duration_ms for e in asked], default=0.0) / 1000


def usual_workers(round_trip_s: float) -> int:
    """Return how many cases to run at once against a server that far away: one for each 10 ms."""
    return max(1, min(MOST_WORKERS, int(round_trip_s / _WORTH_A_WORKER_S)))
