"""The requests of a soak: cases that are still answered as they were in the run, and
their order.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, cycle

from msgspec.structs import replace

from v2_conformance.judging.judge import judge
from v2_conformance.judging.survival import stale
from v2_conformance.runs.discovery import Server
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.cases import GetCase, RequestCase
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.soaking import CONTROL, KINDS, Kind
from v2_conformance.wire.encode.requests import Prepared, prepare, prepare_get
from v2_conformance.wire.transport import Transport

SILENCE_S = 5.0
"""Who says nothing for so long while little is asked is not there. It is ten times as long as any
case of a soak took in the run."""

RIGHT = (Outcome.PASS, Outcome.DISPUTED)
"""The outcomes of a right answer."""

_LONGEST_BODY = 64 << 10  # a soak is about the number of requests, not their bytes
# Few enough of a kind that each is sent again soon, and enough that no single one stands for it.
_MOST_OF_A_KIND = 60


@dataclass(frozen=True, eq=False)
class Item:
    """A request to send again and again; `right` says whether its answer was right
    when sent alone.
    """

    case: RequestCase | GetCase
    kind: Kind
    right: bool
    prepared: Prepared


def prepared_case(case: RequestCase | GetCase, target: Target, server: Server) -> Prepared:
    """Return the request of a case."""
    if isinstance(case, GetCase):
        return prepare_get(case, target.address)
    return prepare(case, target.address, server.present[case.model])


def some_of_each(items: Sequence[Item]) -> Iterator[Item]:
    """Return some short requests of each kind, spread evenly, so that each is sent again soon: a
    server is still warming up until all have been sent.
    """
    short = [item for item in items if item.prepared.body_size <= _LONGEST_BODY]
    for kind in KINDS:
        own = [item for item in short if item.kind == kind]
        number = min(len(own), _MOST_OF_A_KIND)
        yield from (own[place * len(own) // number] for place in range(number))


def still_answered(transport: Transport, items: Sequence[Item], limit_s: float) -> list[Item]:
    """Return the requests that are still answered alone as they were in the run, which may have
    killed a model or the server: some of each kind if there is no time for all.
    """
    places: Counter[Kind] = Counter()
    in_turn: list[tuple[int, Item]] = []
    for item in items:
        in_turn.append((places[item.kind], item))
        places[item.kind] += 1
    found = []
    end = time.monotonic() + limit_s
    connection = transport.connection()
    try:
        for _, item in sorted(in_turn, key=lambda pair: pair[0]):
            if time.monotonic() > end:
                break
            request = replace(item.prepared.request, limit_s=SILENCE_S)
            transcript = connection.exchange(request)
            if stale(transcript):
                transcript = connection.exchange(request, fresh=True)
            right = judge(item.case, item.prepared, transcript).outcome in RIGHT
            if right is item.right:
                found.append(item)
    finally:
        connection.close()
    return found


def mixed(items: Sequence[Item]) -> Iterator[Item]:
    """Yield all kinds in turn, forever, each after a known-good request; each kind's
    cases in turn.
    """
    by_kind = {kind: [one for one in items if one.kind == kind] for kind in KINDS}
    turns = {kind: cycle(own) for kind, own in by_kind.items() if own}
    others = [kind for kind in turns if kind != CONTROL] or [CONTROL]
    for kind in cycle(chain.from_iterable((CONTROL, other) for other in others)):
        yield next(turns[kind])
