"""An HTTP response's body as a V2 message: its JSON, its tensors, the byte range of every part."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from v2_conformance.protocol import content_codings as compression
from v2_conformance.protocol.datatypes import Buffer, ElementError, check_blob, from_json
from v2_conformance.protocol.message import HEADER_LENGTH, MessageError, Part, Tensor, parse_json
from v2_conformance.resources import fits, schema
from v2_conformance.wire.http1 import Limits, Response

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

_DIGITS = re.compile(r"[0-9]{1,19}")
_LONGEST = 1000
# Beyond any tensor; the product of very many dimensions is a number that takes minutes.
_MAX_DIMENSIONS = 256


@dataclass(frozen=True)
class Difference:
    """The first element in which an output is not what was wanted.

    `element` counts from 0 in row-major order. `offset` is that of the first differing byte in the
    output's blob, `body_offset` in the response's body; None for an output that came as JSON, whose
    value has no byte there. `wanted` and `got` are the element's bytes in wire order, as hex: all
    of a number's, of a BYTES element at most 16 from its first differing byte on. The values are
    those of the whole element as people write them, printable ASCII of bounded length.
    """

    output: str
    datatype: str
    element: int
    offset: int
    body_offset: int | None
    wanted: str
    got: str
    wanted_value: str
    got_value: str


class Finding(Exception):
    """Something in a response that breaks a requirement, in words a vendor can act on.

    The words may quote the response: what they quote cannot make a report of any size.
    `difference` is there where values were compared and are not the same.
    """

    def __init__(self, words: str, difference: Difference | None = None) -> None:
        super().__init__(words if len(words) <= _LONGEST else words[:_LONGEST] + "…")
        self.difference = difference


class Untested(Finding):
    """A response that breaks nothing, but does not show what the case is about either."""


@dataclass(frozen=True)
class ReadOutput:
    """One output of a response: its value, its form ("binary" or "json"), where its blob starts."""

    tensor: Tensor
    form: str
    start: int


@dataclass(frozen=True)
class ReadMessage:
    """A response's message. `header_length` is None where the header was not sent."""

    header_length: int | None
    document: Mapping[str, Any]
    outputs: tuple[ReadOutput, ...]
    parts: tuple[Part, ...]


def codings_of(response: Response) -> list[str]:
    """The content codings that the response names, in lower case; "identity" is none."""
    names = ",".join(response.values("content-encoding")).lower().split(",")
    return [name.strip() for name in names if name.strip() not in ("", "identity")]


def decode_body(response: Response, allowed: Collection[str] = compression.CODINGS) -> Response:
    """The response with its body as it was before the content coding, which `allowed` names.

    Raises Finding for a coding that was not asked for, is not named or is not the one done (Z4).
    """
    names = codings_of(response)
    if not names:
        seems = compression.looks_like(response.body)
        if seems is None:
            return response
        raise Finding(f"the body seems to be in {seems}, but no Content-Encoding says so")
    coding = compression.known(names[0]) if len(names) == 1 else None
    if coding not in allowed:
        asked = f"lets it be {' or '.join(sorted(allowed))}" if allowed else "asked for no coding"
        raise Finding(f"Content-Encoding is {', '.join(names)!a}, but the request {asked}")
    try:
        body = compression.decode(str(coding), response.body, Limits.response)
    except compression.CodingError as error:
        raise Finding(f"Content-Encoding is {coding}, but the body is not: {error}") from error
    return replace(response, body=body)


def read_header_length(response: Response) -> int | None:
    """The response's header length; Finding where it is not one plain decimal number (P5)."""
    values = response.values(HEADER_LENGTH)
    if not values:
        return None
    if len(set(values)) > 1:
        raise Finding(f"the response has {HEADER_LENGTH} {len(values)} times: {values!a}")
    if not _DIGITS.fullmatch(values[0]):
        raise Finding(f"{HEADER_LENGTH} is {values[0][:60]!a}, not a decimal number")
    return int(values[0])


def read_message(response: Response) -> ReadMessage:
    """Split and check a response: framing, strict JSON, schema, sizes, then every output's value.

    Raises Finding at the first thing that is wrong (P3, P5, P8, P9, O10, O11, E2, E4).
    """
    document, header_length, end = read_document(response)
    return _outputs(document, header_length, response.body, end)


