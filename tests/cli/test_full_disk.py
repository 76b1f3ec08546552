"""Output that cannot be written: one line, an exit code, and the record is kept."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from v2_conformance.report.files import load_report

_MAIN = "import sys; from v2_conformance.cli.main import main; sys.exit(main())"


def run(
    folder: Path, *arguments: str, largest: int | None = None, output: str = ""
) -> subprocess.CompletedProcess[str]:
    """The command in a process whose files are at most `largest` bytes, with stdout in `output`."""

    def limit() -> None:
        if largest is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

    with open(output or os.devnull, "w") as stdout:
        return subprocess.run(
            [sys.executable, "-c", _MAIN, *arguments],
            cwd=folder,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
            preexec_fn=limit,
        )


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    return done.stderr.splitlines()[-1]


def test_a_record_that_outgrows_the_disk_ends_the_run_and_is_kept(tmp_path: Path) -> None:
    done = run(tmp_path, "run", "--case", "P*", "--report-dir", "r", largest=100_000)
    assert done.returncode == 3
    assert complaint(done) == "v2-conformance: cannot write r/report.jsonl: File too large"
    report = load_report(tmp_path / "r" / "report.jsonl")
    assert not report.complete
    assert report.cases


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_standard_output_on_a_full_disk_is_one_line(tmp_path: Path) -> None:
    done = run(tmp_path, "list", "requirements", output="/dev/full")
    assert done.returncode == 3
    words = "v2-conformance: the output cannot be written: No space left on device"
    assert complaint(done) == words
    done = run(tmp_path, "run", "--case", "P2", output="/dev/full")
    assert (done.returncode, complaint(done)) == (3, words)
    assert load_report(tmp_path / "reports" / "report.json").complete


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("closed", ["stdout", "stderr", "both"])
@pytest.mark.parametrize(
    ("call", "code"),
    [("run --case P*", 0), ("list requirements", 0), ("verify nothing.json", 2), ("rnu", 2)],
)
def test_a_reader_that_leaves_changes_no_exit_code(
    call: str, code: int, closed: str, unbuffered: str, tmp_path: Path
) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    done = subprocess.run(
        [sys.executable, "-c", _MAIN, *call.split()],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL if closed == "stderr" else theirs,
        stderr=subprocess.DEVNULL if closed == "stdout" else theirs,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        check=False,
    )
    os.close(theirs)
    assert done.returncode == code
    if call.startswith("run"):
        assert load_report(tmp_path / "reports" / "report.json").complete


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: folder.write_text("precious"),
        lambda folder: folder.symlink_to("nowhere"),
        lambda folder: folder.symlink_to(folder.name),
        lambda folder: folder.symlink_to("/proc/self"),
    ],
    ids=["a-file", "a-dangling-link", "a-loop", "a-folder-without-files"],
)
def test_a_folder_that_is_none_is_one_line(spoil: Callable[[Path], object], tmp_path: Path) -> None:
    folder = tmp_path / "r"
    spoil(folder)
    done = run(tmp_path, "run", "--case", "P2", "--report-dir", "r")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "r" in complaint(done)
    if not folder.is_symlink():
        assert folder.read_text() == "precious"
    assert not (tmp_path / "nowhere").exists()
