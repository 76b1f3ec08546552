"""Faults of what a response is taken for: its type (K38), its outputs (K37), its nesting (K25)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from msgspec.structs import replace

from v2_clients.plain.connection import Answer
from v2_clients.plain.plain_client import PlainClient
from v2_clients.plain.requests_made import JsonObject
from v2_clients.plain.responses_read import Blobs, Inference
from v2_clients.plain.task import Call
from v2_conformance.protocol.datatypes import Shape, from_values
from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import HEADER_LENGTH, JSON_TYPE
from v2_mutants.changes import fail
from v2_mutants.registry import Right, What, client_fault


def _of(answer: Answer) -> str:
    """The Content-Type of a response, as it came."""
    return answer.fields.get("Content-Type", "")


client_fault("content-type-required", "K38", PlainClient.split)(
    "A response has to have a Content-Type.",
    lambda right, answer: right() if _of(answer) else fail("no Content-Type"),
)
client_fault("content-type-exactly-json", "K38", PlainClient.split)(
    "JSON has to be typed as application/json, and nothing else.",
    lambda right, answer: (
        right()
        if HEADER_LENGTH in answer.fields or _of(answer) == JSON_TYPE
        else fail("the response is not JSON")
    ),
)
client_fault("content-type-json-has-no-blobs", "K38", PlainClient.split)(
    "A response that is typed as JSON has no blobs, whatever its header length.",
    lambda right, answer: (answer.body, Blobs(b"")) if _of(answer) == JSON_TYPE else right(),
)
client_fault("header-length-of-all-refused", "K38", PlainClient.split)(
    "A header length behind which nothing follows is an error.",
    lambda right, answer: (
        fail("no blobs") if answer.fields.get(HEADER_LENGTH) == str(len(answer.body)) else right()
    ),
)


def fills(make: Callable[[Right[Inference], Tensor], bytes]) -> What[Inference]:
    """Return what makes up an output that was asked for and is not there."""

    def what(right: Right[Inference], call: Call, answer: Answer) -> Inference:
        read = right(call=_without_outputs(call))
        there = {tensor.name: tensor for tensor in read.outputs}
        if not there:
            return read
        like = read.outputs[0]
        results = [
            there.get(one.name) or replace(like, name=one.name, blob=make(right, like))
            for one in call.outputs or ()
        ]
        right.state["blob"] = like.blob
        return Inference(
            tuple(results or read.outputs), read.model_name, read.model_version, read.id
        )

    return what


def renamed(change: Callable[[str], str]) -> What[tuple[str, str, Shape]]:
    """Return what gives the outputs of a response other names."""

    def what(right: Right[tuple[str, str, Shape]], entry: JsonObject) -> tuple[str, str, Shape]:
        name, datatype, shape = right()
        return change(name), datatype, shape

    return what


def _without_outputs(call: Call) -> Call:
    return Call(**{**vars(call), "outputs": None})


client_fault("missing-output-is-zeros", "K37", PlainClient.read)(
    "An output that the response lacks is zeros.",
    fills(lambda right, like: bytes(len(like.blob))),
)


@client_fault("second-output-of-a-name-wins", "K37", PlainClient.outputs)
def _(
    right: Right[list[Tensor]], call: Call, entries: Sequence[JsonObject], blobs: Blobs
) -> list[Tensor]:
    """Of two outputs of one name the user gets the second."""
    return list({tensor.name: tensor for tensor in right()}.values())


client_fault("no-outputs-are-a-result", "K37", PlainClient.check_outputs)(
    "A response without any output is a result.",
    lambda right, call, outputs: right() if outputs else None,
)


for _name, _text, _change in (
    ("ends-at-a-colon", "ends at its first colon", lambda name: name.partition(":")[0]),
    ("begins-behind-a-slash", "begins behind its last slash", lambda name: name.rpartition("/")[2]),
    ("without-white-space", "loses the white space around it", str.strip),
    ("ends-at-a-dot", "ends at its first dot", lambda name: name.partition(".")[0]),
    ("cut-at-64", "is cut after 64 characters", lambda name: name[:64]),
):
    client_fault(f"name-of-output-{_name}", "K3", PlainClient.described)(
        f"The name of an output {_text}.", renamed(_change)
    )


@client_fault("output-shape-as-before", "K14", PlainClient.described)
def _(right: Right[tuple[str, str, Shape]], entry: JsonObject) -> tuple[str, str, Shape]:
    """An output has the shape that the last one of its name had, if it has as many elements."""
    name, datatype, shape = right()
    return name, datatype, right.state.setdefault((name, prod(shape)), shape)


def _flat(data: object) -> list[object]:
    return [leaf for one in data for leaf in _flat(one)] if isinstance(data, list) else [data]


@client_fault("json-nesting-ignored", "K25", PlainClient.json_output)
def _(right: Right[Tensor], name: str, datatype: str, shape: Shape, entry: JsonObject) -> Tensor:
    """JSON data is read in a row, however it is nested."""
    return right(entry={**entry, "data": _flat(entry.get("data"))})


@client_fault("json-short-rows-filled", "K25", PlainClient.json_output)
def _(right: Right[Tensor], name: str, datatype: str, shape: Shape, entry: JsonObject) -> Tensor:
    """Rows of JSON data that are too short are filled up with zeros."""
    data = entry.get("data")
    if isinstance(data, list) and len(shape) > 1 and all(isinstance(row, list) for row in data):
        data = [(row + [0] * shape[-1])[: shape[-1]] for row in data]
    return right(entry={**entry, "data": data})


def as_bool(true: Callable[[int], bool]) -> What[Tensor]:
    """Return what reads the bytes of BOOL in another way."""

    def what(right: Right[Tensor], name: str, datatype: str, shape: Shape, blob: bytes) -> Tensor:
        if datatype != "BOOL":
            return right()
        return Tensor(name, datatype, shape, from_values("BOOL", [true(byte) for byte in blob]))

    return what


client_fault("bool-lowest-bit", "K25", PlainClient.binary_output)(
    "The lowest bit of a BOOL byte says if it is true.",
    as_bool(lambda byte: bool(byte & 1)),
)
