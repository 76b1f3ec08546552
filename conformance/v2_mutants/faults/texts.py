"""Faults of BYTES tensors, as blobs and as JSON (B)."""

from __future__ import annotations

import base64
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from msgspec import structs

from v2_conformance.protocol.datatypes import (
    Buffer,
    ElementError,
    decode_bytes,
    element_count,
    encode_bytes,
)
from v2_conformance.protocol.message import COMPACT, Tensor
from v2_conformance.protocol.names import BINARY_DATA_SIZE
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Blobs, Rejected, Request, Response
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject, RequestInput
from v2_conformance.suite.models import ModelContract
from v2_mutants.faults.shared import (
    Sees,
    Tensors,
    change_elements,
    is_bytes,
    is_chunked,
    is_coded,
    is_versioned,
)
from v2_mutants.registry import Right, What, fault, only, refuse, refuses, then


def _prefixes(blob: Buffer) -> Iterator[tuple[int, int]]:
    """The offset and the value of each prefix, up to the end of the blob."""
    offset = 0
    while offset + 4 <= len(blob):
        length = struct.unpack_from("<I", blob, offset)[0]
        yield offset, length
        offset += 4 + length


def _read_leniently_if(when: Callable[[int, int, int], bool]) -> What[Buffer]:
    """A server that takes the elements that a blob has, the last cut at its end, and then empty
    ones, if `when` is true of the offset and the value of a prefix and the size of the blob."""

    def what(right: Right[Buffer], entry: RequestInput, blob: Buffer) -> Buffer:
        data, count = bytes(blob), element_count(entry.shape)
        if not any(when(at, length, len(data)) for at, length in _prefixes(data)):
            return right()
        result = [data[at + 4 : at + 4 + length] for at, length in _prefixes(data)][:count]
        missing = count - len(result) if count < 2**20 else 0
        return right(blob=encode_bytes([*result, *[b""] * missing]))

    return what


def _changes_blob(change: Callable[[Buffer], Buffer]) -> What[Tensor]:
    """A server whose models change the blobs of BYTES outputs."""
    changed = then(lambda made, output, tensor: structs.replace(made, blob=change(made.blob)))
    return only(("BYTES",), changed)


def _changes_elements(change: Callable[[bytes], bytes]) -> What[Tensor]:
    """A server whose models apply `change` to BYTES elements."""
    return _changes_blob(lambda blob: change_elements(blob, change))


def _bytes_taken(view: memoryview, count: int) -> int | None:
    """Return how many bytes `count` BYTES elements take, None if there are fewer."""
    offset = 0
    for _ in range(min(count, len(view))):
        if offset + 4 > len(view):
            return None
        offset += 4 + int(struct.unpack_from("<I", view, offset)[0])
    return offset if offset <= len(view) else None


@fault("bytes-inputs-big-endian", "B1", Behavior.bytes_blob)
def _(right: Right[Buffer], entry: RequestInput, blob: Buffer) -> Buffer:
    """The prefixes of binary BYTES inputs are read big-endian."""
    data, elements, offset = bytes(blob), [], 0
    while offset < len(data):
        end = offset + 4 + int.from_bytes(data[offset : offset + 4], "big")
        if end > len(data):
            raise ElementError(f"the BYTES element at byte {offset} extends past the end")
        elements.append(data[offset + 4 : end])
        offset = end
    return right(blob=encode_bytes(elements))


fault("bytes-outputs-big-endian", "B2", Behavior.output_blob)(
    "The prefixes of binary BYTES outputs are big-endian.",
    only(
        ("BYTES",),
        lambda right, tensor: b"".join(
            struct.pack(">I", len(item)) + item for item in decode_bytes(right())
        ),
    ),
)
fault("empty-bytes-elements-refused", "B3", Behavior.bytes_blob)(
    "A binary BYTES input with an empty element is rejected.",
    then(lambda checked, entry, blob: refuse() if b"" in decode_bytes(checked) else checked),
)
fault("non-utf8-bytes-replaced", "B4", Behavior.bytes_blob)(
    "In binary BYTES inputs, bytes that are not UTF-8 become replacement characters.",
    then(
        lambda checked, entry, blob: change_elements(
            checked, lambda element: element.decode(errors="replace").encode()
        )
    ),
)


@fault("bytes-read-until-enough", "B6", Behavior.read_inputs)
def _(right: Right[Tensors], model: ModelContract, document: JsonObject, blobs: Blobs) -> Tensors:
    """BYTES elements are read until there are enough; the declared size is ignored."""
    *_, last = entries = right.server.request_inputs(model, document)
    size = right.server.declared_size(last)
    if len(entries) == 1 and is_bytes(last) and size and not last.has_data:
        taken = _bytes_taken(blobs.view, element_count(last.shape))
        (listed,) = document["inputs"]
        listed = listed | {"parameters": {BINARY_DATA_SIZE: size if taken is None else taken}}
        document = document | {"inputs": [listed]}
    return right(document=document)


