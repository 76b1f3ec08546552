"""Faults that only show at one place: one tensor among several, one datatype, one form."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from v2_conformance.protocol.datatypes import Buffer, blob_size, element_count
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.exchange import Blobs, Rejected
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.faults.tools import fill
from v2_conformance.reference.reading import SIZE, Entry, Wanted
from v2_conformance.suite.models import ModelContract

_ALL = "binary_data_output"
_PRETEND = 2**24  # bytes that a fault takes at most, whatever is declared


def _native(entry: Entry) -> int | None:
    return blob_size(entry.spec.datatype, entry.shape)


def _has_bytes(entry: Entry) -> bool:
    return entry.spec.datatype == "BYTES"


# --- inputs --------------------------------------------------------------------------------------


@fault(
    "every-input-gets-the-rest",
    breaks="M1",
    text="Every binary input is given the rest of the body, in which the next ones' blobs are.",
)
class _EveryInputGetsTheRest(Behaviour):
    def slice_blob(self, entry: Entry, blobs: Blobs, offset: int, size: int) -> memoryview:
        super().slice_blob(entry, blobs, offset, size)
        rest = blobs.view[offset:]
        if len(rest) != size:
            raise Rejected(f"input {entry.spec.name}: {len(rest)} bytes do not fit its shape")
        return rest


@fault(
    "json-bytes-inputs-take-blob-bytes",
    breaks="M3",
    text="A BYTES input given as JSON moves the offset of the blobs behind it.",
)
class _JsonBytesTakeBlobBytes(Behaviour):
    def input_blob(self, entry: Entry, blobs: Blobs, offset: int) -> tuple[Buffer, int]:
        blob, end = super().input_blob(entry, blobs, offset)
        return blob, end + len(blob) * (entry.has_data and _has_bytes(entry))


@fault(
    "empty-bytes-input-takes-a-prefix",
    breaks="M4",
    text="A binary BYTES input without elements takes the four bytes of a prefix.",
)
class _EmptyBytesTakesPrefix(Behaviour):
    def next_offset(self, entry: Entry, offset: int, size: int) -> int:
        end = super().next_offset(entry, offset, size)
        return end + 4 * (size == 0 and _has_bytes(entry))


@fault(
    "empty-data-missing-beside-blobs",
    breaks="M4",
    text="In a request with blobs an input whose `data` is an empty array counts as without data.",
)
class _EmptyDataMissing(Behaviour):
    def input_blob(self, entry: Entry, blobs: Blobs, offset: int) -> tuple[Buffer, int]:
        if len(blobs.view) and not entry.data:
            entry = replace(entry, has_data=False)
        return super().input_blob(entry, blobs, offset)


# --- outputs -------------------------------------------------------------------------------------


@fault(
    "json-bytes-output-adds-its-blob",
    breaks="O3",
    text="The blob of a BYTES output in JSON is in the body, too, where others are binary.",
)
class _JsonBytesAddsBlob(Behaviour):
    def response_blob_order(
        self, model: ModelContract, wanted: Sequence[Wanted]
    ) -> Sequence[Wanted]:
        datatypes = {spec.name: spec.datatype for spec in model.outputs}
        some = any(one.binary for one in wanted)
        order = super().response_blob_order(model, wanted)
        return [
            Wanted(one.name, one.binary or (some and datatypes[one.name] == "BYTES"))
            for one in order
        ]


@fault(
    "binary-data-true-overrides-for-all",
    breaks="O8",
    text="With `binary_data_output` false, `binary_data` true on one output makes all binary.",
)
class _TrueOverridesForAll(Behaviour):
    def wanted_outputs(self, model: ModelContract, document: dict[str, Any]) -> tuple[Wanted, ...]:
        wanted = super().wanted_outputs(model, document)
        said = (document.get("parameters") or {}).get(_ALL)
        every = said is False and any(one.binary for one in wanted)
        return tuple(Wanted(one.name, one.binary or every) for one in wanted)


@fault(
    "mixed-response-blobs-in-model-order",
    breaks="O12",
    text="Where outputs in JSON are among them, response blobs are in the model's order.",
)
class _MixedInModelOrder(Behaviour):
    def response_blob_order(
        self, model: ModelContract, wanted: Sequence[Wanted]
    ) -> Sequence[Wanted]:
        order = super().response_blob_order(model, wanted)
        if all(one.binary for one in order):
            return order
        places = {spec.name: place for place, spec in enumerate(model.outputs)}
        return sorted(order, key=lambda one: places[one.name])


@fault(
    "all-outputs-returned-with-binary-data-output",
    breaks="O13",
    text="With `binary_data_output` true, outputs that were not asked for come back too.",
)
class _AllReturnedWhenBinary(Behaviour):
    def wanted_outputs(self, model: ModelContract, document: dict[str, Any]) -> tuple[Wanted, ...]:
        wanted = super().wanted_outputs(model, document)
        if not self.default_form(document):
            return wanted
        listed = {one.name for one in wanted}
        others = (spec.name for spec in model.outputs if spec.name not in listed)
        return (*wanted, *(Wanted(name, True) for name in others))


# --- sizes ---------------------------------------------------------------------------------------


def _checks_one_size(place: int) -> type[Behaviour]:
    """A server that compares the size of the input at one place with its shape, of no other."""

    class ChecksOne(Behaviour):
        def input_entries(self, model: ModelContract, document: dict[str, Any]) -> list[Entry]:
            entries = super().input_entries(model, document)
            one = entries[place] if entries else None
            return [
                entry
                if entry is one
                else replace(entry, parameters=entry.parameters | {"unchecked": True})
                for entry in entries
            ]

        def check_size(self, entry: Entry, size: int) -> None:
            native = _native(entry)
            if "unchecked" not in entry.parameters or not (native and 0 < size <= _PRETEND):
                super().check_size(entry, size)

        def binary_blob(self, entry: Entry, blob: Buffer) -> Buffer:
            native = _native(entry)
            return super().binary_blob(entry, blob if native is None else fill(blob, native))

    return ChecksOne


for _place, _word in ((0, "first"), (-1, "last")):
    fault(
        f"only-{_word}-size-compared-with-shape",
        breaks="S2",
        text=f"Of several inputs only the {_word} one's size is compared with its shape.",
    )(_checks_one_size(_place))


@fault(
    "bf16-size-not-compared-with-shape",
    breaks="S2",
    text="The size of a BF16 input is not compared with its shape; the blob is cut or filled.",
)
class _Bf16Unchecked(Behaviour):
    def check_size(self, entry: Entry, size: int) -> None:
        if entry.spec.datatype != "BF16":
            super().check_size(entry, size)

    def binary_blob(self, entry: Entry, blob: Buffer) -> Buffer:
        native = _native(entry) if entry.spec.datatype == "BF16" else None
        return super().binary_blob(entry, blob if native is None else fill(blob, native))


@fault(
    "bytes-blob-filled-up",
    breaks="S3",
    text="A BYTES blob that the body cuts short is filled up with zeros.",
)
class _BytesFilledUp(Behaviour):
    def slice_blob(self, entry: Entry, blobs: Blobs, offset: int, size: int) -> memoryview:
        if not _has_bytes(entry) or size > _PRETEND:
            return super().slice_blob(entry, blobs, offset, size)
        return memoryview(fill(blobs.view[offset:], size))


@fault(
    "slack-behind-json-ignored",
    breaks="S4",
    text="Bytes behind the JSON are ignored where no input declares a blob.",
)
class _SlackBehindJson(Behaviour):
    def check_all_read(self, blobs: Blobs, offset: int) -> None:
        if offset:
            super().check_all_read(blobs, offset)


@fault(
    "slack-behind-bytes-ignored",
    breaks="S4",
    text="Bytes behind the blob of a BYTES input are ignored.",
)
class _SlackBehindBytes(Behaviour):
    def read_inputs(
        self, model: ModelContract, document: dict[str, Any], blobs: Blobs
    ) -> dict[str, Tensor]:
        entries = self.input_entries(model, document)
        if entries and _has_bytes(entries[-1]):
            total = sum(max(self.declared_size(entry) or 0, 0) for entry in entries)
            blobs = replace(blobs, view=blobs.view[:total])
        return super().read_inputs(model, document, blobs)


@fault(
    "data-and-size-of-only-input-accepted",
    breaks="S5",
    text="The size of an only input is ignored, with the blob behind the JSON, if it has `data`.",
)
class _OnlyInputAccepted(Behaviour):
    def read_inputs(
        self, model: ModelContract, document: dict[str, Any], blobs: Blobs
    ) -> dict[str, Tensor]:
        entries = self.input_entries(model, document)
        if len(entries) == 1 and entries[0].has_data and SIZE in entries[0].parameters:
            (listed,) = document["inputs"]
            document = document | {"inputs": [listed | {"parameters": {}}]}
            blobs = replace(blobs, view=blobs.view[:0])
        return super().read_inputs(model, document, blobs)


@fault(
    "negative-bytes-size-takes-the-rest",
    breaks="S6",
    text="A BYTES input of negative size takes all bytes that are left.",
)
class _NegativeTakesRest(Behaviour):
    def negative_size(self, entry: Entry, size: int) -> int:
        return size if _has_bytes(entry) else super().negative_size(entry, size)

    def slice_blob(self, entry: Entry, blobs: Blobs, offset: int, size: int) -> memoryview:
        return blobs.view[offset:] if size < 0 else super().slice_blob(entry, blobs, offset, size)

    def check_all_read(self, blobs: Blobs, offset: int) -> None:
        if offset >= 0:
            super().check_all_read(blobs, offset)


@fault(
    "bytes-size-wraps-at-32-bits",
    breaks="S7",
    text="Only the low 32 bits of the size of a BYTES input are used.",
)
class _BytesSizeWraps(Behaviour):
    def declared_size(self, entry: Entry) -> int | None:
        size = super().declared_size(entry)
        return size if size is None or not _has_bytes(entry) else size % 2**32


@fault(
    "shape-product-wraps-at-32-bits",
    breaks="S8",
    text="Shape × element size of less than 2^63 is computed modulo 2^32.",
)
class _ShapeWrapsAt32(Behaviour):
    def check_size(self, entry: Entry, size: int) -> None:
        native = _native(entry)
        if native is None or native >= 2**63 or native % 2**32 != size:
            super().check_size(entry, size)


@fault(
    "bytes-count-wraps",
    breaks="S8",
    text="The number of elements that a BYTES shape has is computed modulo 2^64.",
)
class _BytesCountWraps(Behaviour):
    def bytes_blob(self, entry: Entry, blob: Buffer) -> Buffer:
        count = element_count(entry.shape)
        super().bytes_blob(replace(entry, shape=(count % 2**64,)), blob)
        return blob


@fault(
    "overflowing-shape-ends-server",
    breaks="S8",
    text="A shape of 2^62 elements or more ends the server: it accepts no more connections.",
)
class _ShapeEndsServer(Behaviour):
    crashed = False

    def input_entries(self, model: ModelContract, document: dict[str, Any]) -> list[Entry]:
        entries = super().input_entries(model, document)
        if any(element_count(entry.shape) >= 2**62 for entry in entries):
            self.crashed = True
        return entries

    def listening(self) -> bool:
        return super().listening() and not self.crashed


@fault(
    "absent-size-read-as-native",
    breaks="S11",
    text="An input with neither `data` nor a size takes shape × element size of what is left.",
)
class _AbsentSizeAsNative(Behaviour):
    def declared_size(self, entry: Entry) -> int | None:
        size = super().declared_size(entry)
        return _native(entry) if size is None and not entry.has_data else size


@fault(
    "first-size-and-sum-compared",
    breaks="S13",
    text="Of several sizes the first and the sum of all are compared with the shapes.",
)
class _FirstAndSum(Behaviour):
    def read_inputs(
        self, model: ModelContract, document: dict[str, Any], blobs: Blobs
    ) -> dict[str, Tensor]:
        entries = self.input_entries(model, document)
        sizes = [self.declared_size(entry) or 0 for entry in entries]
        natives = [_native(entry) or 0 for entry in entries]
        if sizes[:1] == natives[:1] and sum(sizes) == sum(natives) and all(natives):
            listed = [
                item | {"parameters": {SIZE: native}}
                for item, native in zip(document["inputs"], natives, strict=True)
            ]
            document = document | {"inputs": listed}
        return super().read_inputs(model, document, blobs)


@fault(
    "bytes-read-until-enough",
    breaks="B6",
    text="BYTES elements are read until there are enough; the declared size is not looked at.",
)
class _BytesReadUntilEnough(Behaviour):
    def read_inputs(
        self, model: ModelContract, document: dict[str, Any], blobs: Blobs
    ) -> dict[str, Tensor]:
        (*_, last) = entries = self.input_entries(model, document)
        size = self.declared_size(last)
        if len(entries) == 1 and _has_bytes(last) and size and not last.has_data:
            taken = _taken(blobs.view, element_count(last.shape))
            (listed,) = document["inputs"]
            listed = listed | {"parameters": {SIZE: size if taken is None else taken}}
            document = document | {"inputs": [listed]}
        return super().read_inputs(model, document, blobs)


def _taken(view: memoryview, count: int) -> int | None:
    """How many bytes so many BYTES elements take; None where they are not there."""
    offset = 0
    for _ in range(min(count, len(view))):
        if offset + 4 > len(view):
            return None
        offset += 4 + int(struct.unpack_from("<I", view, offset)[0])
    return offset if offset <= len(view) else None
