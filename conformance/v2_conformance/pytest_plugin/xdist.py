"""State that the processes of one pytest session share under xdist: a folder, a lock, the dead."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from v2_conformance.options.selection import PluginOptions

FOLDER = "v2_conformance_folder"
SERVER = "v2_conformance_server"
LEFT_S = "v2_conformance_left_s"
SEED = "v2_conformance_seed"
"""The data that xdist's controller hands to its workers, in `workerinput`."""

OBSERVED = "v2_conformance_observed"
"""The data that its workers hand back, in `workeroutput`."""


class SharedDeaths:
    """Dead models, shared with every worker through files in a folder. See engine.Deaths."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def killer_of(self, role: str | None) -> str | None:
        """See engine.Deaths."""
        for name in (None, role):
            with contextlib.suppress(FileNotFoundError):
                return self._path(name).read_text(encoding="utf-8")
        return None

    def add(self, role: str | None, case_id: str) -> None:
        """See engine.Deaths."""
        with contextlib.suppress(FileExistsError), self._path(role).open("x") as file:
            file.write(case_id)

    def clear(self, role: str | None) -> None:
        """See engine.Deaths."""
        paths = self._folder.glob("killed-*") if role is None else [self._path(role)]
        for path in paths:
            path.unlink(missing_ok=True)

    def _path(self, role: str | None) -> Path:
        name = "server" if role is None else "role-" + re.sub(r"[^A-Za-z0-9]", "_", role)
        return self._folder / f"killed-{name}"


def is_worker(config: pytest.Config) -> bool:
    """Return True if this process runs tests for xdist's controller."""
    return hasattr(config, "workerinput")


def shared_folder(config: pytest.Config) -> Path:
    """A folder that this session's processes share, and no other session does."""
    folder = getattr(config, "workerinput", {}).get(FOLDER)
    return Path(folder or tempfile.mkdtemp(prefix="v2-conformance-"))


def shared_options(options: PluginOptions, config: pytest.Config) -> PluginOptions:
    """The options of this process: workers share the seed."""
    given = getattr(config, "workerinput", {})
    return replace(options, seed=given.get(SEED, options.seed))


class SharedServer:
    """The server, which every worker uses; known through files in a folder. See engine.Room."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._disturbances = folder / "disturbances"  # a byte for each
        self._before = self._begun = 0  # so many when the case before began, and this one

    def shared(self) -> AbstractContextManager[None]:
        """See engine.Room."""
        return _locked(self._folder, exclusive=False)

    def alone(self) -> AbstractContextManager[None]:
        """See engine.Room."""
        return _locked(self._folder, exclusive=True)

    def begin(self) -> None:
        """See engine.Room."""
        self._before, self._begun = self._begun, self._count()

    def disturb(self) -> None:
        """See engine.Room."""
        with self._disturbances.open("ab") as file:
            file.write(b"!")

    def disturbed(self) -> bool:
        """See engine.Room."""
        return self._count() > self._before

    def _count(self) -> int:
        with contextlib.suppress(FileNotFoundError):
            return self._disturbances.stat().st_size
        return 0


@contextlib.contextmanager
def _locked(folder: Path, *, exclusive: bool) -> Iterator[None]:
    """Share the server with other workers' cases, or have it alone."""
    try:
        import fcntl
    except ImportError:  # no such lock here; without xdist none is needed
        yield
        return
    with (folder / "lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
        yield
