"""What is made of the suite's own files, kept so that it is made once, and not in every process.

To read, check and expand cases/*.yaml takes longer than most commands have. So the first process
that needs the cases keeps them as JSON, where Python keeps the package's bytecode: who can write
there can change the code as well. A file begins with the digest of all that its content was made
of, and with that of the content. Whatever does not have both is made anew; where nothing can be
written, every process makes it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TypeVar

import msgspec

from v2_conformance.bounded_files import read_bounded, write_whole
from v2_conformance.errors import CaseFileError
from v2_conformance.resources import PACKAGE, folder
from v2_conformance.version import __version__

_Made = TypeVar("_Made")

_MOST_BYTES = 64 << 20
_HEX = 64
_KEPT_IN = PACKAGE / "__pycache__"
# What reads the files, and the types that it makes of them: the modules of these folders.
_CODE = (PACKAGE, PACKAGE / "suite", PACKAGE / "protocol")


def derived(name: str, kind: type[_Made], make: Callable[[], _Made]) -> _Made:
    """What `make` makes of the suite's own files, or what was kept of that under `name`.

    `kind` is its type, of which msgspec has to be able to make the very same again: what it cannot
    is not kept. Raises what `make` raises.
    """
    try:
        sources = _sources()
    except (OSError, CaseFileError):
        return make()
    path = _KEPT_IN / f"derived-{name}.json"
    kept = _read(path, sources)
    if kept is not None:
        with suppress(msgspec.MsgspecError, ValueError):
            return msgspec.json.decode(kept, type=kind)
    made = make()
    with suppress(OSError, TypeError, ValueError, CaseFileError, msgspec.MsgspecError):
        content = msgspec.json.encode(made)
        same = repr(msgspec.json.decode(content, type=kind)) == repr(made)
        if same and _digest_of_sources() == sources:  # nobody has changed one in the meantime
            _write(path, sources, content)
    return made


@cache
def _sources() -> bytes:
    return _digest_of_sources()


def _digest_of_sources() -> bytes:
    """The digest of everything that decides what is made: data, schemas, code and version.

    Raises OSError, or CaseFileError, if not all of it can be read.
    """
    total = hashlib.sha256(__version__.encode())
    for path in _files():
        data = read_bounded(path, _MOST_BYTES, CaseFileError)
        total.update(f"\n{path.name} {len(data)}\n".encode())
        total.update(data)
    return total.hexdigest().encode()


def _files() -> Iterator[Path]:
    data = folder("cases")
    for each in (data, data / "clients", folder("schemas"), *_CODE):
        with os.scandir(each) as entries:
            names = sorted(e.name for e in entries if e.name.endswith((".yaml", ".json", ".py")))
        yield from (each / name for name in names)


def _read(path: Path, sources: bytes) -> bytes | None:
    """The content of a file that was made of these `sources`; None if there is none."""
    try:
        if not path.is_file():
            return None
        data = read_bounded(path, _MOST_BYTES, CaseFileError)
    except (OSError, CaseFileError):
        return None
    content = data[2 * _HEX :]
    return content if data[: 2 * _HEX] == sources + _digest(content) else None


def _write(path: Path, sources: bytes, content: bytes) -> None:
    """Put the file in its place as a whole: another process may read it, or write it, too."""
    path.parent.mkdir(exist_ok=True)
    pieces = (sources, _digest(content), content)
    write_whole(path, pieces, suffix=f".{secrets.token_hex(8)}")


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
