"""schemas/report.schema.json, made of the types of a report.

After a change of the types, write it anew in a checkout:

    python -m v2_conformance.maintenance.report_schema > schemas/report.schema.json

Other programs rely on the members of a report: an incompatible change needs another
`report.document_part.REPORT_FORMAT`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, get_args

import msgspec

from v2_conformance.report.document import Report
from v2_conformance.suite.causes import Cause

_REFERENCE = "#/$defs/{name}"
_WIDTH = 100


def report_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of report.json."""
    types = (Report, *get_args(Cause))
    (_, *causes), definitions = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    shown = {name: tidied(definition, causes) for name, definition in definitions.items()}
    shown["Cause"] = {
        "title": "Cause",
        "description": "Why a case has its outcome; `kind` names the type.",
        "anyOf": causes,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://v2-conformance.invalid/schemas/report.schema.json",
        **shown.pop("Report"),
        "title": "The report of one run",
        "$defs": dict(sorted(shown.items())),
    }


def schema_of(kind: type, name: str, title: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of another file, schemas/NAME.schema.json, from its type alone."""
    _, definitions = msgspec.json.schema_components((kind,), ref_template=_REFERENCE)
    shown = {part: tidied(definition) for part, definition in definitions.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://v2-conformance.invalid/schemas/{name}.schema.json",
        **shown.pop(kind.__name__),
        "title": title,
        "$defs": dict(sorted(shown.items())),
    }


def schema_text() -> str:
    """The text of schemas/report.schema.json."""
    return printed(report_schema()) + "\n"


def printed(value: Any, indent: str = "", before: str = "") -> str:
    """JSON with each object on one line if there is room after `indent` and `before`."""
    short = json.dumps(value, ensure_ascii=False)
    if len(indent + before + short) < _WIDTH or not isinstance(value, dict | list):
        return short
    inner = indent + "  "
    if isinstance(value, list):
        items = [inner + printed(item, inner) for item in value]
    else:
        names = {json.dumps(name, ensure_ascii=False) + ": ": item for name, item in value.items()}
        items = [inner + name + printed(item, inner, name) for name, item in names.items()]
    opening, closing = "[]" if isinstance(value, list) else "{}"
    return opening + "\n" + ",\n".join(items) + "\n" + indent + closing


def tidied(value: Any, causes: Sequence[Any] = ()) -> Any:
    """A part of the schema with its descriptions on one line, and the union of all causes named."""
    if isinstance(value, list | tuple):
        return [tidied(item, causes) for item in value]
    if not isinstance(value, dict):
        return value
    if causes and value.get("anyOf") == causes:
        return {"$ref": _REFERENCE.format(name="Cause")}
    found = {name: tidied(item, causes) for name, item in value.items()}
    if isinstance(found.get("description"), str):
        found["description"] = " ".join(found["description"].split()).replace("None", "null")
    return found


if __name__ == "__main__":
    print(schema_text(), end="")
