"""What only a soak shows (`run --soak`): leaks, and answers that go wrong on a busy server.

No case of the suite notices these, so they are apart from the other faults.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.faults.registry import fault_under_load
from v2_conformance.reference.http_messages import Breach, Request, Response
from v2_conformance.suite.models import TensorSpec

_FAST = 48 << 10
_SLOW = 4 << 10
_MOST_THREADS = 2000
_BUSY = 4
_WORK_S = 0.002
_LIVES_FOR = 1200


class _Leaks(Behaviour):
    """Keeps `lost` bytes for every request for which `forgets` says so."""

    lost = _FAST

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self._kept: list[bytearray] = []

    def handle(self, request: Request) -> Response:
        response = super().handle(request)
        if self.forgets(request, response):
            self._kept.append(bytearray(b"x" * self.lost))
        return response

    def forgets(self, request: Request, response: Response) -> bool:
        """Whether the memory for this request is never freed."""
        return request.method == "POST"


@fault_under_load(
    "memory-leaks-if-compressed-request-fails",
    text="The memory for each compressed request that fails is never freed.",
)
class _MemoryLeaksIfCompressedRequestFails(_Leaks):
    def forgets(self, request: Request, response: Response) -> bool:
        return bool(request.values("content-encoding")) and response.status >= 400


@fault_under_load(
    "memory-leaks-slowly-if-request-fails",
    text="A few KB of memory for each request that fails are never freed.",
)
class _MemoryLeaksSlowlyIfRequestFails(_Leaks):
    lost = _SLOW

    def forgets(self, request: Request, response: Response) -> bool:
        return response.status >= 400


@fault_under_load(
    "memory-leaks-with-every-request", text="Memory for each inference request is never freed."
)
class _MemoryLeaksWithEveryRequest(_Leaks):
    pass


@fault_under_load(
    "files-leak-if-client-breaks-off",
    text="A file stays open for each client that breaks off or sends what is not HTTP.",
)
class _FilesLeakIfClientBreaksOff(Behaviour):
    def broken_off(self, breach: Breach) -> None:
        with contextlib.suppress(OSError):  # as many as there can be
            os.open(os.devnull, os.O_RDONLY)


@fault_under_load(
    "threads-leak-if-header-length-is-wrong",
    text="A thread stays for each request whose header length is rejected.",
)
class _ThreadsLeakIfHeaderLengthIsWrong(Behaviour):
    def header_length(self, request: Request) -> int | None:
        try:
            return super().header_length(request)
        except Exception:
            if threading.active_count() < _MOST_THREADS:
                threading.Thread(target=threading.Event().wait, daemon=True).start()
            raise


@fault_under_load(
    "values-change-when-busy",
    text="The first byte of an output is wrong while several requests are served at once.",
)
class _ValuesChangeWhenBusy(Behaviour):
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


@fault_under_load("dies-after-many-requests", text="The server ends after some 1200 requests.")
class _DiesAfterManyRequests(Behaviour):
    served = 0

    def listening(self) -> bool:
        self.served += 1
        return self.served < _LIVES_FOR