def read_document(response: Response) -> tuple[dict[str, Any], int | None, int]:
    """The response's JSON, strict and by its schema; the header length sent; where it ends."""
    body = response.body
    header_length = read_header_length(response)
    end = len(body) if header_length is None else header_length
    if end > len(body):
        raise Finding(
            f"{HEADER_LENGTH} is {end}, but the whole body has {len(body)} bytes: the JSON cannot "
            "be longer than the body"
        )
    document = _document(body[:end], header_length, body)
    validate("response", document)
    return document, header_length, end


def validate(name: str, document: Mapping[str, Any]) -> None:
    """Finding where `document` breaks schemas/NAME.schema.json; names the member."""
    if fits(name, document):
        return
    validator: Draft202012Validator = schema(name)
    error = next(iter(validator.iter_errors(document)), None)
    if error is None:
        return
    where = "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in error.absolute_path)
    message = error.message if len(error.message) <= 200 else error.message[:200] + "…"
    raise Finding(f"the JSON breaks the {name} schema at ${where}: {ascii(message)[1:-1]}")


def _document(data: Buffer, header_length: int | None, body: Buffer) -> dict[str, Any]:
    try:
        return parse_json(data)
    except MessageError as error:
        if header_length is None:
            raise Finding(
                f"no {HEADER_LENGTH} was sent, so the whole body ({len(body)} bytes) must be JSON, "
                f"but it is not: {error}"
            ) from error
        hint = _true_length(body)
        raise Finding(
            f"the first {header_length} bytes, which {HEADER_LENGTH} says are the JSON, are not "
            f"exactly one JSON object: {error}{hint}"
        ) from error


def _true_length(body: Buffer) -> str:
    """Where a JSON object at the body's start really ends, as a hint for the message."""
    text = bytes(body[: 1 << 20]).decode("latin-1")
    try:
        document, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return ""
    return f" (an object ends after {end} bytes)" if isinstance(document, dict) else ""


def _outputs(
    document: dict[str, Any], header_length: int | None, body: Buffer, end: int
) -> ReadMessage:
    parts = [Part("json", "", 0, end)]
    outputs = []
    for entry in document["outputs"]:
        output = _output(entry, body, parts[-1].end)
        outputs.append(output)
        if output.form == "binary":
            parts.append(
                Part("blob", entry["name"], output.start, output.start + len(output.tensor.blob))
            )
    end = parts[-1].end
    if end > parts[0].end and header_length is None:
        raise Finding(f"the response carries binary data, but no {HEADER_LENGTH} header was sent")
    if end < len(body):
        raise Finding(
            f"{len(body) - end} bytes are left over: JSON {parts[0].end} + sizes "
            f"{end - parts[0].end} = {end}, but the body has {len(body)} bytes"
        )
    return ReadMessage(header_length, document, tuple(outputs), tuple(parts))


def _output(entry: Mapping[str, Any], body: Buffer, start: int) -> ReadOutput:
    name, datatype = entry["name"], entry["datatype"]
    shape: Sequence[int] = [int(n) for n in entry["shape"]]
    size = (entry.get("parameters") or {}).get("binary_data_size")
    label = ascii(name)[1:-1]
    if len(shape) > _MAX_DIMENSIONS:
        raise Finding(f"{label} has a shape of {len(shape)} dimensions")
    if size is not None and "data" in entry:
        raise Finding(f"{label} has both `data` and `binary_data_size`")
    if size is None and "data" not in entry:
        raise Finding(f"{label} has neither `data` nor `binary_data_size`")
    try:
        if size is None:
            blob: Buffer = from_json(datatype, shape, entry["data"])
            return ReadOutput(Tensor(name, datatype, tuple(shape), blob), "json", start)
        size = int(size)
        if start + size > len(body):
            raise Finding(
                f"{label} declares {size} bytes from byte {start}, but the body ends after "
                f"{len(body)} bytes"
            )
        blob = body[start : start + size]
        check_blob(datatype, shape, blob)
    except ElementError as error:
        raise Finding(f"{label} {datatype} {_shape(shape)}: {error}") from error
    return ReadOutput(Tensor(name, datatype, tuple(shape), blob), "binary", start)


def _shape(shape: Sequence[int]) -> str:
    text = str(list(shape))
    return text if len(text) < 60 else text[:60] + "…"
