"""The command `matrix run`: certifies every target of a folder and writes the page."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from threading import Lock

from v2_conformance.bounded_files import create_new
from v2_conformance.cli.command import PROGRAM, command
from v2_conformance.errors import UnreachableError, UsageError, unwritable
from v2_conformance.options.reports import MatrixRunOptions

_SUFFIXES = (".yaml", ".yml", ".json")
_OURS = ("--target", "--report-dir")
_LOG = "run.log"
_PAGE = "index.html"
_LONGEST_LOG = 1 << 16


@command(
    "run",
    MatrixRunOptions,
    examples={
        "v2-conformance matrix run targets --report-dir certified --jobs 8": (
            "Certify every target in the folder, eight at a time."
        ),
        "v2-conformance matrix run targets -- --thorough --timeout 60": (
            "Give every run these options."
        ),
    },
    exit_codes={
        0: "Every target is conformant.",
        1: "A target is not conformant.",
        2: "Wrong usage, or a target file that is wrong.",
        3: "A server cannot be reached, or the suite itself failed.",
        4: "No case ran for a target.",
    },
)
def matrix_run(options: MatrixRunOptions) -> int:
    """Certify every target of a folder and write one page that compares them.

    What each run prints is in run.log beside its report. A target of which there is no report, such
    as one that cannot be reached, is named, and is not on the page. The exit code is the highest of
    all runs.
    """
    from v2_conformance.cli.reports.matrix_page import write_matrix
    from v2_conformance.report.files import REPORT, load_report
    from v2_conformance.report.verdict.standing import standing
    from v2_conformance.terminal_safe_text import plain

    for option in options.options:
        if option.partition("=")[0] in _OURS:
            raise UsageError(f"{option.partition('=')[0]} cannot be the same for every target")
    targets = _targets(options.folder)
    done: dict[str, _Done] = {}
    with (
        _Runs(options.report_dir, options.options) as runs,
        ThreadPoolExecutor(options.jobs) as pool,
    ):
        try:
            for future in as_completed([pool.submit(runs.run, target) for target in targets]):
                one = future.result()
                done[one.name] = one
                path = options.report_dir / one.name / REPORT
                words = standing(load_report(path)).words if one.reported else one.said
                print(plain(f"{one.name}: exit code {one.code}: {words}"), flush=True)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            runs.stop()
            raise
    names = [target.stem for target in targets]
    reports = [options.report_dir / name / REPORT for name in names if done[name].reported]
    for name in names:
        if not done[name].reported:
            print(plain(f"not on the page: {name}, which left no report"))
    if reports:
        print(*write_matrix(reports, options.report_dir / _PAGE), sep="\n")
    return max(one.code for one in done.values())


def _targets(folder: Path) -> list[Path]:
    """Return the target files in a folder, by name. Raises UsageError for none, and for duplicate
    names.
    """
    try:
        found = sorted(p for p in folder.iterdir() if p.suffix in _SUFFIXES and p.is_file())
    except OSError as error:
        raise UsageError(f"cannot read the folder {folder}: {error.strerror}") from error
    if not found:
        raise UsageError(f"{folder} has no target files (*.yaml, *.yml, *.json)")
    names = [path.stem for path in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"{folder} has two target files for {twice}: rename one")
    return found


@dataclass(frozen=True)
class _Done:
    """A run that has ended: its exit code, its last words, whether it left a report."""

    name: str
    code: int
    said: str
    reported: bool


class _Runs:
    """Runs of the suite, each in a process of its own, so that one cannot disturb another."""

    def __init__(self, report_dir: Path, options: Sequence[str]) -> None:
        self._report_dir = report_dir
        self._options = options
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False
        self._lock = Lock()

    def __enter__(self) -> _Runs:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop all runs, each with a report of what it has done so far; start nothing more."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                with suppress(ProcessLookupError):
                    process.terminate()

    def run(self, target: Path) -> _Done:
        """Run the suite against one target. Raises UsageError if its folder cannot be written."""
        from v2_conformance.report.files import REPORT

        folder = self._report_dir / target.stem
        before = _identity(folder / REPORT)
        command = [sys.executable, "-m", __package__.partition(".")[0], "run"]
        command += ["--target", str(target), "--report-dir", str(folder), *self._options]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with FileIO(create_new(folder / _LOG), "r+") as log:
                code = self._wait(command, log.fileno())
                log.seek(0)
                text = (log.read(_LONGEST_LOG) or b"").decode("utf-8", "replace")
        except OSError as error:
            raise unwritable(error, f"cannot write into {folder}: {error.strerror}") from error
        after = _identity(folder / REPORT)
        return _Done(target.stem, code, _last_line(text), after is not None and after != before)

    def _wait(self, command: Sequence[str], log: int) -> int:
        with self._lock:
            if self._stopped:
                return UnreachableError.exit_code
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )
            self._running.add(process)
        try:
            code = process.wait()
        finally:
            with self._lock:
                self._running.discard(process)
        return code if 0 <= code <= 4 else UnreachableError.exit_code  # a signal ended it


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from a replacement, None if there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _last_line(text: str) -> str:
    """Return the last line that a run printed, which says why it left no report."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].removeprefix(f"{PROGRAM}: ") if lines else "it printed nothing"
