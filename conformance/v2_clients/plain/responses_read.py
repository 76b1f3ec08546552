"""The plain client's reading of a response: an error, or tensors that are what it declares."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from v2_clients.plain.connection import Answer
from v2_clients.plain.task import Call, ClientError
from v2_conformance.protocol.datatypes import DATATYPES, ElementError, Shape, check_blob, from_json
from v2_conformance.protocol.message import MessageError, Tensor, parse_json
from v2_conformance.protocol.names import BINARY_DATA_SIZE, HEADER_LENGTH

JsonObject = dict[str, Any]
_MOST_WORDS = 500


@dataclass(frozen=True)
class Inference:
    """The result for the caller. Members that a response may leave out are None."""

    outputs: tuple[Tensor, ...]
    model_name: str | None = None
    model_version: str | None = None
    id: str | None = None


@dataclass
class Blobs:
    """The bytes after the JSON; `position` is the first that no output has taken."""

    data: bytes
    position: int = 0


class ResponseReader:
    """The half of the plain client that reads. Every method is one decision."""

    def read(self, call: Call, answer: Answer) -> Inference:
        """The inference that the answer is. Raises ClientError, MessageError or ElementError."""
        self.check_status(answer)
        text, blobs = self.split(answer)
        document = self.parse(text)
        self.check_document(answer, document)
        entries = self.output_objects(document)
        outputs = self.outputs(call, entries, blobs)
        self.check_outputs(call, outputs)
        self.check_all_read(blobs)
        return Inference(
            tuple(outputs),
            self.member(document, "model_name"),
            self.member(document, "model_version"),
            self.member(document, "id"),
        )

    # --- errors ------------------------------------------------------------------------------

    def check_status(self, answer: Answer) -> None:
        """Raise ClientError, with the server's words, unless the status is one of success."""
        if self.is_error(answer):
            raise ClientError(self.error_words(answer), self.error_status(answer))

    def is_error(self, answer: Answer) -> bool:
        """Return True if the status is that of an error."""
        return not 200 <= answer.status < 300

    def error_status(self, answer: Answer) -> int | None:
        """The status that the caller is told."""
        return answer.status

    def error_words(self, answer: Answer) -> str:
        """Return what the server says; of a body that is not V2's error, its beginning as text."""
        try:
            document = json.loads(answer.body)
        except (ValueError, RecursionError):
            document = None
        if isinstance(document, dict):
            for name in ("error", "detail", "message"):
                if isinstance(words := document.get(name), str) and words:
                    return words
        text = answer.body[:_MOST_WORDS].decode(errors="backslashreplace").strip()
        return text or f"the server answered with status {answer.status} and an empty body"

    # --- JSON and blobs ----------------------------------------------------------------------

    def length_field(self, fields: Mapping[str, str]) -> str | None:
        """The header length as the response has it, its name in any case."""
        for name, value in fields.items():
            if name.lower() == HEADER_LENGTH.lower():
                return value
        return None

    def length_read(self, text: str, body: bytes) -> int:
        """The length that the field says, or ClientError: no number, or beyond the body."""
        if not text.isascii() or not text.isdigit():
            raise ClientError(f"the header length is not a number: {text[:40]!a}")
        if len(text) > 18 or int(text) > len(body):
            raise ClientError(f"the header length is {text[:40]}, the body has {len(body)} bytes")
        return int(text)

    def split(self, answer: Answer) -> tuple[bytes, Blobs]:
        """The JSON, and what follows it. Without a header length all is JSON."""
        field = self.length_field(answer.fields)
        if field is None:
            return answer.body, Blobs(b"")
        length = self.length_read(field, answer.body)
        return answer.body[:length], Blobs(answer.body[length:])

    def parse(self, text: bytes) -> JsonObject:
        """The JSON object of the response."""
        return parse_json(text)

    def check_document(self, answer: Answer, document: JsonObject) -> None:
        """Raise ClientError if the JSON is an error's in spite of the status."""
        if "error" in document and "outputs" not in document:
            raise ClientError(self.error_words(answer), answer.status)

    def member(self, document: JsonObject, name: str) -> str | None:
        """A member of the response that it may leave out."""
        value = document.get(name)
        return value if isinstance(value, str) else None

    def output_objects(self, document: JsonObject) -> list[JsonObject]:
        """The outputs of the JSON."""
        entries = document.get("outputs")
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise ClientError("the response has no `outputs`")
        return entries

    # --- outputs -----------------------------------------------------------------------------

    def outputs(self, call: Call, entries: Sequence[JsonObject], blobs: Blobs) -> list[Tensor]:
        """Every output, in the order of the response's own JSON."""
        return [self.output(entry, blobs) for entry in entries]

    def output(self, entry: JsonObject, blobs: Blobs) -> Tensor:
        """One output, from the JSON or from the blobs."""
        name, datatype, shape = self.described(entry)
        size = self.binary_size(entry)
        if size is None:
            return self.json_output(name, datatype, shape, entry)
        if entry.get("data") not in (None, []):
            raise ClientError(f"the output {name[:60]!a} has data and a binary_data_size")
        return self.binary_output(name, datatype, shape, self.take(blobs, size, datatype, shape))

    def described(self, entry: JsonObject) -> tuple[str, str, Shape]:
        """The output's name, datatype and shape."""
        name, datatype, shape = entry.get("name"), entry.get("datatype"), entry.get("shape")
        if not isinstance(name, str):
            raise ClientError("an output has no name")
        if not isinstance(datatype, str) or datatype not in DATATYPES:
            raise ClientError(f"the output {name[:60]!a} has an unknown datatype")
        return name, datatype, self.shape(name, shape)

    def shape(self, name: str, shape: object) -> Shape:
        """A shape of whole numbers that are not negative; 2.0 is one, since JSON has one kind."""
        if not isinstance(shape, list):
            raise ClientError(f"the output {name[:60]!a} has no shape")
        for dimension in shape:
            if isinstance(dimension, bool) or not isinstance(dimension, int | float):
                raise ClientError(f"the output {name[:60]!a} has a dimension that is not a number")
            if dimension < 0 or dimension != int(dimension):
                raise ClientError(f"the output {name[:60]!a} has the dimension {dimension}")
        return tuple(int(dimension) for dimension in shape)

    def binary_size(self, entry: JsonObject) -> int | None:
        """The output's binary_data_size; None if it is in the JSON, whatever else it has."""
        parameters = entry.get("parameters") or {}
        if not isinstance(parameters, dict) or parameters.get(BINARY_DATA_SIZE) is None:
            return None
        size = parameters[BINARY_DATA_SIZE]
        if isinstance(size, float) and size.is_integer():
            size = int(size)
        if isinstance(size, bool) or not isinstance(size, int) or size < 0:
            raise ClientError("a binary_data_size is not a size")
        return size

    def take(self, blobs: Blobs, size: int, datatype: str, shape: Shape) -> bytes:
        """The next blob, of the declared size."""
        start = blobs.position
        blob = blobs.data[start : start + size]
        blobs.position = start + size
        if len(blob) != size:
            raise ClientError(f"expected a blob of {size} bytes, got {len(blob)}")
        return blob

    def binary_output(self, name: str, datatype: str, shape: Shape, blob: bytes) -> Tensor:
        """An output from its blob, which must be what datatype and shape say."""
        check_blob(datatype, shape, blob)
        return Tensor(name, datatype, shape, blob)

    def json_output(self, name: str, datatype: str, shape: Shape, entry: JsonObject) -> Tensor:
        """An output from its JSON data, which must be what datatype and shape say."""
        if "data" not in entry:
            raise ClientError(f"the output {name[:60]!a} has neither data nor a binary_data_size")
        return Tensor(name, datatype, shape, from_json(datatype, shape, entry["data"]))

    def check_outputs(self, call: Call, outputs: Sequence[Tensor]) -> None:
        """Raise ClientError unless each output that the caller named is there, and none twice."""
        names = [tensor.name for tensor in outputs]
        if len(set(names)) < len(names):
            raise ClientError("the response has two outputs of one name")
        for asked in call.outputs or ():
            if asked.name not in names:
                raise ClientError(f"the response has no output {asked.name[:60]!a}")
        if not names:
            raise ClientError("the response has no outputs")

    def check_all_read(self, blobs: Blobs) -> None:
        """Raise ClientError if bytes are left that no output declares."""
        left = len(blobs.data) - blobs.position
        if left:
            raise ClientError(f"{left} bytes follow the last blob")


# What reading may raise because of the response, besides ClientError.
MALFORMED = (MessageError, ElementError)
