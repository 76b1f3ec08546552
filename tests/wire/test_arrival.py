"""When bytes arrived is what the kernel says, however late they are read."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import pytest

from support.arrivals import Ends, noted, unnoted
from v2_conformance.wire.arrival import receive
from v2_conformance.wire.sockets import ready

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux notes it")

_CLOCKS_S = 0.001  # two clocks are read one after the other


@pytest.fixture
def ends() -> Iterator[Ends]:
    with noted() as both:
        yield both


def test_bytes_read_late_arrived_when_they_came(ends: Ends) -> None:
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


@pytest.mark.parametrize("read_first", [True, False])
def test_another_process_that_runs_while_clocks_are_read_shifts_nothing(
    read_first: bool, ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    near, far = ends
    real = time.time
    interrupted: list[float] = []

    def of_day() -> float:
        read = real()
        if not interrupted:
            interrupted.append(read)
            until = time.perf_counter() + 20 * _CLOCKS_S
            while time.perf_counter() < until:
                pass
        return read if read_first else real()

    sent = time.perf_counter()
    far.sendall(b"bytes")
    assert ready(near, write=False, timeout=5)[0]
    there = time.perf_counter()
    monkeypatch.setattr(time, "time", of_day)
    _, came = receive(near, 100)
    assert came is not None
    assert sent - _CLOCKS_S <= came <= there + _CLOCKS_S


def test_nothing_arrives_in_the_future(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
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
