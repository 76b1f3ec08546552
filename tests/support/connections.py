"""A connection without a socket, whose exchanges end as a test says."""

from __future__ import annotations

from collections.abc import Callable

from v2_conformance.runs.patience import Patience
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.transport import Request

Reply = Exchange | Callable[[Request], Exchange]


class FakeConnection:
    """A connection without a socket: each exchange ends with the next reply. A reply may be
    made from the request. With `repeats` the last one is given again and again."""

    def __init__(self, *replies: Reply, repeats: bool = False) -> None:
        self.replies = list(replies)
        self._repeats = repeats
        self.requests: list[Request] = []
        self.fresh: list[bool] = []
        self.open = False

    def exchange(self, request: Request, *, fresh: bool = False) -> Exchange:
        self.open = True
        self.requests.append(request)
        self.fresh.append(fresh)
        last = self._repeats and len(self.replies) == 1
        reply = self.replies[0] if last else self.replies.pop(0)
        return reply(request) if callable(reply) else reply

    def pending(self) -> bool:
        return False

    def connect(self) -> None:
        return None

    def close(self) -> None:
        self.open = False


def instant_patience(limit_s: float) -> tuple[Patience, list[float]]:
    """Patience whose pauses take no time, and the list of them: its clock moves with them alone."""
    pauses: list[float] = []
    return Patience(limit_s, pause=pauses.append, clock=lambda: sum(pauses, 0.0)), pauses
