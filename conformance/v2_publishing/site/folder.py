"""The folder of a site: what in it is the site's, and how a new site takes the place of the old.

Everything is built in a folder within. Only then are files moved, each in one step, and if one
cannot be, all are moved back. What the site did not write is never touched.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec

from v2_conformance.bounded_files import read_bounded, sole_use
from v2_conformance.errors import UsageError, unwritable
from v2_publishing.site.names import is_site_path
from v2_publishing.site_index import INDEX, SITE_FORMAT, OldSite

WORK = ".v2-conformance-publish"
"""The folder in which a site is built; it is gone once it is built, or failed."""
_LONGEST_INDEX = 64 << 20


@dataclass(frozen=True)
class SiteFolder:
    """The folder of a site, as it was found: `files` are those that the site there wrote."""

    path: Path
    files: frozenset[str]

    @property
    def work(self) -> Path:
        """Where the new site is built."""
        return self.path / WORK


@contextmanager
def opened(path: Path) -> Iterator[SiteFolder]:
    """The folder of a site, made if it is not there, for this process alone.

    Raises UsageError if it has files and no site, another `publish` is at work there, or it cannot
    be written to.
    """
    in_use = UsageError(f"another `publish` is writing into {path}: wait for it")
    with sole_use(path, in_use, partial(_unwritable, path)):
        files = _files_of(path)
        work = path / WORK
        try:
            _remove(work)  # what a build that was killed left
            work.mkdir()
        except OSError as error:
            raise _unwritable(path, error) from error
        try:
            yield SiteFolder(path, files)
        finally:
            with suppress(OSError):
                _remove(work)


def _unwritable(path: Path, error: OSError) -> UsageError:
    return unwritable(error, f"cannot write into {path}: {error.strerror}")


def replace_site(
    folder: SiteFolder, built: Path, files: Collection[str], ours: Collection[str]
) -> None:
    """Move `files` from `built` into the folder, and remove those that the old site alone had.

    `ours` are files that may be overwritten although no site wrote them. Raises UsageError, and
    leaves the old site, if a file is in the way or cannot be moved.
    """
    moving = sorted(files, key=lambda name: ("/" not in name, name == INDEX, name))
    changed = [name for name in moving if not _is_same(folder.path / name, built / name)]
    for name in changed:
        _check_place(folder, name, ours)
    stale = sorted(name for name in folder.files - set(files) if _is_plain(folder.path, name))
    _Swap(folder.path, folder.work / "before").run(built, changed, stale)
    for parent in {name.rpartition("/")[0] for name in stale} - {""}:
        with suppress(OSError):  # there is something else in it
            (folder.path / parent).rmdir()


def _files_of(path: Path) -> frozenset[str]:
    """The files of the site in a folder. Raises UsageError if it has others, but no site."""
    index = path / INDEX
    try:
        empty = set(os.listdir(path)) <= {WORK}
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    if empty:
        return frozenset()
    wrong = UsageError(
        f"{path} has files in it, but no site that `publish` made (its {INDEX} would say so): name "
        "an empty folder, or a new one"
    )
    if not index.is_file():
        raise wrong
    try:
        old = msgspec.json.decode(read_bounded(index, _LONGEST_INDEX, UsageError), type=OldSite)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise wrong from error
    if old.site.name != "v2-conformance":
        raise wrong
    if old.site.format > SITE_FORMAT:
        raise UsageError(f"a newer version of v2-conformance made the site in {path}: use that one")
    return frozenset({INDEX, *filter(is_site_path, old.files)})


def _check_place(folder: SiteFolder, name: str, ours: Collection[str]) -> None:
    path = folder.path / name
    parent = path.parent
    if parent != folder.path and os.path.lexists(parent) and not _is_folder(parent):
        raise UsageError(f"{parent} is in the way of a folder of the site: move it away")
    if not os.path.lexists(path):
        return
    # A link is replaced and not followed, as everywhere; a folder cannot be.
    if _is_folder(path) or not (name in folder.files or name in ours):
        raise UsageError(f"{path} is in the way of a file of the site: move it away")


def _is_folder(path: Path) -> bool:
    """Return True if it is a folder itself, and no link to one."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def _is_plain(site: Path, name: str) -> bool:
    """Return True if a file of the site is there, and not by way of a link to another folder."""
    path = site / name
    return (path.parent == site or _is_folder(path.parent)) and (
        os.path.lexists(path) and not _is_folder(path)
    )


def _is_same(old: Path, new: Path) -> bool:
    """Return True if a file is there already, byte for byte."""
    try:
        if not stat.S_ISREG(old.lstat().st_mode) or old.stat().st_size != new.stat().st_size:
            return False
        with old.open("rb") as a, new.open("rb") as b:
            while True:
                piece = a.read(1 << 20)
                if piece != b.read(1 << 20):
                    return False
                if not piece:
                    return True
    except OSError:
        return False


def _remove(path: Path) -> None:
    if _is_folder(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()


@dataclass
class _Swap:
    """Moves files into a folder, and, if that fails, everything back."""

    site: Path
    before: Path
    _undo: list[tuple[Path, Path]] = field(default_factory=list)
    _folders: list[Path] = field(default_factory=list)

    def run(self, built: Path, names: Sequence[str], stale: Sequence[str]) -> None:
        try:
            for name in names:
                self._set_aside(name)
                parent = (self.site / name).parent
                if not parent.is_dir():
                    parent.mkdir()
                    self._folders.append(parent)
                self._move(built / name, self.site / name)
            for name in stale:
                self._set_aside(name)
        except OSError as error:
            self._back()
            raise unwritable(
                error,
                f"cannot write {error.filename2 or error.filename}: {error.strerror}; the site is "
                "as it was",
            ) from error
        except BaseException:
            self._back()
            raise

    def _set_aside(self, name: str) -> None:
        if os.path.lexists(self.site / name):
            kept = self.before / name
            kept.parent.mkdir(parents=True, exist_ok=True)
            self._move(self.site / name, kept)

    def _move(self, source: Path, target: Path) -> None:
        os.replace(source, target)
        self._undo.append((target, source))

    def _back(self) -> None:
        for now, then in reversed(self._undo):
            with suppress(OSError):
                os.replace(now, then)
        for made in reversed(self._folders):
            with suppress(OSError):
                made.rmdir()
