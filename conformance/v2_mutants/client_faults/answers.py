"""Faults of what the caller of a client gets: outputs, errors, and parts of long messages."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from math import prod

from msgspec import structs

from v2_clients.plain.connection import Answer
from v2_clients.plain.plain_client import PlainClient
from v2_clients.plain.requests_made import JsonObject
from v2_clients.plain.responses_read import Blobs, Inference
from v2_clients.plain.task import Call, ClientError
from v2_conformance.protocol.datatypes import Shape
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


def renamed(change: Callable[[str], str]) -> What[tuple[str, str, Shape]]:
    """Return what gives the outputs of a response other names."""

    def what(right: Right[tuple[str, str, Shape]], entry: JsonObject) -> tuple[str, str, Shape]:
        name, datatype, shape = right()
        return change(name), datatype, shape

    return what


def _without_outputs(call: Call) -> Call:
    return Call(**{**vars(call), "outputs": None})


@client_fault("missing-output-is-zeros", "K37", PlainClient.read)
def _(right: Right[Inference], call: Call, answer: Answer) -> Inference:
    """An output that the response lacks is zeros."""
    read = right(call=_without_outputs(call))
    there = {tensor.name: tensor for tensor in read.outputs}
    if not there or not call.outputs:
        return read
    zeros = structs.replace(read.outputs[0], blob=bytes(len(read.outputs[0].blob)))
    outputs = (there.get(n := one.name) or structs.replace(zeros, name=n) for one in call.outputs)
    return Inference(tuple(outputs), read.model_name, read.model_version, read.id)


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


client_fault("bool-lowest-bit", "K25", PlainClient.binary_output)(
    "The lowest bit of a BOOL byte says if it is true.",
    lambda right, name, datatype, shape, blob: right(
        blob=bytes(byte & 1 for byte in blob) if datatype == "BOOL" else blob
    ),
)
client_fault("error-as-no-outputs", "K27", PlainClient.read)(
    "An error is an inference without outputs.",
    lambda right, call, answer: Inference(()) if right.client.is_error(answer) else right(),
)


@client_fault.several("error-in-success-ignored", "K27")
class _InSuccessIgnored(PlainClient):
    """An error object with status 200 is an inference without outputs."""

    def check_document(self, answer: Answer, document: JsonObject) -> None:
        return None

    def output_objects(self, document: JsonObject) -> list[JsonObject]:
        return super().output_objects({"outputs": [], **document})

    def check_outputs(self, call: Call, outputs: Sequence[Tensor]) -> None:
        return None


client_fault("error-words-in-latin-1", "K28", PlainClient.error_words)(
    "An error's words are read as Latin-1.",
    lambda right, answer: right().encode().decode("latin-1"),
)
client_fault("error-status-always-500", "K28", PlainClient.error_status)(
    "Every error has the status 500.",
    lambda right, answer: 500,
)


def parses(words: Callable[[bytes], object]) -> What[None]:
    """Return what has to parse the body of an error before it knows that there is one."""

    def what(right: Right[None], answer: Answer) -> None:
        if right.client.is_error(answer):
            raise ClientError(str(words(answer.body)), answer.status)

    return what


def _of_json(body: bytes) -> object:
    document = json.loads(body)
    return document.get("error", document) if isinstance(document, dict) else document


client_fault("error-body-must-be-json", "K29", PlainClient.check_status)(
    "An error whose body is not JSON raises the parser's own exception.",
    parses(_of_json),
)
client_fault("error-body-must-not-be-empty", "K29", PlainClient.check_status)(
    "An error without a body raises IndexError.",
    parses(lambda body: body.splitlines()[0]),
)


@client_fault("error-body-html-is-success", "K29", PlainClient.read)
def _(right: Right[Inference], call: Call, answer: Answer) -> Inference:
    """An error whose body is HTML is an inference without outputs."""
    html = right.client.is_error(answer) and answer.body.lstrip().startswith(b"<")
    return Inference(()) if html else right()


@client_fault("retries-without-end", "K31", PlainClient.exchange)
def _(right: Right[Answer], call: Call, fields: Mapping[str, str], body: bytes) -> Answer:
    """A request that is answered with 503 is sent again at once, without end."""
    while (answer := right()).status == 503:  # it ends when the bench has gone
        pass
    return answer


def _cut_body(most: int) -> What[bytes]:
    """Return what sends no more than the first bytes of a body."""
    return lambda right, text, blobs: right()[:most]


client_fault("json-read-up-to-64-kib", "K3", PlainClient.parse)(
    "Of a response's JSON no more than 64 KiB are read.",
    lambda right, text: right(text[: 1 << 16]),
)
client_fault("json-sent-up-to-64-kib", "K40", PlainClient.dump)(
    "JSON of more than 64 KiB is not sent.",
    lambda right, document: data if len(data := right()) <= 1 << 16 else fail("it is too long"),
)
for _name, _most in (("1-mib", 1 << 20), ("16-mib", 1 << 24)):
    client_fault(f"request-cut-at-{_name}", "K40", PlainClient.body)(
        f"A request is cut after {_name}.", _cut_body(_most)
    )
client_fault("elements-cut-at-1-mib", "K40", PlainClient.elements)(
    "A BYTES element is cut after 1 MiB.",
    lambda right, array: [element[: 1 << 20] for element in right()],
)
client_fault("more-than-16-outputs-refused", "K14", PlainClient.outputs)(
    "A response of more than 16 outputs is an error.",
    lambda right, call, entries, blobs: right() if len(entries) <= 16 else fail("too many outputs"),
)
client_fault("rank-over-4-flattened", "K14", PlainClient.shape)(
    "The dimensions behind the third are one, if there are more than four.",
    lambda right, name, shape: (*right()[:3], prod(right()[3:])) if len(right()) > 4 else right(),
)
client_fault("status-redirect-is-no-error", "K27", PlainClient.is_error)(
    "A status from 300 to 399 is no error.",
    lambda right, answer: answer.status >= 400,
)
