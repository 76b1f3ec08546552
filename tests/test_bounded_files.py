"""Files that are traps: reading ends, and writing touches nothing but the file that is meant."""

from __future__ import annotations

import os
import re
import threading
import time
from pathlib import Path

import pytest

from v2_conformance import bounded_files
from v2_conformance.bounded_files import read_bounded, write_whole
from v2_conformance.errors import UsageError


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_files, "_PATIENCE_S", 0.3)


def refusal(path: Path, most: int = 1 << 20) -> str:
    with pytest.raises(UsageError) as caught:
        read_bounded(path, most, UsageError)
    return str(caught.value)


def test_a_file_is_read_whole_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 5000)
    assert read_bounded(path, 5000, UsageError) == b"x" * 5000
    assert refusal(path, 4999) == f"cannot read {path}: it has more than 4 KiB"


def test_devices_are_read_like_files(tmp_path: Path) -> None:
    assert read_bounded(Path("/dev/null"), 10, UsageError) == b""
    assert "it has more than 1 MiB" in refusal(Path("/dev/zero"))
    assert b"Name:" in read_bounded(Path("/proc/self/status"), 1 << 20, UsageError)


def test_a_pipe_that_nobody_writes_to_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    began = time.monotonic()
    assert "nothing came out of it" in refusal(path)
    assert time.monotonic() - began < 5


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    """Such as one of the shell: `verify <(zstdcat report.json.zst)`."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    content = b"y" * 300_000
    writer = threading.Thread(target=path.write_bytes, args=(content,))
    writer.start()
    assert read_bounded(path, 1 << 20, UsageError) == content
    writer.join()


def test_a_link_in_the_place_of_a_file_is_replaced_and_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    path = tmp_path / "report.json"
    path.symlink_to(victim)
    beside = tmp_path / "report.json.new"
    beside.symlink_to(victim)
    write_whole(path, [b"new"])
    assert victim.read_text() == "precious"
    assert path.read_bytes() == b"new"
    assert not path.is_symlink()
    os.link(victim, beside)
    write_whole(path, [b"newer"])
    assert (victim.read_text(), path.read_bytes()) == ("precious", b"newer")


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("old")
    (tmp_path / "report.json.new").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_whole(path, [b"new"])
    assert path.read_text() == "old"


# How Python opens a file by its name to write.
WRITES = re.compile(
    r"\.write_(?:text|bytes)\(|\bcopy(?:2|file|tree)\(|FileIO\("
    r"|\bopen\([^()]*[\"'](?=[rwaxbt+]*[wax+])[rwaxbt+]+[\"']"
)
NO_FILE_BY_NAME = ("create_new(", "formatter.write_text(", "os.devnull")
# A folder that is new, empty or private, and a file that the user's CI service names.
FREE = ("kits/", "formats/github.py")


def test_every_file_that_is_opened_by_its_name_is_made_new() -> None:
    package = Path(bounded_files.__file__).parent
    found = [
        f"{path}: {line}"
        for path in package.rglob("*.py")
        if not path.relative_to(package).as_posix().startswith(FREE)
        for line in path.read_text("utf-8").splitlines()
        if WRITES.search(line) and not any(words in line for words in NO_FILE_BY_NAME)
    ]
    assert found == []
