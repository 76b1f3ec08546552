"""The examples of the documents as files: bodies, and what is in them, for authors of codecs.

They are made of examples.yaml, which says what its members mean. In a checkout:

    python -m tools.examples examples

This writes NAME.request.bin and NAME.response.bin, each of them one HTTP body, and beside each a
.json with its head and its tensors; examples/README.md describes these.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from tools.schemas import printed
from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.datatypes import from_json, from_values, to_values
from v2_conformance.protocol.message import Part, compose, parse_json
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.suite.requirements import documents
from v2_conformance.yaml_files import read_yaml

Kind = Literal["request", "response"]
JsonObject = dict[str, Any]
KINDS: tuple[Kind, ...] = ("request", "response")

_FILE = "examples.yaml"
# How the documents print JSON: what indents a line, what stands between a name and its value, and
# what beside the brackets of numbers; None is JSON without any white space.
_STYLES: Mapping[str, tuple[str, str, str] | None] = {
    "spaced": ("  ", " : ", " "),
    "plain": ("  ", ": ", ""),
    "flush": ("", " : ", " "),
    "compact": None,
}


def _message(example: JsonObject, kind: Kind, message: JsonObject) -> tuple[bytes, JsonObject]:
    """Return the body of a message, and the document that describes it."""
    tensors = _tensors(kind, message)
    blobs = [(str(tensor["name"]), tensor["blob"]) for tensor in tensors if "blob" in tensor]
    text = _json_text(example["style"], message, kind) if "json" in message else b""
    body, parts = compose(b"", text, blobs)
    length = len(text) if blobs and message.get("header_length", True) else None
    framed = {HEADER_LENGTH: str(length)} if length is not None else {}
    host = {"Host": example.get("host", "localhost:8000")} if kind == "request" else {}
    fields = {**host, "Content-Type": message["type"], **framed, "Content-Length": str(len(body))}
    start = {"method": "POST", "target": example["target"]} if host else {"status": 200}
    right = "wrong" not in message
    described = {
        "example": example["name"],
        "message": kind,
        "about": example["about"],
        "sources": list(_sources(example, kind)),
        "corrected": message.get("corrected", []),
        "wrong": message.get("wrong"),
        "http": {**start, "headers": [list(field) for field in fields.items()]},
        "body_size": len(body),
        "header_length": length,
        "json": parse_json(text) if right and text else None,
        "tensors": [_described(tensor, parts) for tensor in tensors] if right else [],
        "outputs": _asked(message) if right and kind == "request" else None,
    }
    return body, described


def _tensors(kind: Kind, message: JsonObject) -> list[JsonObject]:
    """Every tensor of a message, with its bytes: `blob` if it is binary, else `bytes`."""
    if "raw" in message:
        return [{"name": None, **message["raw"], "blob": _blob(message["raw"])}]
    return [
        {**entry, "blob": _blob(entry)} if "blob" in entry else {**entry, "bytes": _bytes(entry)}
        for entry in message["json"]["inputs" if kind == "request" else "outputs"]
    ]


def _blob(entry: Mapping[str, Any]) -> bytes:
    blob = from_values(entry["datatype"], entry["blob"])
    return blob.ljust(entry.get("size", 0), b"\0")


def _bytes(entry: Mapping[str, Any]) -> bytes:
    """The bytes that the `data` of a JSON tensor stands for; none if it is wrong."""
    try:
        return from_json(entry["datatype"], entry["shape"], entry["data"])
    except ValueError:
        return b""


def _json_text(style: str, message: JsonObject, kind: Kind) -> bytes:
    name = "inputs" if kind == "request" else "outputs"
    given = message["json"]
    document = {**given, name: [_entry(entry) for entry in given[name]]}
    text = _styled(document, style)
    if "replace" in message:
        old, new = message["replace"]
        if text.count(old) != 1:
            raise ValueError(f"the JSON has {old!r} {text.count(old)} times, not once")
        text = text.replace(old, new)
    return text.encode()


def _styled(value: Any, style: str, line: str = "\n") -> str:
    """`value` in a style, arrays of numbers on one line; `line` is a line break with its indent."""
    if (chosen := _STYLES[style]) is None:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    step, colon, inside = chosen
    inner = line + step

    def lines(items: Iterable[str]) -> str:
        return inner + ("," + inner).join(items) + line

    if isinstance(value, dict):
        names = (json.dumps(name, ensure_ascii=False) + colon for name in value)
        members = (_styled(item, style, inner) for item in value.values())
        return "{" + lines(map("".join, zip(names, members, strict=True))) + "}"
    if not isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    if any(isinstance(item, dict) for item in value):
        return "[" + lines(_styled(item, style, inner) for item in value) + "]"
    beside = "" if any(isinstance(item, list) for item in value) else inside
    return f"[{beside}{', '.join(_styled(item, style, line) for item in value)}{beside}]"


def _entry(entry: Mapping[str, Any]) -> JsonObject:
    """A tensor as the JSON has it."""
    if "blob" not in entry:
        return dict(entry)
    seen = {name: value for name, value in entry.items() if name not in ("blob", "size")}
    return {**seen, "parameters": {"binary_data_size": len(_blob(entry))}}


def _sources(example: JsonObject, kind: Kind) -> Iterator[JsonObject]:
    for source in example["sources"]:
        document = documents()[source["document"]]
        if kind in source:
            yield {
                "document": source["document"],
                "title": document.title,
                "url": document.url,
                "section": source["section"],
                "paragraph": source[kind],
            }


def _described(tensor: Mapping[str, Any], parts: Sequence[Part]) -> JsonObject:
    binary = "blob" in tensor
    data: bytes = tensor["blob" if binary else "bytes"]
    result = next((p for p in parts if p.kind == "blob" and p.name == str(tensor["name"])), None)
    return {
        "name": tensor["name"],
        "datatype": tensor["datatype"],
        "shape": tensor["shape"],
        "form": "binary" if binary else "json",
        "offset": result.start if result else None,
        "size": len(data),
        "data": base64.b64encode(data).decode(),
        "values": to_values(tensor["datatype"], data),
    }


def _asked(message: JsonObject) -> list[JsonObject] | None:
    """The outputs that a request lists, and whether each shall be a blob; null if it lists none."""
    if "outputs" not in message.get("json", {}):
        return None
    return [
        {"name": entry["name"], "binary_data": entry.get("parameters", {}).get("binary_data")}
        for entry in message["json"]["outputs"]
    ]


def main(folder: Path) -> None:
    """Write every file into `folder`, which has examples.yaml; remove those of no example."""
    messages = {
        f"{example['name']}.{kind}": _message(example, kind, example[kind])
        for example in read_yaml(folder / _FILE, CaseFileError).document["examples"]
        for kind in KINDS
        if kind in example
    }
    for path in [*folder.glob("*.bin"), *folder.glob("*.json")]:
        if path.stem not in messages:
            path.unlink()
    for stem, (body, described) in messages.items():
        (folder / f"{stem}.bin").write_bytes(body)
        (folder / f"{stem}.json").write_text(printed(described) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
