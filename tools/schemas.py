"""The files in schemas/ that are made of types: of reports, of other files, of clients' messages.

After a change of the types, write them anew in a checkout:

    python -m tools.schemas

Other programs rely on the members of a report and of a site's index: an incompatible change needs
another `report.tested.REPORT_FORMAT` or `report.site_index.SITE_FORMAT`.
"""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from tools import ROOT
from v2_clients.bench import messages
from v2_conformance.report import document, tested
from v2_conformance.report.bodies import JsonBody, Place
from v2_conformance.suite import client_lines
from v2_conformance.suite.causes.causes import CAUSES
from v2_conformance.wire.exchange import Body
from v2_publishing import site_index

MADE: Mapping[str, tuple[type, str]] = {
    "client-line": (
        client_lines.Line,
        "What a client says of one request: one line of JSON on its output",
    ),
    "client-task": (messages.Task, "What a client is asked for: a line of its standard input"),
    "report": (document.Report, "The report of one run"),
    "site": (site_index.SiteIndex, "The index of a site of reports"),
}
"""Name of the schema to the type that it is made of, and its title."""

_REFERENCE = "#/$defs/{name}"
_WIDTH = 100


def made_schema(name: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) in schemas/NAME.schema.json, for a name in MADE."""
    kind, title = MADE[name]
    types = (kind, Place, *CAUSES) if kind is document.Report else (kind, kind)
    (_, _, *causes), definitions = msgspec.json.schema_components(
        types, schema_hook=_body, ref_template=_REFERENCE
    )
    for module in (document, tested, client_lines, messages, site_index):
        for part, definition in definitions.items():
            if isinstance(vars(module).get(part), type(msgspec.Struct)):
                _describe(vars(module)[part], definition["properties"])
    shown = {part: _tidied(definition, causes) for part, definition in definitions.items()}
    if kind is document.Report:
        shown["Cause"] = {
            "title": "Cause",
            "description": "Why a case has its outcome; `kind` names the type. The description of "
            "each is its sentence: members are in braces, what may be left out in brackets.",
            "anyOf": causes,
        }
    if kind is client_lines.Line:
        shown["Line"]["oneOf"] = [
            {"required": [one], "properties": {one: {"not": {"type": "null"}}}}
            for one in messages.ONE_OF
        ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://v2-conformance.invalid/schemas/{name}.schema.json",
        **shown.pop(kind.__name__),
        "title": title,
        "$defs": dict(sorted(shown.items())),
    }


def _describe(kind: Any, properties: dict[str, Any]) -> None:
    """Add the docstrings of a type's members to their schemas."""
    names = dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
    for base in kind.__mro__[: kind.__mro__.index(msgspec.Struct)]:
        (tree,) = ast.parse(inspect.getsource(base)).body
        for member, text in pairwise(tree.body):  # type: ignore[attr-defined]
            if isinstance(member, ast.AnnAssign) and isinstance(text, ast.Expr):
                name = names[ast.unparse(member.target)]
                properties[name].pop("description", None)  # of its type
                properties[name] = {"description": ast.literal_eval(text.value), **properties[name]}


def _body(kind: type) -> Any:
    """A message: itself, or its place in the streams."""
    if kind is not Body:
        raise NotImplementedError
    (result,), _ = msgspec.json.schema_components((JsonBody,), ref_template=_REFERENCE)
    return result


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


def _tidied(value: Any, causes: Sequence[Any]) -> Any:
    """A part of the schema with its descriptions on one line, and the union of all causes named."""
    if isinstance(value, list | tuple):
        return [_tidied(item, causes) for item in value]
    if not isinstance(value, dict):
        return value
    if causes and value.get("anyOf") == causes:
        return {"$ref": _REFERENCE.format(name="Cause")}
    result = {name: _tidied(item, causes) for name, item in value.items()}
    if isinstance(result.get("description"), str):
        result["description"] = " ".join(result["description"].split()).replace("None", "null")
    return result


def main(folder: Path = ROOT / "schemas") -> None:
    """Write the files."""
    for name in MADE:
        path = folder / f"{name}.schema.json"
        path.write_text(printed(made_schema(name)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
