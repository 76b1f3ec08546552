"""Where `cases/` and `schemas/` are: inside the installed package, or beside it in a checkout."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastjsonschema
from fastjsonschema import JsonSchemaException

from conformance.errors import UsageError

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

_PACKAGE = Path(__file__).resolve().parent


@cache
def folder(name: str) -> Path:
    """The folder `cases` or `schemas`. An installed wheel carries it inside the package."""
    for candidate in (_PACKAGE / name, _PACKAGE.parent / name):
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
    """Whether `document` fits schemas/NAME.schema.json; where not, `schema` has the words.

    Almost every document is right, and the compiled check says so twenty times faster.
    """
    try:
        _compiled(name)(document)
    except JsonSchemaException:
        return False
    return True


@cache
def _compiled(name: str) -> Callable[[object], object]:
    check: Callable[[object], object] = fastjsonschema.compile(
        schema_document(name), use_default=False
    )
    return check
