"""A process is watched with what it has started, as far as that can be seen."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from v2_conformance.errors import UsageError
from v2_conformance.runs.soak.processes import ProcessWatch

_PARENT = (
    "import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', 'input()'], "
    "stdin=subprocess.PIPE); print('ready', flush=True); input()"
)


def test_a_process_is_watched_with_what_it_has_started() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _PARENT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        watch = ProcessWatch(parent.pid)
        usage = watch.usage()
        os.killpg(parent.pid, signal.SIGKILL)
        parent.wait()
        assert usage is not None
        assert usage.processes == 2
        assert (usage.memory or 0) > 1 << 20
        assert (usage.files or 0) >= 6
        assert (usage.threads or 0) >= 2
        assert watch.usage() is None
        assert watch.gone
    with pytest.raises(UsageError, match=f"no process {parent.pid}"):
        ProcessWatch(parent.pid)


def test_files_that_may_not_be_counted_are_named() -> None:
    class Closed(ProcessWatch):
        def _sum(self, tree: object, of: object) -> int | None:
            return None

    assert Closed(os.getpid()).unreadable() == ("memory", "open files", "threads")
    assert ProcessWatch(os.getpid()).unreadable() == ()


def test_a_system_without_psutil_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psutil", None)
    with pytest.raises(UsageError, match=r"pip install 'v2-conformance\[soak\]'"):
        ProcessWatch(os.getpid())
