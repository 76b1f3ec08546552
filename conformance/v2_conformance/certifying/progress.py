"""The terminal output of a run before its report: warnings, a progress bar or plain lines."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from v2_conformance.conversations.steps import CaseFinished
from v2_conformance.judging.metadata import ServerInfo
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.terminal_safe_text import plain, short, wrapped

if TYPE_CHECKING:
    from rich.progress import Progress

_CASES_PER_LINE = 100  # in a log
_NAME = 80


class Reporter:
    """Shows the progress of a run: a bar on a terminal, occasional lines in a log."""

    def __init__(
        self, total: int, tested: str, limit_s: float | None = None, workers: int = 1
    ) -> None:
        """`limit_s` is the time that the user gave the run, None for the usual limit."""
        bound = "" if limit_s is None else f" for at most {in_words(limit_s)} (--max-time)"
        several = f", {workers} cases at a time (-n)" if workers > 1 else ""
        self._title = f"testing {tested}{bound}{several}"
        self._failed: set[str] = set()
        self._bar = _bar(total) if sys.stderr.isatty() else None

    def __enter__(self) -> Reporter:
        for line in wrapped(self._title, "  "):
            print(line, file=sys.stderr)
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, event: CaseFinished) -> None:
        """Count a result and show it."""
        name = event.result.case.id
        if event.result.outcome in (Outcome.FAIL, Outcome.FLAKY):
            self._failed.add(name)
        else:
            self._failed.discard(name)  # it was withdrawn
        failed = len(self._failed)
        if self._bar is not None:
            text = f"testing, {failed} failed" if failed else "testing"
            self._bar.update(self._bar.task_ids[0], completed=event.number, description=text)
        elif event.number % _CASES_PER_LINE == 0 or event.number == event.total:
            print(f"{event.number}/{event.total} cases, {failed} failed", file=sys.stderr)


def served(server: ServerInfo) -> str:
    """The name and version that a server gives itself, as one short line of printable ASCII."""
    return plain(short(" ".join(f"{server.name} {server.version}".split()), _NAME)) or "unnamed"


def in_words(duration_s: float) -> str:
    """A duration as people say it: "45 s", "78 min", "5 h"."""
    if duration_s < 120:
        return f"{duration_s:g} s"
    return f"{duration_s / 60:.0f} min" if duration_s < 7200 else f"{duration_s / 3600:.0f} h"


def _bar(total: int) -> Progress:
    # Slow to import, and a log needs none of it.
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(file=getattr(sys.stderr, "unescaped", sys.stderr), highlight=False),
        transient=True,
    )
    bar.add_task("testing", total=total)
    return bar


def warnings_about_secrets(target: Target) -> list[str]:
    """Return which secrets cannot be hidden everywhere, in lines that fit the terminal."""
    names = target.hidden_in_place
    if not names:
        return []
    return wrapped(
        f"warning: the value of {' and of '.join(names)} is too short or too common to be hidden "
        "wherever it stands, only in the header field itself; if it is not a secret, name it in "
        "`public` of a target file",
        "  ",
    )
