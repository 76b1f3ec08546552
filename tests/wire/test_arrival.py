"""When bytes arrived is what the kernel says, however late they are read."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from v2_conformance.wire.arrival import note_arrivals, receive
from v2_conformance.wire.sockets import ready

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux notes it")

_CLOCKS_S = 0.001  # two clocks are read one after the other


@contextmanager
def unnoted() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a connection of which the kernel has not been asked anything."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        near = socket.create_connection(listener.getsockname())
        far, _ = listener.accept()
    with near, far:
        near.setblocking(False)
        yield near, far


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    with unnoted() as (near, far):
        note_arrivals(near)
        until, came = time.monotonic() + 5, None
        while came is None:  # once it is asked, the kernel begins to note as soon as it gets to it
            assert time.monotonic() < until
            far.sendall(b"first")
            assert ready(near, write=False, timeout=5)[0]
            _, came = receive(near, 100)
        yield near, far


def test_bytes_that_are_read_late_arrived_when_they_came(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    near, far = ends
    sent = time.perf_counter()
    far.sendall(b"bytes")
    assert ready(near, write=False, timeout=5)[0]
    there = time.perf_counter()
    while time.perf_counter() < there + 10 * _CLOCKS_S:
        pass  # late
    data, came = receive(near, 100)
    assert data == b"bytes"
    assert came is not None
    assert sent - _CLOCKS_S <= came <= there + _CLOCKS_S


def test_nothing_arrives_in_the_future_when_the_clock_of_the_day_is_set_back(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    near, far = ends
    far.sendall(b"bytes")
    assert ready(near, write=False, timeout=5)[0]
    monkeypatch.setattr(time, "time", lambda: 1000.0)
    _, came = receive(near, 100)
    assert came is not None
    assert came <= time.perf_counter()


def test_a_socket_of_which_the_kernel_was_not_asked_says_nothing() -> None:
    with unnoted() as (near, far):
        far.sendall(b"bytes")
        assert ready(near, write=False, timeout=5)[0]
        assert receive(near, 100) == (b"bytes", None)


def test_nothing_there_blocks_as_ever(ends: tuple[socket.socket, socket.socket]) -> None:
    near, far = ends
    with pytest.raises(BlockingIOError):
        receive(near, 100)
    far.close()
    assert ready(near, write=False, timeout=5)[0]
    assert receive(near, 100)[0] == b""
