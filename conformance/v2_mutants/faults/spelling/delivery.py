"""Faults of deliveries, encoders and sizes that are other than usual (V3)."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from itertools import pairwise

from v2_conformance.protocol.datatypes import element_count
from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Blobs, Rejected, Request
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject
from v2_conformance.suite.models import ModelContract
from v2_mutants.faults.shared.spellings import refuses_if
from v2_mutants.registry import Right, fault

_MEMBER = b"\x1f\x8b\x08"
_FLUSH = b"\x00\x00\xff\xff"
_NOTHING = zlib.compress(b"")


def _json_length(request: Request) -> int:
    return int(request.values(HEADER_LENGTH)[0]) if request.values(HEADER_LENGTH) else -1


def _largest_chunk(request: Request) -> int:
    return max((b - a for a, b in pairwise((0, *request.chunk_cuts))), default=0)


def _body_came_alone(request: Request) -> bool:
    return len(request.body) > 0 and sum(request.head_reads) == len(request.head)


def _gzip(request: Request) -> bytes:
    """A body in gzip, in its coding; empty if it is in none."""
    coded = "gzip" in request.values("Content-Encoding")
    return bytes(request.body) if coded else b""


def _deflate(request: Request) -> bytes:
    coded = "deflate" in request.values("Content-Encoding")
    return bytes(request.body) if coded else b""


def _flags(bits: int) -> Callable[[Request], bool]:
    """Match requests whose gzip header has one of these flags (RFC 1952, section 2.3.1)."""
    return lambda request: len(_gzip(request)) > 3 and bool(_gzip(request)[3] & bits)


for _name, _text, _when in (
    ("blobs-in-second-chunk-refused",
     "A body with its JSON in the first of two chunks is rejected.",
     lambda request: len(request.chunk_cuts) == 2
     and request.chunk_cuts[0] == _json_length(request)),
    ("tiny-chunks-refused", "A body in chunks of less than eight bytes is rejected.",
     lambda request: 0 < _largest_chunk(request) < 8),
    ("body-in-one-later-read-refused", "A body that comes whole, but after its head, is rejected.",
     lambda request: not request.chunk_cuts
     and not request.segment_cuts
     and _body_came_alone(request)),
    ("blobs-in-later-read-refused",
     "A body of which the JSON comes first and all else in a second read is rejected.",
     lambda request: request.segment_cuts == (_json_length(request),)),
    ("many-short-reads-refused",
     "A body that comes in three reads or more, the first of 100 bytes, is rejected.",
     lambda request: len(request.segment_cuts) > 1 and request.segment_cuts[0] == 100),
    ("gzip-name-refused", "A gzip stream with a file name is rejected.", _flags(8)),
    ("gzip-comment-refused", "A gzip stream with a comment is rejected.", _flags(16)),
    ("gzip-extra-field-refused", "A gzip stream with an extra field is rejected.", _flags(4)),
    ("gzip-header-checksum-refused", "A gzip stream with a checksum of its header is rejected.",
     _flags(2)),
    ("gzip-stored-blocks-refused",
     "A gzip stream of one member that begins with a stored block is rejected.",
     lambda request: _gzip(request).count(_MEMBER) == 1
     and not _gzip(request)[3]
     and not _gzip(request)[10] & 6),
    ("gzip-flushes-refused", "A gzip stream that was flushed more than four times is rejected.",
     lambda request: _gzip(request).count(_FLUSH) > 4),
    ("deflate-of-lowest-level-refused",
     "A zlib stream that says it was compressed fast is rejected.",
     lambda request: _deflate(request)[:2] == b"\x78\x01"),
    ("deflate-of-best-level-refused",
     "A zlib stream that says it was compressed best is rejected.",
     lambda request: _deflate(request)[:2] == b"\x78\xda"),
    ("long-deflate-refused", "A zlib stream of more than 64 KiB and less than 1 MiB is rejected.",
     lambda request: 2**16 < len(zlib.decompress(_deflate(request) or _NOTHING)) < 2**20),
    ("deflate-of-small-window-refused",
     "A zlib stream with a window of less than 32 KiB is rejected.",
     lambda request: _deflate(request)[:1] not in (b"", b"\x78")),
):  # fmt: skip
    fault(_name, "V3", Behaviour.infer)(_text, refuses_if(_when))


fault("gzip-members-lost", "V3", Behaviour.is_next_member)(
    "A gzip stream of several members is rejected.", lambda right, coding, rest: False
)


def _size_refused(least: int, most: int) -> type[Behaviour]:
    """A server that rejects a tensor with so many elements."""

    class SizeRefused(Behaviour):
        def read_inputs(
            self, model: ModelContract, document: JsonObject, blobs: Blobs
        ) -> dict[str, Tensor]:
            return self._limited(super().read_inputs(model, document, blobs))

        def read_raw(self, model: ModelContract, body: memoryview) -> InferenceRequest:
            inference = super().read_raw(model, body)
            self._limited(inference.inputs)
            return inference

        def _limited(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
            if any(least <= element_count(item.shape) <= most for item in tensors.values()):
                raise Rejected("the tensor does not fit")
            return tensors

    return SizeRefused


fault.several(
    "second-buffer-of-a-thousand-refused",
    "V3",
    "A tensor of 1,001 to 2,000 elements, which needs a second buffer, is rejected.",
)(_size_refused(1001, 2000))
fault.several(
    "buffer-of-64-kib-refused",
    "V3",
    "A tensor of 16,385 to 20,000 elements, too long for a buffer of 64 KiB, is rejected.",
)(_size_refused(16_385, 20_000))
fault.several(
    "mebibyte-refused", "V3", "A tensor of more than 200,000 elements is rejected with 400."
)(_size_refused(200_001, 2**31))


fault("no-length-for-response-json-of-a-mebibyte", "V3", Behaviour.response_header_length)(
    "A response with more than 1,000,000 bytes of JSON before its blobs has no header length.",
    lambda right, text, blobs: right() if len(text) <= 1_000_000 else None,
)


@fault("mebibyte-of-texts-cut", "V3", Behaviour.parse_document)
def _(right: Right[JsonObject], text: memoryview) -> JsonObject:
    """If the JSON of a BYTES tensor has more than 1,000,000 bytes, its last text is lost."""
    document = right()
    if len(text) > 1_000_000 and b'"BYTES"' in bytes(text):
        document["inputs"][-1]["data"][-1] = ""
    return document
