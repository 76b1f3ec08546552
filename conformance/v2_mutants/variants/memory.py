"""Variants of servers whose memory grows for a while, or goes up and down: none leaks."""

from __future__ import annotations

from collections import deque

from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_mutants.registry import variant

_CACHED = 24 << 20
_ENTRY = 64 << 10
_GARBAGE = 6 << 20
_LEFT = 16 << 10


@variant.several("cache-fills-up", "no document speaks of memory")
class _CacheFillsUp(Behaviour):
    """Something of each request is cached, and the cache takes 24 MiB at most."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self._cache: deque[bytearray] = deque(maxlen=_CACHED // _ENTRY)

    def handle(self, request: Request) -> Response:
        self._cache.append(bytearray(b"x" * _ENTRY))
        return super().handle(request)


@variant.several("garbage-is-collected-late", "no document speaks of memory")
class _GarbageIsCollectedLate(Behaviour):
    """Each request leaves garbage, which is collected once there are 6 MiB of it."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self._garbage: list[bytearray] = []

    def handle(self, request: Request) -> Response:
        self._garbage.append(bytearray(b"x" * _LEFT))
        if len(self._garbage) * _LEFT > _GARBAGE:
            self._garbage.clear()
        return super().handle(request)
