"""Connections of which the kernel notes when bytes arrive, or has not been asked to."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

from v2_conformance.wire.arrival import note_arrivals, receive
from v2_conformance.wire.sockets import ready

Ends = tuple[socket.socket, socket.socket]
"""The near end of a connection, which does not block, and the far one."""


@contextmanager
def unnoted() -> Iterator[Ends]:
    """Both ends of a connection of which the kernel has not been asked anything."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        near = socket.create_connection(listener.getsockname())
        far, _ = listener.accept()
    with near, far:
        near.setblocking(False)
        yield near, far


@contextmanager
def noted() -> Iterator[Ends]:
    """Both ends of a connection with arrivals that Linux notes, and those of all others that ask.

    Once the first one asks, it begins to note as soon as it gets to it.
    """
    with unnoted() as (near, far):
        note_arrivals(near)
        until, came = time.monotonic() + 5, None
        while came is None:
            assert time.monotonic() < until
            far.sendall(b"first")
            assert ready(near, write=False, timeout=5)[0]
            _, came = receive(near, 100)
        yield near, far
