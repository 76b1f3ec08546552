"""One run at a time in a report folder, and a crashed one is no obstacle."""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from v2_conformance.errors import UsageError
from v2_conformance.report import folder_lock
from v2_conformance.report.folder_lock import LOCK, sole_run

fcntl = pytest.importorskip("fcntl")
HERE = socket.gethostname()
NO_PROCESS = 2**22 + 1  # beyond any that Linux gives out


def refusal(folder: Path) -> str:
    with pytest.raises(UsageError) as caught, sole_run(folder):
        pass
    return str(caught.value)


def held_by(folder: Path, **members: object) -> None:
    holder = {"pid": NO_PROCESS, "host": HERE, "started": "2025-01-02T03:04:05+00:00", **members}
    (folder / LOCK).write_text(json.dumps(holder))


@pytest.fixture
def without_flock(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(descriptor: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)


def test_a_second_run_is_refused_and_the_first_one_named(tmp_path: Path) -> None:
    with sole_run(tmp_path):
        holder = json.loads((tmp_path / LOCK).read_text())
        assert holder["pid"] == os.getpid()
        words = refusal(tmp_path)
        assert f"process id {os.getpid()} on {HERE}, started {holder['started']}, is writ" in words
    with sole_run(tmp_path):
        pass
    assert not list(tmp_path.iterdir())


def test_a_folder_that_was_made_for_nothing_goes(tmp_path: Path) -> None:
    with sole_run(tmp_path / "a"):
        assert (tmp_path / "a").is_dir()
    assert not (tmp_path / "a").exists()
    with sole_run(tmp_path / "b"):
        (tmp_path / "b" / "report.json").touch()
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["report.json"]


def test_a_link_to_a_folder_is_that_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "latest").symlink_to("real")
    with sole_run(tmp_path / "latest"):
        assert "is in use" in refusal(tmp_path / "real")


@pytest.mark.parametrize(
    "content", ["", "x", "[" * 4000, "[" * 100_000, '{"pid": "1"}', '{"pid": 1e999}', "\0"]
)
def test_a_lock_file_that_nobody_holds_is_taken_over(tmp_path: Path, content: str) -> None:
    (tmp_path / LOCK).write_text(content)
    with sole_run(tmp_path):
        assert json.loads((tmp_path / LOCK).read_text())["pid"] == os.getpid()


def test_a_crashed_run_on_this_machine_is_no_obstacle(tmp_path: Path) -> None:
    held_by(tmp_path)
    with sole_run(tmp_path):
        pass


@pytest.mark.usefixtures("without_flock")
class TestWithoutFlock:
    """A file system that has no locks: the file alone says who is there."""

    def test_a_living_process_has_it(self, tmp_path: Path) -> None:
        with Popen([sys.executable, "-c", "input()"], stdin=PIPE) as other:
            held_by(tmp_path, pid=other.pid)
            assert f"process id {other.pid} on" in refusal(tmp_path)
            held_by(tmp_path, pid=other.pid, process_started="1")  # another one of that id
            with sole_run(tmp_path):
                pass

    @pytest.mark.parametrize("pid", [NO_PROCESS, 0, -1, 2**62])
    def test_a_dead_one_has_it_no_more(self, tmp_path: Path, pid: int) -> None:
        held_by(tmp_path, pid=pid)
        with sole_run(tmp_path):
            pass


def test_a_run_on_another_machine_has_it_while_it_writes(tmp_path: Path) -> None:
    """A lock of the system may not reach over a network's file system."""
    held_by(tmp_path, host="far-away\x1b[31m")
    words = refusal(tmp_path)
    assert "on far-away\\x1b[31m, started" in words
    assert words.endswith(f"(if that run is gone, remove {tmp_path / LOCK})")
    long_ago = os.stat(tmp_path / LOCK).st_mtime - folder_lock._SILENT_S - 1
    os.utime(tmp_path / LOCK, (long_ago, long_ago))
    (tmp_path / "report.jsonl").touch()  # it still writes
    assert "is in use" in refusal(tmp_path)
    os.utime(tmp_path / "report.jsonl", (long_ago, long_ago))
    with sole_run(tmp_path):
        pass


def test_nothing_but_a_lock_file_is_written_to(tmp_path: Path) -> None:
    victim, lock = tmp_path / "victim", tmp_path / LOCK
    victim.write_text("precious")
    lock.symlink_to(victim)
    assert "symbolic links" in refusal(tmp_path)
    lock.unlink()
    os.link(victim, lock)
    assert "is not the lock of a run" in refusal(tmp_path)
    lock.unlink()
    os.mkfifo(lock)
    assert "is not the lock of a run" in refusal(tmp_path)
    lock.unlink()
    lock.mkdir()
    assert "Is a directory" in refusal(tmp_path)
    assert victim.read_text() == "precious"


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to("nowhere")
    assert "choose another folder" in refusal(tmp_path / "file" / "x")
    assert "File exists" in refusal(tmp_path / "dangling")
    assert not (tmp_path / "nowhere").exists()
