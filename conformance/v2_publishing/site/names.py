"""Names of folders and pages, made of what servers call themselves.

A server may call itself anything: `../..`, a thousand characters, a device of Windows, the name of
another server in other letter case. Whatever it is, its name here is short, has no separator, and
is no other's on a file system that ignores case.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence

from v2_conformance.formats.registry import file_names
from v2_conformance.report.files import PACKED_REPORT, REPORT
from v2_publishing.site_index import INDEX

SERVERS, CLIENTS = "servers", "clients"
"""Folders of the pages of servers and clients in all their versions."""
PAGES = {"server": "index.html", "client": "clients.html"}
"""The matrix of each kind."""
IN_A_FOLDER = frozenset({PACKED_REPORT, *file_names()})
"""The files of each report."""

_RESERVED = frozenset({SERVERS, CLIENTS, INDEX, *PAGES.values(), REPORT})
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", *(f"{kind}{n}" for kind in ("com", "lpt") for n in range(10))}
)
_LONGEST = 80
_LONGEST_VERSION = 30
_LOOKED_AT = 400  # of a name
_OTHER = re.compile(r"[^a-z0-9.]+")
_FOLDER = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,98}[a-z0-9_-])?")


def slug(name: str, version: str | None = None) -> str:
    """A folder's name: lower-case letters of ASCII, digits, "-" and "."; never empty."""
    text = _plain(name, _LONGEST) or "unnamed"
    if version is not None:
        text = "-".join(filter(None, (text, _plain(version, _LONGEST_VERSION))))
    return f"x-{text}" if text in _RESERVED or text.partition(".")[0] in _DEVICES else text


def free_slugs(wanted: Sequence[tuple[str, object]], taken: Collection[str] = ()) -> list[str]:
    """A name for each of `wanted`, all different and none of `taken`.

    Each is a slug and what tells it apart. A slug that is wanted once and free is the name; the
    others get a digest, so that none has to change its name when one of them goes.
    """
    counts = Counter(name for name, _ in wanted)
    used = {*taken, *counts}
    results = []
    for name, apart in wanted:
        if counts[name] > 1 or name in taken:
            digest = hashlib.sha256(repr(apart).encode("utf-8", "surrogatepass")).hexdigest()
            digests = (digest[:size] for size in range(8, len(digest) + 1, 8))
            name = next(new for d in digests if (new := f"{name}-{d}") not in used)
            used.add(name)
        results.append(name)
    return results


def is_folder_name(name: str) -> bool:
    """Return True if a report's folder in a site may have this name."""
    safe = _FOLDER.fullmatch(name) is not None and ".." not in name
    return safe and name not in _RESERVED and name.partition(".")[0] not in _DEVICES


def is_site_path(path: str) -> bool:
    """Return True if a site may have a file there. index.json may be forged: nothing else is
    removed."""
    folder, _, name = path.rpartition("/")
    if not folder:
        return name in (INDEX, *PAGES.values())
    if folder in (SERVERS, CLIENTS):
        return name.endswith(".html") and is_folder_name(name.removesuffix(".html"))
    return is_folder_name(folder) and name in IN_A_FOLDER


def _plain(text: str, most: int) -> str:
    letters = unicodedata.normalize("NFKD", text[:_LOOKED_AT]).encode("ascii", "ignore").decode()
    parts = [part.strip("-") for part in _OTHER.sub("-", letters.lower()).split(".")]
    return ".".join(part for part in parts if part)[:most].strip("-.")
