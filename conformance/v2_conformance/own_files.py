"""The files in cases/, as they are. The tests check each of them, so nothing is checked here; files
of strangers are read by `yaml_files`.

A wheel has all of them in one JSON file, which takes a thirtieth of the time to read.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from v2_conformance.resources import folder

COMPILED = "compiled.json"
"""The file beside them that has all of them by name (conformance/build_hook.py)."""


@cache
def own_document(name: str) -> Any:
    """Return the document of a file in cases/, such as "clients/reading.yaml"."""
    compiled = _compiled()
    if compiled is not None:
        return compiled[name]
    # Imported here because a run of an installed wheel does without.
    from v2_conformance.yaml_files import yaml_document

    return yaml_document((folder("cases") / name).read_bytes())


@cache
def own_names() -> tuple[str, ...]:
    """Return the names of all files in cases/, sorted."""
    root = folder("cases")
    return tuple(
        _compiled() or sorted(p.relative_to(root).as_posix() for p in root.rglob("*.yaml"))
    )


@cache
def _compiled() -> dict[str, Any] | None:
    path = folder("cases") / COMPILED
    documents: dict[str, Any] | None = json.loads(path.read_bytes()) if path.is_file() else None
    return documents
