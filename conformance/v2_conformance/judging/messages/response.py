"""Reads the body of an HTTP response as a V2 message: JSON, tensors, the byte range
of every part.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice, permutations
from typing import Any, Literal, Protocol

import msgspec
from msgspec.structs import replace

from v2_conformance.judging.messages.response_json import parse_noting, violation
from v2_conformance.judging.verdict import Finding, not_read
from v2_conformance.protocol import content_codings
from v2_conformance.protocol.datatypes import (
    DATATYPES,
    Buffer,
    ElementError,
    broken_prefix,
    check_blob,
    element_count,
    from_json,
)
from v2_conformance.protocol.message import (
    MessageError,
    NotUtf8Error,
    Part,
    Tensor,
    json_object,
    parameters_of,
)
from v2_conformance.protocol.names import BINARY_DATA_SIZE, HEADER_LENGTH
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.causes.causes import Cause
from v2_conformance.wire.messages import codings_in, decimal, read_head
from v2_conformance.wire.response import Limits, Response

MAX_DIMENSIONS = 256
"""Beyond any tensor; the product of very many dimensions is a number that takes minutes."""
_SHOWN = 20
_NEWLINE, _SPACE = 0x0A, 0x20
_LONGEST_HEAD = 64 * 1024
# gzip expands a byte to at most 1032; the answer may have them as JSON.
_CODED_FACTOR = 64


class HasFields(Protocol):
    """The header fields of a request or a response."""

    def values(self, name: str) -> list[str]:
        """Every value of the field `name`, which is in lower case."""


class ReadOutput(msgspec.Struct, frozen=True):
    """One output of a response: its value, its form ("binary" or "json"), where its blob starts."""

    tensor: Tensor
    form: str
    start: int


class ReadMessage(msgspec.Struct, frozen=True):
    """A response's message. `header_length` is None if the header was not sent."""

    header_length: int | None
    document: Mapping[str, Any]
    outputs: tuple[ReadOutput, ...]
    parts: tuple[Part, ...]


def codings_of(response: Response) -> list[str]:
    """Return the content codings that the response names, in lower case, without "identity"."""
    values = response.values("content-encoding")
    return codings_in(values) if values else []


def decode_body(
    response: Response,
    allowed: Collection[str] = content_codings.CODINGS,
    *,
    limit: int = Limits.response,
) -> Response:
    """Return the response with its body, of at most `limit` bytes, decoded from the content coding:
    a guard against bombs, which is as much as it may have without one (`Limits.response_to`).

    Raises Finding for a coding that is not `allowed`, is not named or does not match the bytes
    (Z4).
    """
    names = codings_of(response)
    if not names:
        coding = content_codings.looks_like(response.body)
        if coding is not None:
            raise Finding(kinds.UndeclaredCoding(coding))
        return response
    coding = content_codings.known(names[0]) if len(names) == 1 else None
    if coding is None or coding not in allowed:
        raise Finding(kinds.UnrequestedCoding(_quoted(names), tuple(sorted(allowed))))
    try:
        body = content_codings.decode(coding, response.body, limit)
    except content_codings.CodingError as error:
        raise Finding(kinds.BrokenCoding(coding, printable(str(error)))) from error
    return replace(response, body=body)


def decode_answer(response: Response, request: Buffer) -> Response:
    """Decode the answer to a recorded request, in any coding that the suite knows: see decode_body.

    A content coding can shrink a request to a thousandth.
    """
    if not codings_of(response):
        return decode_body(response)
    return decode_body(response, limit=_limit_of_answer(request))


def unpacked_size(response: Response, request: Buffer) -> int:
    """Return the decoded size of the answer to a recorded request, 0 if it has no coding."""
    coding = content_codings.known(", ".join(codings_of(response)))
    if coding is None:
        return 0
    return content_codings.decoded_size(coding, response.body, _limit_of_answer(request))


def _limit_of_answer(request: Buffer) -> int:
    coded = read_head(bytes(request[:_LONGEST_HEAD])).values("content-encoding")
    return Limits().response_to(len(request) * (_CODED_FACTOR if coded else 1))


