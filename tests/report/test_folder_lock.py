"""One run at a time in a report folder, and a crashed one is no obstacle."""

from __future__ import annotations

import errno
import fcntl
import signal
import sys
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from v2_conformance.errors import UsageError
from v2_conformance.report.recorder import sole_run

HOLDER = """
import sys
from pathlib import Path
from v2_conformance.report.recorder import sole_run

with sole_run(Path(sys.argv[1])):
    print("has it", flush=True)
    input()
"""


def refusal(folder: Path) -> str:
    with pytest.raises(UsageError) as caught, sole_run(folder):
        pass
    return str(caught.value)


def test_a_second_run_is_refused(tmp_path: Path) -> None:
    with sole_run(tmp_path):
        assert f"{tmp_path} is in use" in refusal(tmp_path)
    with sole_run(tmp_path):
        pass
    assert not list(tmp_path.iterdir())


def test_a_run_of_another_process_is_in_the_way_until_it_ends(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with Popen(command, stdin=PIPE, stdout=PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert "is in use" in refusal(tmp_path)
        other.send_signal(signal.SIGKILL)
        other.wait()
        with sole_run(tmp_path):
            pass


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


def test_a_file_system_without_locks_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(descriptor: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    with sole_run(tmp_path):
        pass
