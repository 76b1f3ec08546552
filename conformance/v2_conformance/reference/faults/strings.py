"""Faults of BYTES tensors (B)."""

from __future__ import annotations

import base64
import json
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from v2_conformance.protocol.datatypes import (
    Buffer,
    ElementError,
    decode_bytes,
    element_count,
    encode_bytes,
)
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.exchange import Blobs, Rejected
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.faults.tools import MortalModels, on_elements
from v2_conformance.reference.reading import Entry
from v2_conformance.suite.models import TensorSpec


def _prefixes(blob: Buffer) -> Iterator[tuple[int, int]]:
    """The offset and the value of each prefix, as far as the blob goes."""
    offset = 0
    while offset + 4 <= len(blob):
        length = struct.unpack_from("<I", blob, offset)[0]
        yield offset, length
        offset += 4 + length


def _lenient(blob: Buffer, count: int) -> bytes:
    """As many elements as the blob has, cut at its end; empty ones up to `count`."""
    data = bytes(blob)
    found = [data[at + 4 : at + 4 + length] for at, length in _prefixes(data)][:count]
    return encode_bytes(found + [b""] * (count - len(found)) if count < 2**20 else found)


def _changes_elements(change: Callable[[bytes], bytes]) -> type[Behaviour]:
    """A server whose models return BYTES elements changed."""

    class Changed(Behaviour):
        def output_tensor(self, output: TensorSpec, tensor: Tensor) -> Tensor:
            made = super().output_tensor(output, tensor)
            if made.datatype != "BYTES":
                return made
            return replace(made, blob=on_elements(made.blob, change))

    return Changed


@fault(
    "bytes-inputs-big-endian",
    breaks="B1",
    text="The prefixes of binary BYTES inputs are read big-endian.",
)
class _InputsBigEndian(Behaviour):
    def bytes_blob(self, entry: Entry, blob: Buffer) -> Buffer:
        data, elements, offset = bytes(blob), [], 0
        while offset < len(data):
            end = offset + 4 + int.from_bytes(data[offset : offset + 4], "big")
            if end > len(data):
                raise ElementError(f"the element at byte {offset} goes past the end")
            elements.append(data[offset + 4 : end])
            offset = end
        return super().bytes_blob(entry, encode_bytes(elements))


@fault(
    "bytes-outputs-big-endian",
    breaks="B2",
    text="The prefixes of binary BYTES outputs are big-endian.",
)
class _OutputsBigEndian(Behaviour):
    def output_blob(self, tensor: Tensor) -> Buffer:
        blob = super().output_blob(tensor)
        if tensor.datatype != "BYTES":
            return blob
        return b"".join(struct.pack(">I", len(e)) + e for e in decode_bytes(blob))


@fault(
    "empty-bytes-elements-refused",
    breaks="B3",
    text="Empty elements in binary BYTES inputs are refused.",
)
class _EmptyRefused(Behaviour):
    def bytes_blob(self, entry: Entry, blob: Buffer) -> Buffer:
        checked = super().bytes_blob(entry, blob)
        if b"" in decode_bytes(checked):
            raise Rejected("a BYTES element is empty")
        return checked


@fault(
    "empty-bytes-elements-dropped",
    breaks="B3",
    text="Empty BYTES elements are left out of outputs.",
)
class _EmptyDropped(Behaviour):
    def output_tensor(self, output: TensorSpec, tensor: Tensor) -> Tensor:
        made = super().output_tensor(output, tensor)
        if made.datatype != "BYTES":
            return made
        return replace(made, blob=encode_bytes([e for e in decode_bytes(made.blob) if e]))


@fault(
    "non-utf8-bytes-refused",
    breaks="B4",
    text="Binary BYTES inputs that are not UTF-8 are refused.",
)
class _NonUtf8Refused(Behaviour):
    def bytes_blob(self, entry: Entry, blob: Buffer) -> Buffer:
        checked = super().bytes_blob(entry, blob)
        try:
            for element in decode_bytes(checked):
                element.decode()
        except UnicodeDecodeError as error:
            raise Rejected("a BYTES element is not UTF-8") from error
        return checked


