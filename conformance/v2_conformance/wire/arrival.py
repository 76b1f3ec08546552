"""Reads when bytes arrived at a plain socket, as the kernel noted it, however late they are read.

Linux notes it for each packet of a socket that asks for it (SO_TIMESTAMPNS, see socket(7)). Where
the kernel does not, bytes count as arriving when they are read.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import sys
import time

# Linux's on most processors; Python's socket module does not have it.
_SO_TIMESTAMPNS = 35
_TIMESPEC = struct.Struct("@ll")
_AT_ONCE_S = 0.0001
_TRIES = 5
_SPACE = socket.CMSG_SPACE(_TIMESPEC.size) if sys.platform == "linux" else 0


def note_arrivals(sock: socket.socket) -> None:
    """Ask the kernel to note when bytes arrive, if it can. Not for TLS, which does
    its own reading.
    """
    if _SPACE:
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)


def receive(sock: socket.socket, size: int) -> tuple[bytes, float | None]:
    """Return what has arrived, and when its last byte did, on the clock of `time.perf_counter`;
    None if that is not known. Raises as `socket.recv` does."""
    if not _SPACE:
        return sock.recv(size), None
    data, ancillary, _, _ = sock.recvmsg(size, _SPACE)
    for level, kind, content in ancillary:
        noted = level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS
        if noted and len(content) == _TIMESPEC.size:
            seconds, nanoseconds = _TIMESPEC.unpack(content)
            now, of_day = _both_clocks()
            # Nothing arrives in the future, but the wall clock may be set back.
            return data, now - max(0.0, of_day - seconds - nanoseconds / 1e9)
    return data, None


def _both_clocks() -> tuple[float, float]:
    """Return `perf_counter` and the wall clock, read right after each other: on a busy machine
    another process may run in between.
    """
    for _ in range(_TRIES):
        now, of_day = time.perf_counter(), time.time()
        if time.perf_counter() - now < _AT_ONCE_S:
            break
    return now, of_day
