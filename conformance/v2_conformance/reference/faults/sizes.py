"""Faults of `binary_data_size` in requests (S)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from v2_conformance.protocol.datatypes import Buffer, Shape, blob_size, element_count
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import PROFILES, Behaviour
from v2_conformance.reference.exchange import Blobs, Rejected
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.faults.tools import fill
from v2_conformance.reference.reading import SIZE, Entry
from v2_conformance.suite.models import ModelContract, TensorSpec

# Faults pretend to have memory for what is declared, but take no more than this.
_PRETEND = 2**24


def _native(entry: Entry) -> int | None:
    return blob_size(entry.spec.datatype, entry.shape)


@fault(
    "bytes-size-kept-by-shape",
    breaks="S1",
    text="The size of a BYTES input is taken from the first request with the same shape.",
)
class _KeptByShape(Behaviour):
    def __init__(self, profiles: Collection[str] = PROFILES) -> None:
        super().__init__(profiles)
        self.kept: dict[Shape, int] = {}

    def declared_size(self, entry: Entry) -> int | None:
        size = super().declared_size(entry)
        if size is None or entry.spec.datatype != "BYTES":
            return size
        return self.kept.setdefault(entry.shape, size)


@fault(
    "bytes-size-eight-per-element",
    breaks="S1",
    text="A BYTES input is read as eight bytes an element, whatever size it declares.",
)
class _EightPerElement(Behaviour):
    def declared_size(self, entry: Entry) -> int | None:
        size = super().declared_size(entry)
        if not size or entry.spec.datatype != "BYTES":
            return size
        return 8 * element_count(entry.shape)


@fault(
    "short-size-zero-padded",
    breaks="S2",
    text="A declared size below shape × element size is accepted, and zeros are added.",
)
class _ShortPadded(Behaviour):
    def check_size(self, entry: Entry, size: int) -> None:
        native = _native(entry)
        if not (native and 0 < size < native <= _PRETEND):
            super().check_size(entry, size)

    def binary_blob(self, entry: Entry, blob: Buffer) -> Buffer:
        native = _native(entry)
        return super().binary_blob(entry, blob if native is None else fill(blob, native))


@fault(
    "long-size-truncated",
    breaks="S2",
    text="A declared size above shape × element size is accepted, and the rest is dropped.",
)
class _LongTruncated(Behaviour):
    def check_size(self, entry: Entry, size: int) -> None:
        native = _native(entry)
        if native is None or size <= native:
            super().check_size(entry, size)

    def binary_blob(self, entry: Entry, blob: Buffer) -> Buffer:
        native = _native(entry)
        return super().binary_blob(entry, blob if native is None else blob[:native])


@fault(
    "declared-size-ignored",
    breaks="S2",
    text="Inputs are read by shape × element size; the declared size is not compared with it.",
)
class _DeclaredIgnored(Behaviour):
    def declared_size(self, entry: Entry) -> int | None:
        size = super().declared_size(entry)
        native = _native(entry)
        return size if not size or native is None or size >= 2**31 else native


@fault(
    "sizes-clamped-to-body",
    breaks="S3",
    text="A blob that the body cuts short is accepted, and zeros are added.",
)
class _ClampedToBody(Behaviour):
    def slice_blob(self, entry: Entry, blobs: Blobs, offset: int, size: int) -> memoryview:
        blob = blobs.view[offset : offset + size]
        if size <= _PRETEND:
            return memoryview(fill(blob, size))
        return blob[: len(blob) // 8 * 8]


@fault(
    "slack-ignored",
    breaks="S4",
    text="Bytes behind the last blob are ignored.",
)
class _SlackIgnored(Behaviour):
    def check_all_read(self, blobs: Blobs, offset: int) -> None:
        return None


@fault(
    "data-preferred-blob-left",
    breaks="S5",
    text="With both `data` and a size, `data` is used and the blob is left for the next input.",
)
class _DataPreferred(Behaviour):
    def input_entry(self, specs: dict[str, TensorSpec], item: object) -> Entry:
        entry = super().input_entry(specs, item)
        if not entry.has_data:
            return entry
        kept = {name: value for name, value in entry.parameters.items() if name != SIZE}
        return replace(entry, parameters=kept)

    def read_inputs(
        self, model: ModelContract, document: dict[str, Any], blobs: Blobs
    ) -> dict[str, Tensor]:
        entries = self.input_entries(model, document)
        if any(entry.has_data for entry in entries):
            # The blob that nothing took is behind all others, and not complained about.
            total = sum(self.declared_size(entry) or 0 for entry in entries)
            both = sum(SIZE in (item.get("parameters") or {}) for item in document["inputs"])
            if both > sum(SIZE in entry.parameters for entry in entries):
                blobs = replace(blobs, view=blobs.view[:total])
        return super().read_inputs(model, document, blobs)


@fault(
    "size-preferred-over-data",
    breaks="S5",
    text="With both `data` and a size, `data` is ignored.",
)
class _SizePreferred(Behaviour):
    def check_one_source(self, entry: Entry, size: int | None) -> None:
        if size is None:
            super().check_one_source(entry, size)


@fault(
    "negative-size-as-native",
    breaks="S6",
    text="A negative size is replaced by shape × element size.",
)
class _NegativeAsNative(Behaviour):
    def negative_size(self, entry: Entry, size: int) -> int:
        native = _native(entry)
        return super().negative_size(entry, size) if native is None else native


@fault(
    "size-wraps-at-32-bits",
    breaks="S7",
    text="Only the low 32 bits of a size are used.",
)
class _SizeWraps(Behaviour):
    def declared_size(self, entry: Entry) -> int | None:
        size = super().declared_size(entry)
        return None if size is None else size % 2**32


@fault(
    "shape-product-wraps",
    breaks="S8",
    text="Shape × element size is computed modulo 2^64.",
)
class _ShapeWraps(Behaviour):
    def check_size(self, entry: Entry, size: int) -> None:
        if (_native(entry) or 0) % 2**64 != size:
            super().check_size(entry, size)


@fault(
    "overflowing-shape-kills-model",
    breaks="S8",
    text="A shape of 2^63 bytes or more is refused, but its model never answers well again.",
)
class _ShapeKills(Behaviour):
    def __init__(self, profiles: Collection[str] = PROFILES) -> None:
        super().__init__(profiles)
        self.dead: set[str] = set()

    def input_entries(self, model: ModelContract, document: dict[str, Any]) -> list[Entry]:
        if model.model in self.dead:
            raise Rejected(f"{model.model} has no live process", 503)
        entries = super().input_entries(model, document)
        if any((_native(entry) or element_count(entry.shape)) >= 2**63 for entry in entries):
            self.dead.add(model.model)
            raise Rejected(f"{model.model} ended while it served this request", 500)
        return entries


@fault(
    "mistyped-size-as-native",
    breaks="S9",
    text="A size that is no number is replaced by shape × element size.",
)
class _MistypedAsNative(Behaviour):
    def declared_size(self, entry: Entry) -> int | None:
        if SIZE in entry.parameters and type(entry.parameters[SIZE]) not in (int, float):
            return _native(entry)
        return super().declared_size(entry)


@fault(
    "fractional-size-truncated",
    breaks="S10",
    text="A size of 16.5 is read as 16.",
)
class _FractionalTruncated(Behaviour):
    def declared_size(self, entry: Entry) -> int | None:
        size = entry.parameters.get(SIZE)
        if isinstance(size, float):
            parameters = entry.parameters | {SIZE: int(size)}
            return super().declared_size(replace(entry, parameters=parameters))
        return super().declared_size(entry)


@fault(
    "absent-data-read-as-zeros",
    breaks="S11",
    text="An input with neither `data` nor a size is all zeros.",
)
class _AbsentAsZeros(Behaviour):
    def input_blob(self, entry: Entry, blobs: Blobs, offset: int) -> tuple[Buffer, int]:
        if entry.has_data or SIZE in entry.parameters:
            return super().input_blob(entry, blobs, offset)
        native = _native(entry)
        return bytes(min(4 * element_count(entry.shape) if native is None else native, _PRETEND)), (
            offset
        )


@fault(
    "size-zero-read-as-zeros",
    breaks="S12",
    text="An input of size 0 with a non-empty shape is all zeros.",
)
class _ZeroAsZeros(Behaviour):
    def input_blob(self, entry: Entry, blobs: Blobs, offset: int) -> tuple[Buffer, int]:
        native = _native(entry)
        if native and native <= _PRETEND and self.declared_size(entry) == 0:
            return bytes(native), offset
        return super().input_blob(entry, blobs, offset)


@fault(
    "size-zero-read-as-native",
    breaks="S12",
    text="An input of size 0 with a non-empty shape is read by shape × element size.",
)
class _ZeroAsNative(Behaviour):
    def declared_size(self, entry: Entry) -> int | None:
        size = super().declared_size(entry)
        return _native(entry) if size == 0 else size


@fault(
    "only-sum-of-sizes-checked",
    breaks="S13",
    text="Inputs are read by shape × element size if only the declared sizes have the right sum.",
)
class _OnlySumChecked(Behaviour):
    def read_inputs(
        self, model: ModelContract, document: dict[str, Any], blobs: Blobs
    ) -> dict[str, Tensor]:
        listed = document.get("inputs")
        entries = self.input_entries(model, document)
        pairs = [(self.declared_size(entry), _native(entry)) for entry in entries]
        right = all(size is not None and native is not None for size, native in pairs)
        if right and sum(size or 0 for size, _ in pairs) == sum(native or 0 for _, native in pairs):
            assert isinstance(listed, list)  # input_entries has looked
            listed = [
                item | {"parameters": {SIZE: native}}
                for item, (_, native) in zip(listed, pairs, strict=True)
            ]
        return super().read_inputs(model, document | {"inputs": listed}, blobs)


@fault(
    "unknown-input-parameter-refused",
    breaks="S14",
    text="An input with a parameter other than the size is refused.",
)
class _UnknownParameterRefused(Behaviour):
    def declared_size(self, entry: Entry) -> int | None:
        if set(entry.parameters) - {SIZE, "binary_data_output"}:
            raise Rejected("unknown parameters")
        return super().declared_size(entry)
