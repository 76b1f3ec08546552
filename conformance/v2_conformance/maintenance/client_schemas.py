"""schemas/client-task.schema.json and schemas/client-line.schema.json, made of their types.

After a change of the types, write them anew in a checkout:

    python -m v2_conformance.maintenance.client_schemas
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from v2_conformance.maintenance.report_schema import printed, tidied
from v2_conformance.resources import folder
from v2_conformance.suite.tasks import ONE_OF, Line, Task

_TITLES = {
    "client-task": (Task, "What a client is asked for: the JSON in the file V2_BENCH_TASK"),
    "client-line": (Line, "What a client says of one request: one line of JSON on its output"),
}


def client_schemas() -> dict[str, dict[str, Any]]:
    """Name of the schema to the schema (2020-12)."""
    return {name: _schema(name, kind, title) for name, (kind, title) in _TITLES.items()}


def schema_texts() -> dict[str, str]:
    """File name to the text of each."""
    return {
        f"{name}.schema.json": printed(document) + "\n"
        for name, document in client_schemas().items()
    }


def _schema(name: str, kind: type, title: str) -> dict[str, Any]:
    reference = "#/$defs/{name}"
    _, definitions = msgspec.json.schema_components((kind,), ref_template=reference)
    shown = {name: tidied(definition) for name, definition in definitions.items()}
    if kind is Line:
        one_of = [
            {"required": [one], "properties": {one: {"not": {"type": "null"}}}} for one in ONE_OF
        ]
        shown["Line"]["oneOf"] = one_of
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://v2-conformance.invalid/schemas/{name}.schema.json",
        **shown.pop(kind.__name__),
        "title": title,
        "$defs": dict(sorted(shown.items())),
    }


if __name__ == "__main__":
    for file_name, text in schema_texts().items():
        Path(folder("schemas") / file_name).write_text(text)
