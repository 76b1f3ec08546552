"""A cache of what is made from the suite's own files, so that not every process makes it.

To read, check and expand cases/*.yaml takes longer than most commands do. So the first process that
needs the cases keeps them, pickled, where Python keeps the package's bytecode: whoever can write
there can change the code as well. A file begins with the digest of its content and of everything
that decides the content. What does not match is made again; where nothing can be written, every
process makes it.
"""

from __future__ import annotations

import hashlib
import pickle
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TypeVar

from v2_conformance.bounded_files import read_bounded, write_whole
from v2_conformance.errors import CaseFileError
from v2_conformance.resources import PACKAGE, folder
from v2_conformance.version import __version__

_Made = TypeVar("_Made")

_MOST_BYTES = 64 << 20
_KEPT_IN = PACKAGE / "__pycache__"


def derived(name: str, make: Callable[[], _Made]) -> _Made:
    """Return what `make` makes of the suite's own files, or what was kept of that under `name`.

    What cannot be pickled is not kept. Raises what `make` raises.
    """
    path = _KEPT_IN / f"derived-{name}.{sys.implementation.cache_tag}.pickle"
    try:
        sources = _sources()
    except (OSError, CaseFileError):
        return make()
    kept = _read(path, sources)
    if kept is not None:
        found: _Made = pickle.loads(kept)
        return found
    made = make()
    with suppress(OSError, CaseFileError, pickle.PicklingError, AttributeError, TypeError):
        content = pickle.dumps(made)
        if _digest_of_sources() == sources:  # nobody has changed one in the meantime
            path.parent.mkdir(exist_ok=True)
            # Another process may read or write it at the same time.
            suffix = f".{secrets.token_hex(8)}"
            write_whole(path, (_digest(sources, content), content), suffix=suffix)
    return made


@cache
def _sources() -> bytes:
    return _digest_of_sources()


def _digest_of_sources() -> bytes:
    """Return the digest of everything that decides what is made: data, schemas, code and version.

    Raises OSError, or CaseFileError, if not all of it can be read.
    """
    total = hashlib.sha256(__version__.encode())
    for path in _files():
        data = read_bounded(path, _MOST_BYTES, CaseFileError)
        total.update(f"\n{path.name} {len(data)}\n".encode())
        total.update(data)
    return total.digest()


def _files() -> Iterator[Path]:
    yield from sorted(folder("cases").rglob("*.yaml"))
    yield from sorted(folder("schemas").glob("*.json"))
    # What reads the files, and the types that it makes of them.
    yield from sorted(PACKAGE.glob("*.py"))
    yield from sorted((PACKAGE / "suite").rglob("*.py"))
    yield from sorted((PACKAGE / "protocol").rglob("*.py"))


def _read(path: Path, sources: bytes) -> bytes | None:
    """Return the content of a file that was made of these `sources`; None if there is none."""
    try:
        if not path.is_file():
            return None
        data = read_bounded(path, _MOST_BYTES, CaseFileError)
    except (OSError, CaseFileError):
        return None
    content = data[len(sources) :]
    return content if data == _digest(sources, content) + content else None


def _digest(sources: bytes, content: bytes) -> bytes:
    return hashlib.sha256(sources + content).digest()
