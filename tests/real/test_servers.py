"""How real servers are started: those that end before they are ready, again. With a fake server."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

import servers
from servers import EndedEarlyError

# It writes down each start, ends as often as it is told to, then answers everything with 200 until
# it is asked for /end.
_FAKE = """
import os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
starts, early, port = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with open(starts, "a") as record:
    record.write("started\\n")
count = len(open(starts).readlines())
print("start", count, flush=True)
if count <= early:
    os.abort()
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        if self.path == "/end":
            os._exit(5)
HTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


@pytest.fixture
def fake(tmp_path: Path) -> Callable[[int], AbstractContextManager[str]]:
    """A server that ends `early` times before it is ready."""

    def serve(early: int) -> AbstractContextManager[str]:
        port = servers.usable_port(None)
        words = [str(tmp_path / "starts.txt"), str(early), str(port)]
        return servers.started([sys.executable, "-c", _FAKE, *words], tmp_path, port, ["some"])

    return serve


def test_a_server_that_ends_too_early_is_started_again(
    fake: Callable[[int], AbstractContextManager[str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with fake(2) as url:
        assert servers._answers_200(url, "/v2")
    assert (tmp_path / "server.log").read_text().splitlines()[:3] == [
        "start 1",
        "start 2",
        "start 3",
    ]
    told = capsys.readouterr().err
    assert "the server ended with exit code -6 before it was ready\nstart 1\n" in told
    assert "starting it again, attempt 3 of 3\n" in told


def test_a_server_that_always_ends_is_started_three_times(
    fake: Callable[[int], AbstractContextManager[str]], tmp_path: Path
) -> None:
    with pytest.raises(EndedEarlyError, match="start 3"), fake(100):
        pytest.fail("it cannot be ready")
    assert len((tmp_path / "starts.txt").read_text().splitlines()) == 3


def test_a_server_that_was_ready_is_never_started_again(
    fake: Callable[[int], AbstractContextManager[str]], tmp_path: Path
) -> None:
    with fake(0) as url:
        assert servers._answers_200(url, "/end")
        assert not servers._answers_200(url, "/v2")
    with pytest.raises(EndedEarlyError, match="of another"), fake(0):
        raise EndedEarlyError("of another")
    assert len((tmp_path / "starts.txt").read_text().splitlines()) == 2
