"""The examples of the documents as files: bodies, and what is in them, for authors of codecs.

They are made of examples.yaml, which says what its members mean. In a checkout:

    python -m tools.examples examples

This writes NAME.request.bin and NAME.response.bin, each of them one HTTP body, and beside each a
.json with its head and its tensors; examples/README.md describes these.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from tools.json_styles import STYLES, styled_json
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


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a document has the example; `request` and `response` count the section's paragraphs."""

    document: str
    section: str
    request: int | None = None
    response: int | None = None


class Correction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Text in the files that replaces a mistake, and its place in the list of errata."""

    erratum: str
    here: str


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request or a response, as examples.yaml gives it."""

    type: str
    json: JsonObject | None = None
    raw: JsonObject | None = None
    corrected: tuple[Correction, ...] = ()
    wrong: str | None = None
    replace: tuple[str, str] | None = None
    header_length: bool = True


class Example(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One example, as examples.yaml gives it."""

    name: str
    about: str
    sources: tuple[Source, ...]
    style: str
    target: str
    request: Message
    response: Message | None = None
    host: str = "localhost:8000"

    def message(self, kind: Kind) -> Message | None:
        """Its request, or its response if the documents show one."""
        return self.request if kind == "request" else self.response


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    examples: tuple[Example, ...]


@dataclass(frozen=True)
class ExampleFiles:
    """One message: its body, and the document that describes it. `stem` is the files' name."""

    stem: str
    body: bytes
    described: JsonObject


def read_examples(path: Path) -> tuple[Example, ...]:
    """The examples in a file. Raises CaseFileError if it does not fit the types, or is no YAML."""
    file = read_yaml(path, CaseFileError)
    try:
        found = msgspec.convert(file.document, _File).examples
    except msgspec.ValidationError as error:
        raise CaseFileError(f"{file.name}: {error}") from error
    for example in found:
        if example.style not in STYLES:
            raise CaseFileError(f"{file.name}: {example.name}: unknown style {example.style}")
    return found


def example_files(examples: Sequence[Example]) -> Iterator[ExampleFiles]:
    """Each message of the examples as it is written."""
    for example in examples:
        for kind in KINDS:
            message = example.message(kind)
            if message is not None:
                yield _files(example, kind, message)


def _files(example: Example, kind: Kind, message: Message) -> ExampleFiles:
    tensors = _tensors(kind, message)
    blobs = [(str(tensor["name"]), tensor["blob"]) for tensor in tensors if "blob" in tensor]
    text = b"" if message.json is None else _json_text(example.style, message, kind)
    body, parts = compose(b"", text, blobs)
    length = len(text) if blobs and message.header_length else None
    framed = {HEADER_LENGTH: str(length)} if length is not None else {}
    host = {"Host": example.host} if kind == "request" else {}
    fields = {**host, "Content-Type": message.type, **framed, "Content-Length": str(len(body))}
    start = {"method": "POST", "target": example.target} if host else {"status": 200}
    right = message.wrong is None
    described = {
        "example": example.name,
        "message": kind,
        "about": example.about,
        "sources": list(_sources(example, kind)),
        "corrected": [{"erratum": c.erratum, "here": c.here} for c in message.corrected],
        "wrong": message.wrong,
        "http": {**start, "headers": [list(field) for field in fields.items()]},
        "body_size": len(body),
        "header_length": length,
        "json": parse_json(text) if right and text else None,
        "tensors": [_described(tensor, parts) for tensor in tensors] if right else [],
        "outputs": _asked(message) if right and kind == "request" else None,
    }
    return ExampleFiles(f"{example.name}.{kind}", body, described)


def _tensors(kind: Kind, message: Message) -> list[JsonObject]:
    """Every tensor of a message, with its bytes: `blob` if it is binary, else `bytes`."""
    if message.raw is not None:
        return [{"name": None, **message.raw, "blob": _blob(message.raw)}]
    assert message.json is not None
    return [
        {**entry, "blob": _blob(entry)} if "blob" in entry else {**entry, "bytes": _bytes(entry)}
        for entry in message.json["inputs" if kind == "request" else "outputs"]
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


def _json_text(style: str, message: Message, kind: Kind) -> bytes:
    name = "inputs" if kind == "request" else "outputs"
    assert message.json is not None
    document = {**message.json, name: [_entry(entry) for entry in message.json[name]]}
    text = styled_json(document, style)
    if message.replace is not None:
        old, new = message.replace
        if text.count(old) != 1:
            raise CaseFileError(f"the JSON has {old!r} {text.count(old)} times, not once")
        text = text.replace(old, new)
    return text.encode()


def _entry(entry: Mapping[str, Any]) -> JsonObject:
    """A tensor as the JSON has it."""
    if "blob" not in entry:
        return dict(entry)
    seen = {name: value for name, value in entry.items() if name not in ("blob", "size")}
    return {**seen, "parameters": {"binary_data_size": len(_blob(entry))}}


def _sources(example: Example, kind: Kind) -> Iterator[JsonObject]:
    for source in example.sources:
        paragraph = source.request if kind == "request" else source.response
        document = documents()[source.document]
        if paragraph is not None:
            yield {
                "document": source.document,
                "title": document.title,
                "url": document.url,
                "section": source.section,
                "paragraph": paragraph,
            }


def _described(tensor: Mapping[str, Any], parts: Sequence[Part]) -> JsonObject:
    binary = "blob" in tensor
    data: bytes = tensor["blob" if binary else "bytes"]
    found = next((p for p in parts if p.kind == "blob" and p.name == str(tensor["name"])), None)
    return {
        "name": tensor["name"],
        "datatype": tensor["datatype"],
        "shape": tensor["shape"],
        "form": "binary" if binary else "json",
        "offset": found.start if found else None,
        "size": len(data),
        "data": base64.b64encode(data).decode(),
        "values": to_values(tensor["datatype"], data),
    }


def _asked(message: Message) -> list[JsonObject] | None:
    """The outputs that a request lists, and whether each shall be a blob; null if it lists none."""
    if message.json is None or "outputs" not in message.json:
        return None
    return [
        {"name": entry["name"], "binary_data": entry.get("parameters", {}).get("binary_data")}
        for entry in message.json["outputs"]
    ]


def main(folder: Path) -> None:
    """Write every file into `folder`, which has examples.yaml; remove those of no example."""
    files = list(example_files(read_examples(folder / _FILE)))
    stems = {file.stem for file in files}
    for path in [*folder.glob("*.bin"), *folder.glob("*.json")]:
        if path.stem not in stems:
            path.unlink()
    for file in files:
        (folder / f"{file.stem}.bin").write_bytes(file.body)
        described = printed(file.described) + "\n"
        (folder / f"{file.stem}.json").write_text(described, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
