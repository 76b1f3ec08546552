"""Faults of comparing `binary_data_size` with the shape and with the body (S)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from v2_conformance.protocol.datatypes import Buffer, element_count
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.faults.shared.blobs import (
    MAX_MADE_UP,
    is_bytes,
    resize,
    resize_to_shape,
    size_by_shape,
)
from v2_conformance.reference.faults.shared.crashes import (
    CrashingModels,
    CrashingServer,
    FatalRequest,
)
from v2_conformance.reference.http_messages import Blobs
from v2_conformance.reference.request_reader import BINARY_DATA_SIZE, JsonObject, RequestInput
from v2_conformance.suite.models import ModelContract


class _ResizesBlobs(Behaviour):
    """A server that cuts or zero-pads a blob whose size passed the check but not its shape."""

    def binary_blob(self, entry: RequestInput, blob: Buffer) -> Buffer:
        return super().binary_blob(entry, resize_to_shape(entry, blob))


def _checks_one_size(position: int) -> type[Behaviour]:
    """A server that compares with its shape only the size of the input at `position`."""

    class ChecksOneSize(_ResizesBlobs):
        def request_inputs(self, model: ModelContract, document: JsonObject) -> list[RequestInput]:
            entries = super().request_inputs(model, document)
            checked = entries[position] if entries else None
            return [
                entry
                if entry is checked
                else replace(entry, parameters=entry.parameters | {"unchecked": True})
                for entry in entries
            ]

        def check_size(self, entry: RequestInput, size: int) -> None:
            native = size_by_shape(entry)
            if "unchecked" not in entry.parameters or not (native and 0 < size <= MAX_MADE_UP):
                super().check_size(entry, size)

    return ChecksOneSize


def _pads_short_blobs_if(applies: Callable[[RequestInput, Blobs], bool]) -> type[Behaviour]:
    """A server that pads a blob with zeros if the body ends too early and `applies`."""

    class PadsShortBlobs(Behaviour):
        def slice_blob(
            self, entry: RequestInput, blobs: Blobs, offset: int, size: int
        ) -> memoryview:
            if applies(entry, blobs) and size <= MAX_MADE_UP:
                return memoryview(resize(blobs.view[offset:], size))
            return super().slice_blob(entry, blobs, offset, size)

    return PadsShortBlobs


def _checks_sum_of_sizes(*, and_first: bool) -> type[Behaviour]:
    """A server that compares with the shapes only the sum of all sizes, and maybe the first."""

    class ChecksSumOfSizes(Behaviour):
        def read_inputs(
            self, model: ModelContract, document: JsonObject, blobs: Blobs
        ) -> dict[str, Tensor]:
            entries = self.request_inputs(model, document)
            # An input in JSON has no size, and none is added to the sum.
            sizes = [0 if entry.has_data else self.declared_size(entry) for entry in entries]
            natives = [0 if entry.has_data else size_by_shape(entry) for entry in entries]
            total = _sum(natives)
            right = total is not None and _sum(sizes) == total
            if right and (sizes[:1] == natives[:1] or not and_first):
                listed = [
                    item if "data" in item else item | {"parameters": {BINARY_DATA_SIZE: native}}
                    for item, native in zip(document["inputs"], natives, strict=True)
                ]
                document = document | {"inputs": listed}
            return super().read_inputs(model, document, blobs)

    return ChecksSumOfSizes


def _sum(sizes: list[int | None]) -> int | None:
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


@fault(
    "short-size-zero-padded",
    breaks="S2",
    text="A size smaller than shape × element size is accepted, and the blob is zero-padded.",
)
class _ShortSizeZeroPadded(_ResizesBlobs):
    def check_size(self, entry: RequestInput, size: int) -> None:
        native = size_by_shape(entry)
        if not (native and 0 < size < native <= MAX_MADE_UP):
            super().check_size(entry, size)


@fault(
    "long-size-truncated",
    breaks="S2",
    text="A size larger than shape × element size is accepted, and the blob is truncated.",
)
class _LongSizeTruncated(_ResizesBlobs):
    def check_size(self, entry: RequestInput, size: int) -> None:
        native = size_by_shape(entry)
        if native is None or size <= native:
            super().check_size(entry, size)


@fault(
    "declared-size-ignored",
    breaks="S2",
    text="Inputs are read as shape × element size bytes, whatever size they declare.",
)
class _DeclaredSizeIgnored(Behaviour):
    def declared_size(self, entry: RequestInput) -> int | None:
        size = super().declared_size(entry)
        native = size_by_shape(entry)
        return size if not size or native is None or size >= 2**31 else native


fault(
    "only-first-size-compared-with-shape",
    breaks="S2",
    text="Only the size of the first input is compared with its shape.",
)(_checks_one_size(0))
fault(
    "only-last-size-compared-with-shape",
    breaks="S2",
    text="Only the size of the last input is compared with its shape.",
)(_checks_one_size(-1))


@fault(
    "bf16-size-not-compared-with-shape",
    breaks="S2",
    text="The size of a BF16 input is not compared with its shape; the blob is cut or padded.",
)
class _Bf16SizeNotComparedWithShape(_ResizesBlobs):
    def check_size(self, entry: RequestInput, size: int) -> None:
        if entry.spec.datatype != "BF16":
            super().check_size(entry, size)


@fault(
    "sizes-clamped-to-body",
    breaks="S3",
    text="If the body ends before a blob does, the blob is padded with zeros.",
)
class _SizesClampedToBody(Behaviour):
    def slice_blob(self, entry: RequestInput, blobs: Blobs, offset: int, size: int) -> memoryview:
        blob = blobs.view[offset : offset + size]
        if size <= MAX_MADE_UP:
            return memoryview(resize(blob, size))
        return blob[: len(blob) // 8 * 8]


fault(
    "bytes-blob-filled-up",
    breaks="S3",
    text="If the body ends before a BYTES blob does, the blob is padded with zeros.",
)(_pads_short_blobs_if(lambda entry, blobs: is_bytes(entry)))
fault(
    "short-body-in-chunks-filled-up",
    breaks="S3",
    text="If a chunked body ends before a blob does, the blob is padded with zeros.",
)(_pads_short_blobs_if(lambda entry, blobs: bool(blobs.chunk_cuts)))


@fault(
    "slack-ignored",
    breaks="S4",
    text="Bytes after the last blob are ignored.",
)
class _SlackIgnored(Behaviour):
    def check_all_read(self, blobs: Blobs, offset: int) -> None:
        return None


@fault(
    "slack-behind-json-ignored",
    breaks="S4",
    text="Bytes after the JSON are ignored if no input declares a blob.",
)
class _SlackBehindJsonIgnored(Behaviour):
    def check_all_read(self, blobs: Blobs, offset: int) -> None:
        if offset:
            super().check_all_read(blobs, offset)


@fault(
    "slack-behind-bytes-ignored",
    breaks="S4",
    text="Bytes after the blob of a BYTES input are ignored.",
)
class _SlackBehindBytesIgnored(Behaviour):
    def read_inputs(
        self, model: ModelContract, document: JsonObject, blobs: Blobs
    ) -> dict[str, Tensor]:
        entries = self.request_inputs(model, document)
        if entries and is_bytes(entries[-1]):
            total = sum(max(self.declared_size(entry) or 0, 0) for entry in entries)
            blobs = replace(blobs, view=blobs.view[:total])
        return super().read_inputs(model, document, blobs)


@fault(
    "slack-behind-several-ignored",
    breaks="S4",
    text="Bytes after the last blob of several inputs are ignored.",
)
class _SlackBehindSeveralIgnored(Behaviour):
    def read_inputs(
        self, model: ModelContract, document: JsonObject, blobs: Blobs
    ) -> dict[str, Tensor]:
        entries = self.request_inputs(model, document)
        if len(entries) > 1:
            total = sum(max(self.declared_size(entry) or 0, 0) for entry in entries)
            blobs = replace(blobs, view=blobs.view[:total])
        return super().read_inputs(model, document, blobs)


@fault(
    "slack-in-chunks-ignored",
    breaks="S4",
    text="Bytes after the last blob of a chunked body are ignored.",
)
class _SlackInChunksIgnored(Behaviour):
    def check_all_read(self, blobs: Blobs, offset: int) -> None:
        if not blobs.chunk_cuts:
            super().check_all_read(blobs, offset)


def _ignores_slack(of: bytes) -> type[Behaviour]:
    """A server that ignores bytes after the last blob if all of them are some of these."""

    class IgnoresSlack(Behaviour):
        def check_all_read(self, blobs: Blobs, offset: int) -> None:
            if bytes(blobs.view[offset:]).strip(of):
                super().check_all_read(blobs, offset)

    return IgnoresSlack


for _name, _text, _of in (
    ("zeros", "Zeros after the last blob are ignored.", b"\0"),
    ("line-end", "A line end after the last blob is ignored.", b"\r\n"),
):
    fault(f"{_name}-behind-blobs-ignored", breaks="S4", text=_text)(_ignores_slack(_of))


@fault(
    "shape-product-wraps",
    breaks="S8",
    text="Shape × element size is computed modulo 2^64.",
)
class _ShapeProductWraps(Behaviour):
    def check_size(self, entry: RequestInput, size: int) -> None:
        if (size_by_shape(entry) or 0) % 2**64 != size:
            super().check_size(entry, size)


@fault(
    "overflowing-shape-kills-model",
    breaks="S8",
    text="A shape of 2^63 bytes or more is rejected, but its model stops working.",
)
class _OverflowingShapeKillsModel(CrashingModels):
    def request_inputs(self, model: ModelContract, document: JsonObject) -> list[RequestInput]:
        entries = super().request_inputs(model, document)
        if any((size_by_shape(entry) or element_count(entry.shape)) >= 2**63 for entry in entries):
            raise FatalRequest(f"{model.model} crashed while it served this request", 500)
        return entries


@fault(
    "shape-product-wraps-at-32-bits",
    breaks="S8",
    text="Shape × element size below 2^63 is computed modulo 2^32.",
)
class _ShapeProductWrapsAt32Bits(Behaviour):
    def check_size(self, entry: RequestInput, size: int) -> None:
        native = size_by_shape(entry)
        if native is None or native >= 2**63 or native % 2**32 != size:
            super().check_size(entry, size)


@fault(
    "bytes-count-wraps",
    breaks="S8",
    text="The number of elements of a BYTES shape is computed modulo 2^64.",
)
class _BytesCountWraps(Behaviour):
    def bytes_blob(self, entry: RequestInput, blob: Buffer) -> Buffer:
        count = element_count(entry.shape)
        super().bytes_blob(replace(entry, shape=(count % 2**64,)), blob)
        return blob


@fault(
    "overflowing-shape-ends-server",
    breaks="S8",
    text="A shape of 2^62 elements or more crashes the server: it accepts no more connections.",
)
class _OverflowingShapeEndsServer(CrashingServer):
    def request_inputs(self, model: ModelContract, document: JsonObject) -> list[RequestInput]:
        entries = super().request_inputs(model, document)
        if any(element_count(entry.shape) >= 2**62 for entry in entries):
            self.crashed = True
        return entries


fault(
    "only-sum-of-sizes-checked",
    breaks="S13",
    text="Inputs are read as shape × element size bytes if the declared sizes have the right sum.",
)(_checks_sum_of_sizes(and_first=False))
fault(
    "first-size-and-sum-compared",
    breaks="S13",
    text="Only the first size and the sum of all sizes are compared with the shapes.",
)(_checks_sum_of_sizes(and_first=True))