@fault(
    "non-utf8-bytes-replaced",
    breaks="B4",
    text="What is not UTF-8 in binary BYTES inputs becomes a replacement character.",
)
class _NonUtf8Replaced(Behaviour):
    def bytes_blob(self, entry: Entry, blob: Buffer) -> Buffer:
        checked = super().bytes_blob(entry, blob)
        return on_elements(checked, lambda element: element.decode(errors="replace").encode())


@fault(
    "json-strings-read-as-latin-1",
    breaks="B5",
    text="JSON strings become Latin-1 bytes.",
)
class _StringsReadLatin1(Behaviour):
    def json_blob(self, entry: Entry) -> Buffer:
        blob = super().json_blob(entry)
        if entry.spec.datatype != "BYTES":
            return blob
        return on_elements(blob, lambda element: element.decode().encode("latin-1", "replace"))


@fault(
    "json-strings-written-as-latin-1",
    breaks="B5",
    text="The bytes of BYTES outputs in JSON are taken for Latin-1.",
)
class _StringsWrittenLatin1(Behaviour):
    def output_data(self, tensor: Tensor) -> Any:
        data = super().output_data(tensor)
        if tensor.datatype != "BYTES":
            return data
        return [text.encode().decode("latin-1") for text in data]


@fault(
    "json-strings-base64",
    breaks="B5",
    text="BYTES outputs in JSON are base64.",
)
class _StringsBase64(Behaviour):
    def output_data(self, tensor: Tensor) -> Any:
        if tensor.datatype != "BYTES":
            return super().output_data(tensor)
        return [base64.b64encode(element).decode() for element in decode_bytes(tensor.blob)]


@fault(
    "bytes-prefix-clamped",
    breaks="B6",
    text="A BYTES element that goes past the end is cut there; elements that lack are empty.",
)
class _PrefixClamped(Behaviour):
    def bytes_blob(self, entry: Entry, blob: Buffer) -> Buffer:
        past_end = any(
            at + 4 + length > len(blob) and length < 2**32 - 1 for at, length in _prefixes(blob)
        )
        lenient = _lenient(blob, element_count(entry.shape)) if past_end else blob
        return super().bytes_blob(entry, lenient)


@fault(
    "bytes-prefix-minus-one-accepted",
    breaks="B7",
    text="A BYTES prefix of 0xFFFFFFFF takes all that is left; elements that lack are empty.",
)
class _MinusOneAccepted(Behaviour):
    def bytes_blob(self, entry: Entry, blob: Buffer) -> Buffer:
        found = any(length == 2**32 - 1 for _, length in _prefixes(blob))
        lenient = _lenient(blob, element_count(entry.shape)) if found else blob
        return super().bytes_blob(entry, lenient)


class _Killing(Rejected):
    """Refuses a request that ends its model."""


@fault(
    "bytes-prefix-minus-one-kills-model",
    breaks="B7",
    text="A BYTES prefix of 0xFFFFFFFF is refused, but its model never answers well again.",
)
class _MinusOneKills(MortalModels):
    fatal = _Killing

    def bytes_blob(self, entry: Entry, blob: Buffer) -> Buffer:
        if any(length == 2**32 - 1 for _, length in _prefixes(blob)):
            raise _Killing("the model's process ended")
        return super().bytes_blob(entry, blob)


@fault(
    "bytes-shape-flattened",
    breaks="B8",
    text="BYTES outputs have one dimension.",
)
class _ShapeFlattened(Behaviour):
    def output_tensor(self, output: TensorSpec, tensor: Tensor) -> Tensor:
        made = super().output_tensor(output, tensor)
        if made.datatype != "BYTES" or 0 in made.shape:
            return made
        return replace(made, shape=(element_count(made.shape),))


@fault(
    "missing-bytes-elements-empty",
    breaks="B9",
    text="BYTES elements that a binary input lacks are empty.",
)
class _MissingEmpty(Behaviour):
    def bytes_blob(self, entry: Entry, blob: Buffer) -> Buffer:
        lacking = element_count(entry.shape) - len(decode_bytes(blob))
        filler = bytes(4 * lacking) if 0 < lacking < 2**20 and len(blob) else b""
        return super().bytes_blob(entry, bytes(blob) + filler)