fault("bytes-prefix-clamped", "B6", Behavior.bytes_blob)(
    "A BYTES element that extends past the end is cut there; missing elements are empty.",
    _read_leniently_if(lambda at, length, size: at + 4 + length > size and length < 2**32 - 1),
)
fault("bytes-prefix-minus-one-accepted", "B7", Behavior.bytes_blob)(
    "A BYTES prefix of 0xFFFFFFFF takes all remaining bytes; missing elements are empty.",
    _read_leniently_if(lambda at, length, size: length == 2**32 - 1),
)
fault("bytes-shape-flattened", "B8", Behavior.output_tensor)(
    "BYTES outputs always have one dimension.",
    only(
        ("BYTES",),
        then(
            lambda made, output, tensor: (
                made
                if 0 in made.shape
                else structs.replace(made, shape=(element_count(made.shape),))
            )
        ),
    ),
)


@fault("missing-bytes-elements-empty", "B9", Behavior.bytes_blob)
def _(right: Right[Buffer], entry: RequestInput, blob: Buffer) -> Buffer:
    """Missing BYTES elements of a binary input are read as empty."""
    missing = element_count(entry.shape) - len(decode_bytes(blob))
    filler = bytes(4 * missing) if 0 < missing < 2**20 and len(blob) else b""
    return right(blob=bytes(blob) + filler)


@fault("first-bytes-elements-dropped", "B9", Behavior.bytes_blob)
def _(right: Right[Buffer], entry: RequestInput, blob: Buffer) -> Buffer:
    """If a binary BYTES input has surplus elements, the first ones are dropped."""
    elements = decode_bytes(blob)
    surplus = max(len(elements) - element_count(entry.shape), 0)
    return right(blob=encode_bytes(elements[surplus:]))


@fault("bytes-trailing-bytes-joined", "B9", Behavior.bytes_blob)
def _(right: Right[Buffer], entry: RequestInput, blob: Buffer) -> Buffer:
    """One to three bytes after the last BYTES element become part of it."""
    *_, (last, length) = _prefixes(blob) if len(blob) > 4 else [(0, len(blob))]
    stray = len(blob) - (last + 4 + length)
    if not 0 < stray < 4:
        return right()
    joined = struct.pack("<I", length + stray) + blob[last + 4 :]
    return right(blob=bytes(blob[:last]) + joined)


@fault("bytes-prefix-split-by-chunk", "B10", Behavior.slice_blob)
def _(
    right: Right[memoryview], entry: RequestInput, blobs: Blobs, offset: int, size: int
) -> memoryview:
    """A BYTES prefix with a chunk boundary in it is rejected."""
    blob, cuts = right(), blobs.chunk_cuts
    for at, _ in _prefixes(blob) if is_bytes(entry) else ():
        if bisect_right(cuts, offset + at) != bisect_right(cuts, offset + at + 3):
            raise Rejected(f"input {entry.spec.name}: a BYTES length is incomplete")
    return blob


for _name, _requirement, _text, _of in (
    ("bytes-cut-at-nul", "B11", "BYTES elements end at their first NUL.",
     lambda element: element.partition(b"\0")[0]),
    ("bytes-trailing-nul-stripped", "B11", "BYTES elements lose their trailing NULs.",
     lambda element: element.rstrip(b"\0")),
    ("bytes-lengths-signed", "B12", "BYTES elements of 128 to 255 bytes become empty.",
     lambda element: b"" if 128 <= len(element) <= 255 else element),
    ("bytes-elements-cut-at-64k", "B12", "BYTES elements are truncated to 65,535 bytes.",
     lambda element: element[:65535]),
    ("bytes-of-a-page-lose-one", "B12", "BYTES elements of 4,096 bytes lose the last one.",
     lambda element: element[:-1] if len(element) == 4096 else element),
):  # fmt: skip
    fault(_name, _requirement, Behavior.output_tensor)(_text, _changes_elements(_of))


def _found_by_beginning(blob: Buffer) -> bytes:
    first: dict[bytes, bytes] = {}
    return encode_bytes([first.setdefault(item[:80], item) for item in decode_bytes(blob)])


fault("bytes-elements-found-by-beginning", "B12", Behavior.output_tensor)(
    "BYTES elements that share their first 80 bytes are all the first of them.",
    _changes_blob(_found_by_beginning),
)


@dataclass(frozen=True)
class _Way:
    """How BYTES come: to the model in `role`, or to any, in a request that `sees` is true of."""

    name: str
    text: str
    sees: Sees = lambda request: True
    role: str = ""

    def has(self, model: ModelContract, request: Request) -> bool:
        """Return True for a request that comes in this way."""
        of_bytes = model.role.endswith("/BYTES") and self.role in ("", model.role)
        return of_bytes and self.sees(request)


_WAYS = (
    _Way("in-chunks", "in chunks", is_chunked),
    _Way("in-a-coding", "in a content coding", is_coded),
    _Way("of-a-version", "on a path with the model's version", is_versioned),
)