def read_header_length(message: HasFields) -> int | None:
    """Return the message's header length. Raises Finding unless it is one plain decimal number
    (P5).
    """
    values = message.values(HEADER_LENGTH.lower())
    if not values:
        return None
    if len(set(values)) > 1:
        raise Finding(kinds.RepeatedHeaderLength(_quoted(values)))
    length = decimal(values[0])
    if length is None:
        raise Finding(kinds.InvalidHeaderLength(printable(values[0], 60)))
    return length


def read_message(response: Response) -> ReadMessage:
    """Split and check a response: framing, strict JSON, schema, sizes, then every output's value.

    An output with a size is binary, whatever else it has. Raises Finding at the first thing that is
    wrong (P3, P5, P8, P9, O10, E2, E4).
    """
    document, header_length, end = read_document(response)
    return _outputs(document, header_length, response.body, end)


def read_document(response: Response) -> tuple[dict[str, Any], int | None, int]:
    """Return the response's JSON, strict and valid by its schema; the header length sent; where the
    JSON ends.
    """
    body = response.body
    header_length = read_header_length(response)
    end = json_end(header_length, body)
    document = _document(body[:end], header_length, body)
    validate("response", document)
    return document, header_length, end


_MOST_ORDERS = 24  # every order of four blobs
_MOST_REORDERED = 1 << 20  # bytes of a body whose blobs are read again


def declared_sizes(outputs: Iterable[Any]) -> list[Any]:
    """Return the sizes that a response's `outputs` declare, of any type."""
    sizes = (parameters_of(entry).get(BINARY_DATA_SIZE) for entry in outputs)
    return [size for size in sizes if size is not None]


def json_end(header_length: int | None, body: Buffer) -> int:
    """Return where the JSON ends, by the header length alone. Raises Finding if that is past the
    body.
    """
    end = len(body) if header_length is None else header_length
    if end > len(body):
        raise Finding(kinds.HeaderLengthPastBody(end, len(body)))
    return end


def validate(name: str, document: Mapping[str, Any]) -> None:
    """Raise Finding, naming the member, if `document` violates schemas/NAME.schema.json."""
    result = violation(name, document)
    if result is not None:
        raise Finding(result)


def _document(data: Buffer, header_length: int | None, body: Buffer) -> dict[str, Any]:
    try:
        return parse_noting(data)[0]
    except MessageError as error:
        problem = printable(str(error))
        cause: Cause = kinds.BodyNotJson(len(body), problem)
        if header_length is not None:
            cause = kinds.HeaderLengthNotJson(header_length, problem, true_length(body))
        elif isinstance(error, NotUtf8Error) and _is_json_in_latin_1(data):
            cause = kinds.BodyNotUtf8(len(body), error.at)
        raise not_read(error, cause) from error


def _is_json_in_latin_1(data: Buffer) -> bool:
    """Return False for JSON that blobs follow, which are hardly ever UTF-8 either (P3)."""
    try:
        parse_noting(bytes(data).decode("latin-1").encode())
    except MessageError:
        return False
    return True


def true_length(body: Buffer) -> int | None:
    """Return where a JSON object at the body's start really ends."""
    result = json_object(bytes(body[: 1 << 20])) if body[:1] == b"{" else None
    return None if result is None else result[1]


def _outputs(
    document: dict[str, Any], header_length: int | None, body: Buffer, end: int
) -> ReadMessage:
    parts = [Part("json", "", 0, end)]
    outputs = []
    for entry in document["outputs"]:
        try:
            output = _output(entry, body, parts[-1].end)
        except Finding as finding:
            raise _of_another_order(finding, document["outputs"], body, end) from finding
        outputs.append(output)
        if output.form == "binary":
            parts.append(
                Part("blob", entry["name"], output.start, output.start + len(output.tensor.blob))
            )
    end = parts[-1].end
    if end > parts[0].end and header_length is None:
        raise Finding(kinds.HeaderLengthMissing())
    if end < len(body):
        json_end = parts[0].end
        newline = _newline(body, json_end, end) if end + 1 == len(body) else None
        raise Finding(kinds.LeftoverBytes(json_end, end - json_end, len(body), newline))
    return ReadMessage(header_length, document, tuple(outputs), tuple(parts))


