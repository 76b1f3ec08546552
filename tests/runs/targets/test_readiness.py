"""A run begins when the server is ready, and says so in one line if it never is."""

from __future__ import annotations

import pytest

from support.responses import http
from support.servers import PATIENT, Peer, Script, free_port, serving
from v2_conformance.errors import UnreachableError
from v2_conformance.runs.targets.reaching import wait_until_ready
from v2_conformance.runs.targets.target import Target


class Pauses:
    """A clock that only pauses move on."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)

    def now(self) -> float:
        return sum(self.taken, 0.0)


def wait(url: str, within_s: float | None = None) -> Pauses:
    pauses = Pauses()
    wait_until_ready(Target(url, limits=PATIENT), within_s, pause=pauses, clock=pauses.now)
    return pauses


def statuses(ready: list[int], live: int = 200) -> Script:
    """A script for each connection: the statuses of /ready in turn, and that of /live."""
    left = list(ready)

    def script(peer: Peer) -> None:
        path = peer.request().split()[1]
        if path == b"/v2/health/live":
            peer.send(http(b"", live))
            return
        assert path == b"/v2/health/ready"
        peer.send(http(b"", left.pop(0) if len(left) > 1 else left[0]))

    return script


@pytest.mark.parametrize("status", [200, 204, 301, 401, 403, 404, 405, 501])
def test_a_server_that_is_ready_or_does_not_say_is_not_waited_for(status: int) -> None:
    with serving(statuses([status])) as server:
        assert wait(server.url).taken == []


@pytest.mark.parametrize("status", [400, 429, 500, 502, 503, 504])
def test_a_server_that_is_not_ready_yet_is_waited_for(status: int) -> None:
    with serving(statuses([status, status, 200])) as server:
        assert len(wait(server.url).taken) == 2


def test_a_server_that_answers_every_health_path_alike_has_no_such_endpoint() -> None:
    with serving(statuses([400], live=400)) as server:
        assert wait(server.url).taken == []


def test_a_server_that_never_becomes_ready_is_told_in_one_line() -> None:
    with serving(statuses([503])) as server:
        with pytest.raises(UnreachableError) as error:
            wait(server.url, 7)
        assert str(error.value) == (
            f"{server.url} is not ready: GET /v2/health/ready still gets status 503 after 7 s; "
            "--wait-ready changes the limit"
        )


def test_a_server_that_is_not_there_is_waited_for_only_if_the_user_says_so() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    assert wait(url).taken == []
    with pytest.raises(UnreachableError, match="still gets no answer after 2 s"):
        wait(url, 2)
