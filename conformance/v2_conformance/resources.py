"""Where `cases/` and `schemas/` are: inside the installed package, or beside it in a checkout."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from v2_conformance.errors import UsageError

if TYPE_CHECKING:
    import jsonschema_rs
    from jsonschema import Draft202012Validator

PACKAGE = Path(__file__).resolve().parent


@cache
def folder(name: str) -> Path:
    """The folder `cases` or `schemas`. An installed wheel carries it inside the package."""
    for candidate in (PACKAGE / name, PACKAGE.parents[1] / name):
        if candidate.is_dir():
            return candidate
    raise UsageError(f"the installation lacks its {name}/ folder; install v2-conformance again")


@cache
def schema_document(name: str) -> dict[str, Any]:
    """schemas/NAME.schema.json."""
    document: dict[str, Any] = json.loads((folder("schemas") / f"{name}.schema.json").read_text())
    return document


@cache
def schema(name: str) -> Draft202012Validator:
    """The validator for schemas/NAME.schema.json (JSON Schema 2020-12)."""
    # Takes its time, and a run in which every document fits does without.
    from jsonschema import Draft202012Validator

    return Draft202012Validator(schema_document(name))


def fits(name: str, document: object) -> bool:
    """Return True if `document` fits schemas/NAME.schema.json; if not, `schema` decides.

    Almost every document is right, and this check says so a hundred times faster. It passes nothing
    that `schema` refuses, but refuses more: infinities, say.
    """
    try:
        return _compiled(name).is_valid(document)
    except ValueError:  # text with half a surrogate pair, or nesting too deep for it
        return False


@cache
def _compiled(name: str) -> jsonschema_rs.Draft202012Validator:
    import jsonschema_rs

    return jsonschema_rs.Draft202012Validator(schema_document(name))