@fault(
    "extra-bytes-elements-dropped",
    breaks="B9",
    text="BYTES elements beyond the shape are dropped.",
)
class _ExtraDropped(Behaviour):
    def bytes_blob(self, entry: Entry, blob: Buffer) -> Buffer:
        elements = decode_bytes(blob)[: element_count(entry.shape)]
        return super().bytes_blob(entry, encode_bytes(elements))


@fault(
    "bytes-trailing-bytes-ignored",
    breaks="B9",
    text="One to three bytes behind the last BYTES element are ignored.",
)
class _TrailingIgnored(Behaviour):
    def bytes_blob(self, entry: Entry, blob: Buffer) -> Buffer:
        end = sum(4 + length for _, length in _prefixes(blob))
        return super().bytes_blob(entry, blob[:end] if end <= len(blob) else blob)


def _refuses_split(cuts_of: Callable[[Blobs], Sequence[int]]) -> type[Behaviour]:
    """A server that refuses a BYTES prefix that does not arrive in one piece."""

    class RefusesSplit(Behaviour):
        def slice_blob(self, entry: Entry, blobs: Blobs, offset: int, size: int) -> memoryview:
            blob = super().slice_blob(entry, blobs, offset, size)
            cuts = cuts_of(blobs)
            if entry.spec.datatype != "BYTES" or not cuts:
                return blob
            for at, _ in _prefixes(blob):
                start = offset + at
                if bisect_right(cuts, start) != bisect_right(cuts, start + 3):
                    raise Rejected("a BYTES length is incomplete")
            return blob

    return RefusesSplit


fault(
    "bytes-prefix-split-by-chunk",
    breaks="B10",
    text="A BYTES prefix with a chunk boundary inside is refused.",
)(_refuses_split(lambda blobs: blobs.chunk_cuts))
fault(
    "bytes-prefix-split-by-segment",
    breaks="B10",
    text="A BYTES prefix that arrives in two reads from the socket is refused.",
)(_refuses_split(lambda blobs: blobs.segment_cuts))
fault(
    "bytes-cut-at-nul",
    breaks="B11",
    text="BYTES elements end at their first NUL.",
)(_changes_elements(lambda element: element.partition(b"\0")[0]))
fault(
    "bytes-trailing-nul-stripped",
    breaks="B11",
    text="BYTES elements lose the NULs at their end.",
)(_changes_elements(lambda element: element.rstrip(b"\0")))
fault(
    "bytes-elements-cut-at-64k",
    breaks="B12",
    text="BYTES elements are cut to 65,535 bytes.",
)(_changes_elements(lambda element: element[:65535]))


@fault(
    "many-bytes-elements-refused",
    breaks="B12",
    text="A binary BYTES input with more than 32,767 elements is refused.",
)
class _ManyRefused(Behaviour):
    def bytes_blob(self, entry: Entry, blob: Buffer) -> Buffer:
        checked = super().bytes_blob(entry, blob)
        if element_count(entry.shape) > 32767:
            raise Rejected("too many BYTES elements")
        return checked


@fault(
    "bytes-output-size-without-prefixes",
    breaks="B13",
    text="The size of a binary BYTES output does not count the prefixes.",
)
class _SizeWithoutPrefixes(Behaviour):
    def output_size(self, tensor: Tensor) -> int:
        size = super().output_size(tensor)
        return size - 4 * element_count(tensor.shape) if tensor.datatype == "BYTES" else size


@fault(
    "non-utf8-json-replaced",
    breaks="B14",
    text="What is not UTF-8 in a BYTES output in JSON becomes a replacement character.",
)
class _NonUtf8JsonReplaced(Behaviour):
    def output_data(self, tensor: Tensor) -> Any:
        if tensor.datatype != "BYTES":
            return super().output_data(tensor)
        return [element.decode(errors="replace") for element in decode_bytes(tensor.blob)]


@fault(
    "non-utf8-json-raw",
    breaks="B14",
    text="What is not UTF-8 in a BYTES output is put into JSON as it is.",
)
class _NonUtf8JsonRaw(Behaviour):
    def output_data(self, tensor: Tensor) -> Any:
        if tensor.datatype != "BYTES":
            return super().output_data(tensor)
        return [element.decode(errors="surrogateescape") for element in decode_bytes(tensor.blob)]

    def dump(self, document: dict[str, Any]) -> bytes:
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
        return text.encode(errors="surrogateescape")