def _of_another_order(
    finding: Finding, entries: Sequence[Mapping[str, Any]], body: Buffer, start: int
) -> Finding:
    """Return the finding about texts without prefixes, which says so if the blobs are tensors in
    another order than that of their entries.
    """
    cause = finding.cause
    # Prefixes are hardly ever right by chance; bytes of BOOL are.
    if not isinstance(cause, kinds.InvalidTensor) or cause.sign != "prefixes":
        return finding
    if len(body) > _MOST_REORDERED:
        return finding
    binary = [entry for entry in entries if BINARY_DATA_SIZE in parameters_of(entry)]
    for order in (binary[::-1], *islice(permutations(binary), 1, _MOST_ORDERS)):
        at = start
        with contextlib.suppress(Finding):
            for entry in order:
                at += len(_output(entry, body, at).tensor.blob)
            problem = printable(str(finding.__cause__))
            problem += "; the blobs are tensors in another order of the outputs"
            return Finding(replace(cause, problem=problem, sign="blob_order"))
    return finding


def _newline(body: Buffer, json_end: int, end: int) -> Literal["behind_json", "at_end"] | None:
    if body[json_end] == _NEWLINE:
        return "behind_json"
    return "at_end" if body[end] == _NEWLINE else None


def _output(entry: Mapping[str, Any], body: Buffer, start: int) -> ReadOutput:
    size = parameters_of(entry).get(BINARY_DATA_SIZE)
    label = printable(entry["name"])
    if len(entry["shape"]) > MAX_DIMENSIONS:
        raise Finding(kinds.TooManyDimensions(label, len(entry["shape"])))
    if size is None and entry.get("data") is None:
        raise Finding(kinds.NoDataNoSize(label))
    tensor = read_tensor(entry, None if size is None else int(size), body, start)
    return ReadOutput(tensor, "json" if size is None else "binary", start)


def read_tensor(entry: Mapping[str, Any], size: int | None, body: Buffer, start: int) -> Tensor:
    """Return the tensor of an entry: from its blob of `size` bytes at `start` or, without a size,
    from its data. Raises Finding.
    """
    name, datatype = entry["name"], entry["datatype"]
    shape = tuple(int(n) for n in entry["shape"])
    label = printable(name)
    try:
        if size is None:
            return Tensor(name, datatype, shape, from_json(datatype, shape, entry["data"]))
        if start + size > len(body):
            raise Finding(kinds.BlobPastBody(label, size, start, len(body)))
        blob = body[start : start + size]
        check_blob(datatype, shape, blob)
    except ElementError as error:
        sign, words = _sign(datatype, shape, size, entry.get("data"), body[start:])
        problem = printable(str(error)) + words
        cause = kinds.InvalidTensor(label, printable(datatype), _shape(shape), problem, sign)
        raise Finding(cause) from error
    return Tensor(name, datatype, shape, blob)


_Sign = Literal["element_size", "element_count", "prefixes"]


def _sign(
    datatype: str, shape: Sequence[int], size: int | None, data: object, blob: Buffer
) -> tuple[_Sign | None, str]:
    """Return what the bytes may be instead of the tensor, and a hint in words."""
    count = element_count(shape)
    element = DATATYPES[datatype].size
    if size is None:
        flat = isinstance(data, list) and not any(isinstance(one, list) for one in data)
        return ("element_count", "") if flat and len(data) != count else (None, "")  # type: ignore[arg-type]
    if element is None:
        word = broken_prefix(bytes(blob[:size]))
        if word is None:
            return None, ""
        text = _as_text(word)
        hint = f"; the bytes of this length are the text {text!a}" if text else ""
        return "prefixes", f"{hint}: is each element preceded by its length?" if hint else ""
    other = size // count if count and not size % count else 0
    if other in (1, 2, 4, 8):
        return "element_size", ""
    row = element_count(shape[1:]) * element
    if not shape or not row or not size or size % row:
        return "element_count", ""
    fits = _shape([size // row, *shape[1:]])
    return "element_count", f"; the shape and binary_data_size disagree: these are bytes of {fits}"


def _as_text(word: bytes) -> str | None:
    """Return four bytes, which may begin inside a character, as text, None if they are none."""
    text = word.decode("utf-8", "replace").replace("\ufffd", "")
    letters = sum(character.isprintable() for character in text)
    return text if text and letters == len(text) and min(word) >= _SPACE else None


def _quoted(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(printable(value, 60) for value in values[:_SHOWN])


def _shape(shape: Sequence[int]) -> str:
    text = str(list(shape))
    return text if len(text) < 60 else text[:60] + "…"
