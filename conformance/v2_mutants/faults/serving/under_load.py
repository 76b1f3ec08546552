"""Faults that only a soak shows (`run --soak`): leaks, and answers that go wrong on a busy server.

No case of the suite notices these, so they are apart from the other faults.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Breach, Request, Response
from v2_conformance.suite.models import TensorSpec
from v2_mutants.registry import Right, What, fault

_FAST = 48 << 10
_SLOW = 4 << 10
_MOST_THREADS = 2000
_BUSY = 4
_WORK_S = 0.002
_LIVES_FOR = 1200


def _leaks(when: Callable[[Request, Response], object], lost: int = _FAST) -> What[Response]:
    """A server that never frees so many bytes for every request for which `when` says so."""

    def what(right: Right[Response], request: Request) -> Response:
        response = right()
        if when(request, response):
            right.state[len(right.state)] = bytearray(b"x" * lost)
        return response

    return what


fault("memory-leaks-if-compressed-request-fails", "soak", Behaviour.handle)(
    "The memory for each compressed request that fails is never freed.",
    _leaks(lambda request, response: request.values("content-encoding") and response.status >= 400),
)


fault("memory-leaks-slowly-if-request-fails", "soak", Behaviour.handle)(
    "A few KB of memory for each request that fails are never freed.",
    _leaks(lambda request, response: response.status >= 400, _SLOW),
)


fault("memory-leaks-with-every-request", "soak", Behaviour.handle)(
    "Memory for each inference request is never freed.",
    _leaks(lambda request, response: request.method == "POST"),
)


@fault("files-leak-if-client-breaks-off", "soak", Behaviour.broken_off)
def _(right: Right[None], breach: Breach) -> None:
    """A file stays open for each client that breaks off or sends what is not HTTP."""
    with contextlib.suppress(OSError):
        os.open(os.devnull, os.O_RDONLY)


@fault("threads-leak-if-header-length-is-wrong", "soak", Behaviour.header_length)
def _(right: Right[int | None], request: Request) -> int | None:
    """A thread stays for each request whose header length is rejected."""
    try:
        return right()
    except Exception:
        if threading.active_count() < _MOST_THREADS:
            threading.Thread(target=threading.Event().wait, daemon=True).start()
        raise


@fault.several("values-change-when-busy", "soak")
class _ValuesChangeWhenBusy(Behaviour):
    """The first byte of an output is wrong while several requests are served at once."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self._serving = 0
        self._lock = threading.Lock()

    @contextmanager
    def _counted(self) -> Iterator[None]:
        with self._lock:
            self._serving += 1
        try:
            yield
        finally:
            with self._lock:
                self._serving -= 1

    def handle(self, request: Request) -> Response:
        with self._counted():
            time.sleep(_WORK_S)
            return super().handle(request)

    def output_tensor(self, output: TensorSpec, tensor: Tensor) -> Tensor:
        right = super().output_tensor(output, tensor)
        if self._serving <= _BUSY or not len(right.blob) or output.datatype == "BYTES":
            return right
        blob = bytearray(right.blob)
        blob[0] ^= 1
        return Tensor(right.name, right.datatype, right.shape, bytes(blob))


@fault.several("dies-after-many-requests", "soak")
class _DiesAfterManyRequests(Behaviour):
    """The server ends after some 1200 requests."""

    served = 0

    def listening(self) -> bool:
        self.served += 1
        return self.served < _LIVES_FOR