def _refuses_long(way: _Way) -> What[Response]:
    def what(right: Right[Response], model: ModelContract, request: Request) -> Response:
        if not way.has(model, request):
            return right()
        return refuse() if len(right.server.decode_request(request).body) > 2**16 else right()

    return what


for _way in (*_WAYS, _Way("in-a-matrix", "to a model with two dimensions", role="matrix/BYTES")):
    fault(f"long-bytes-{_way.name}-refused", "B12", Behavior.infer)(
        f"More than 64 KiB of BYTES {_way.text} are rejected.",
        _refuses_long(_way),
    )

fault("many-bytes-elements-refused", "B12", Behavior.bytes_blob)(
    "A binary BYTES input with more than 32,767 elements is rejected.",
    then(lambda checked, entry, blob: refuse() if element_count(entry.shape) > 32767 else checked),
)
fault("bodies-capped-at-32-kib", "B12", Behavior.infer)(
    "An inference request with a body of more than 32 KiB is answered with 413.",
    refuses(lambda model, request: len(request.body) > 2**15, 413),
)
fault("bytes-output-size-without-prefixes", "B13", Behavior.output_size)(
    "The size of a binary BYTES output does not count the prefixes.",
    only(("BYTES",), lambda right, tensor: right() - 4 * element_count(tensor.shape)),
)


def _reads_elements(way: _Way, change: Callable[[bytes], bytes]) -> What[InferenceRequest]:
    """A server that changes BYTES elements that come in one way."""

    def what(
        right: Right[InferenceRequest], model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        result = right()
        if not (length and way.has(model, request)):
            return result
        inputs = {
            name: structs.replace(tensor, blob=change_elements(tensor.blob, change))
            for name, tensor in result.inputs.items()
        }
        return replace(result, inputs=inputs)

    return what


for _way in (*_WAYS, _Way("in-a-cube", "of three dimensions", role="cube/BYTES")):
    fault(f"bytes-{_way.name}-read-as-text", "B4", Behavior.read_request)(
        f"What is not UTF-8 in BYTES {_way.text} is replaced.",
        _reads_elements(_way, lambda element: element.decode(errors="replace").encode()),
    )
    fault(f"bytes-{_way.name}-read-as-a-file", "B4", Behavior.read_request)(
        f"BYTES {_way.text} lose a byte order mark and a line end.",
        _reads_elements(
            _way, lambda element: element.removeprefix(b"\xef\xbb\xbf").removesuffix(b"\n")
        ),
    )
    fault(f"empty-bytes-{_way.name}-are-spaces", "B3", Behavior.read_request)(
        f"Empty BYTES {_way.text} become spaces.",
        _reads_elements(_way, lambda element: element or b" "),
    )


def _writes_elements(write: Callable[[bytes], str]) -> What[Any]:
    """A server that writes each element of a BYTES output in JSON as `write` does."""
    return only(("BYTES",), lambda right, tensor: [write(one) for one in decode_bytes(tensor.blob)])


fault("json-strings-read-as-latin-1", "B5", Behavior.json_blob)(
    "Strings in JSON inputs are encoded as Latin-1, not UTF-8.",
    then(
        lambda blob, entry: (
            blob
            if not is_bytes(entry)
            else change_elements(
                blob, lambda element: element.decode().encode("latin-1", "replace")
            )
        )
    ),
)
fault("json-strings-base64", "B5", Behavior.output_data)(
    "BYTES outputs in JSON are base64 strings.",
    _writes_elements(lambda element: base64.b64encode(element).decode()),
)
fault("non-utf8-json-replaced", "B14", Behavior.output_data)(
    "In JSON, bytes of BYTES outputs that are not UTF-8 become replacement characters.",
    _writes_elements(lambda element: element.decode(errors="replace")),
)
fault("text-stripped", "B4", Behavior.bytes_blob)(
    "White space at the ends of binary elements is lost.",
    then(lambda checked, entry, blob: change_elements(checked, bytes.strip)),
)
fault("mark-left-out-of-json-texts", "B5", Behavior.output_data)(
    "BYTES outputs in JSON lack a U+FEFF at their beginning.",
    only(("BYTES",), lambda right, tensor: [text.removeprefix("\ufeff") for text in right()]),
)


@fault.several("surrogates-written", "B14")
class _SurrogatesWritten(Behavior):
    """Surrogates that are encoded like characters get into JSON; other bytes are refused."""

    def output_data(self, tensor: Tensor) -> Any:
        try:
            return super().output_data(tensor)
        except ElementError:
            try:
                return [one.decode("utf-8", "surrogatepass") for one in decode_bytes(tensor.blob)]
            except UnicodeDecodeError:
                return super().output_data(tensor)

    def json_text(self, value: object) -> bytes:
        return COMPACT.encode(value).encode("utf-8", "surrogatepass")


fault("json-texts-written-up-to-1000", "B12", Behavior.output_data)(
    "BYTES outputs in JSON have at most the first 1,000 characters of each element.",
    only(("BYTES",), lambda right, tensor: [text[:1000] for text in right()]),
)
