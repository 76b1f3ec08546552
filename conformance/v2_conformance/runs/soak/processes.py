"""Reads what the processes of a server hold with psutil: memory, open files, threads.

A server may fork workers, so a process is watched with all of its descendants.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from v2_conformance.errors import UsageError

if TYPE_CHECKING:
    import psutil

INSTALL = "pip install 'v2-conformance[soak]'"


@dataclass(frozen=True)
class Usage:
    """Resources of a process and its descendants: resident bytes, open files, threads, and the
    number of processes. None is what the system does not tell.
    """

    memory: int | None
    files: int | None
    threads: int | None
    processes: int


class ProcessWatch:
    """Watches one process. `gone` says that it has ended, once `usage` has noticed."""

    def __init__(self, pid: int) -> None:
        """Watch process `pid`. Raises UsageError if there is no such process, or without psutil."""
        try:
            import psutil
        except ImportError as error:
            raise UsageError(
                f"to watch a server's memory and open files, install psutil: {INSTALL}"
            ) from error
        self._psutil = psutil
        self.pid = pid
        self.gone = False
        try:
            self._process = psutil.Process(pid)
        except (psutil.NoSuchProcess, OverflowError) as error:
            raise UsageError(
                f"there is no process {pid}: --pid needs that of the server"
            ) from error
        except psutil.AccessDenied as error:
            raise UsageError(
                f"process {pid} may not be read: run as the user who owns it"
            ) from error

    def usage(self) -> Usage | None:
        """Return what the processes hold now; None once the process has ended."""
        ended = self._psutil.NoSuchProcess  # and a zombie
        try:
            running = self._process.is_running()
            running = running and self._process.status() != self._psutil.STATUS_ZOMBIE
            tree = [self._process, *self._process.children(recursive=True)] if running else []
        except ended:
            tree = []
        except self._psutil.AccessDenied:
            tree = [self._process]
        if not tree:
            self.gone = True
            return None
        return Usage(
            self._sum(tree, lambda one: one.memory_info().rss),
            self._sum(tree, _open_files),
            self._sum(tree, lambda one: one.num_threads()),
            len(tree),
        )

    def unreadable(self) -> tuple[str, ...]:
        """Return what the system does not tell about the process, in words."""
        usage = self.usage()
        if usage is None:
            return ()
        values = {"memory": usage.memory, "open files": usage.files, "threads": usage.threads}
        return tuple(name for name, value in values.items() if value is None)

    def _sum(self, tree: list[psutil.Process], of: Any) -> int | None:
        """Return the sum over all processes; None if one may not be read. Processes that have just
        ended do not count.
        """
        total = 0
        for process in tree:
            try:
                total += of(process)
            except self._psutil.NoSuchProcess:
                continue
            except (self._psutil.AccessDenied, OSError, NotImplementedError):
                return None
        return total


def _open_files(process: Any) -> int:
    count = process.num_fds if hasattr(process, "num_fds") else process.num_handles
    return int(count())
