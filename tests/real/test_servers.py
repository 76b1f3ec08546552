"""How real servers are started: those that end before they are ready, again. With a fake server."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

import servers
from servers import EndedEarlyError, started_again

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

Serve = Callable[..., AbstractContextManager[str]]


@pytest.fixture
def starts(tmp_path: Path) -> Path:
    """The file that has a line for each start."""
    return tmp_path / "starts.txt"


@pytest.fixture
def fake(starts: Path) -> Callable[[int], Serve]:
    """A server that ends `early` times before it is ready."""

    def serve_with(early: int) -> Serve:
        @started_again
        @contextmanager
        def serve(workdir: Path, port: int | None, python: Path | None) -> Iterator[str]:
            port = servers.usable_port(port)
            (workdir / "models").mkdir()
            command = [str(python or sys.executable), "-c", _FAKE, str(starts), str(early)]
            with servers._running([*command, str(port)], workdir, port, ["some"]) as url:
                yield url

        return serve

    return serve_with


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def test_a_server_that_ends_too_early_is_started_again(
    fake: Callable[[int], Serve], workdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with fake(2)(workdir) as url:
        assert servers._answers_200(url, "/v2")
    for number, folder in enumerate(("attempt-1", "attempt-2", "."), start=1):
        assert (workdir / folder / "models").is_dir()
        assert f"start {number}\n" in (workdir / folder / "server.log").read_text()
    told = capsys.readouterr().err
    assert "the server ended with exit code -6 before it was ready\nstart 1\n" in told
    assert "starting it again, attempt 3 of 3; what is left is in " in told


def test_a_server_that_always_ends_is_started_three_times(
    fake: Callable[[int], Serve], workdir: Path
) -> None:
    with pytest.raises(EndedEarlyError, match="start 3"), fake(100)(workdir):
        pytest.fail("it cannot be ready")


def test_a_server_that_was_ready_is_never_started_again(
    fake: Callable[[int], Serve], starts: Path, workdir: Path
) -> None:
    with fake(0)(workdir) as url:
        assert servers._answers_200(url, "/end")
        assert not servers._answers_200(url, "/v2")
    assert len(starts.read_text().splitlines()) == 1
