"""Where `cases/` and `schemas/` are: inside the installed package, or beside it in a checkout."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from conformance.errors import UsageError

_PACKAGE = Path(__file__).resolve().parent


@cache
def folder(name: str) -> Path:
    """The folder `cases` or `schemas`. An installed wheel carries it inside the package."""
    for candidate in (_PACKAGE / name, _PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise UsageError(f"the installation lacks its {name}/ folder; install v2-conformance again")


@cache
def schema(name: str) -> Draft202012Validator:
    """The validator for schemas/NAME.schema.json (JSON Schema 2020-12)."""
    document: dict[str, Any] = json.loads((folder("schemas") / f"{name}.schema.json").read_text())
    return Draft202012Validator(document)
