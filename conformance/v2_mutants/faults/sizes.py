"""Faults of `binary_data_size`: absent, beside `data`, no usable number, and compared with the
shape and the body (S)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from v2_conformance.protocol.datatypes import DATATYPES, Buffer, element_count
from v2_conformance.protocol.names import BINARY_DATA_OUTPUT, BINARY_DATA_SIZE
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Blobs, Request, Response
from v2_conformance.reference.request_reader import JsonObject, RequestInput
from v2_conformance.suite.models import ModelContract, TensorSpec
from v2_mutants.faults.shared import (
    MAX_MADE_UP,
    Blob,
    CrashingModels,
    Tensors,
    die,
    is_bytes,
    is_chunked,
    is_coded,
    is_last,
    is_versioned,
    resize,
    resize_to_shape,
    size_by_shape,
)
from v2_mutants.registry import Change, P, Right, What, fault, then

fault("bytes-size-eight-per-element", "S1", Behavior.declared_size)(
    "A BYTES input is read as eight bytes per element, whatever size it declares.",
    then(
        lambda size, entry: (
            size if not size or not is_bytes(entry) else 8 * element_count(entry.shape)
        )
    ),
)


@fault.several("data-preferred-blob-left", "S5")
class _DataPreferredBlobLeft(Behavior):
    """If an input has both `data` and a size, its blob is left for the next input."""

    def request_input(self, specs: dict[str, TensorSpec], item: object) -> RequestInput:
        entry = super().request_input(specs, item)
        if not entry.has_data:
            return entry
        kept = {name: value for name, value in entry.parameters.items() if name != BINARY_DATA_SIZE}
        return replace(entry, parameters=kept)

    def read_inputs(self, model: ModelContract, document: JsonObject, blobs: Blobs) -> Tensors:
        entries = self.request_inputs(model, document)
        if any(entry.has_data for entry in entries):
            # The blob that no input took comes last, and nothing complains about it.
            total = sum(self.declared_size(entry) or 0 for entry in entries)
            listed = [item.get("parameters") or {} for item in document["inputs"]]
            sizes = sum(BINARY_DATA_SIZE in parameters for parameters in listed)
            if sizes > sum(BINARY_DATA_SIZE in entry.parameters for entry in entries):
                blobs = replace(blobs, view=blobs.view[:total])
        return super().read_inputs(model, document, blobs)


@fault.several("size-preferred-over-data", "S5")
class _SizePreferredOverData(Behavior):
    """If an input has both `data` and a size, `data` is ignored; a missing blob is zeros."""

    def check_one_source(self, entry: RequestInput, size: int | None) -> None:
        if size is None:
            super().check_one_source(entry, size)

    def slice_blob(self, entry: RequestInput, blobs: Blobs, offset: int, size: int) -> memoryview:
        if entry.has_data and not len(blobs.view) and size <= MAX_MADE_UP:
            return memoryview(bytes(size))
        return super().slice_blob(entry, blobs, offset, size)


fault("size-wraps-at-32-bits", "S7", Behavior.declared_size)(
    "Only the low 32 bits of a size are used.",
    then(lambda size, entry: None if size is None else size % 2**32),
)
fault("size-true-read-as-one", "S9", Behavior.declared_size)(
    "A size of `true` is read as 1.",
    lambda right, entry: 1 if entry.parameters.get(BINARY_DATA_SIZE) is True else right(),
)


@fault("fractional-size-truncated", "S10", Behavior.declared_size)
def _(right: Right[int | None], entry: RequestInput) -> int | None:
    """A size of 16.5 is read as 16."""
    size = entry.parameters.get(BINARY_DATA_SIZE)
    if isinstance(size, float):
        parameters = entry.parameters | {BINARY_DATA_SIZE: int(size)}
        return right(replace(entry, parameters=parameters))
    return right()


fault("absent-size-read-as-native", "S11", Behavior.declared_size)(
    "An input with neither `data` nor a size takes shape × element size bytes of the blobs.",
    then(lambda size, entry: size_by_shape(entry) if size is None and not entry.has_data else size),
)
fault("unknown-input-parameter-hides-blob", "S14", Behavior.slice_blob)(
    "If an input has a parameter other than its size, its blob is read as zeros.",
    then(
        lambda blob, entry, blobs, offset, size: (
            memoryview(bytes(size))
            if set(entry.parameters) - {BINARY_DATA_SIZE, BINARY_DATA_OUTPUT}
            else blob
        )
    ),
)


def _passes(when: Callable[P, object]) -> Change[None, P]:
    """Return what checks nothing if `when` is true of the decision's arguments."""

    def what(right: Right[None], /, *args: P.args, **kwargs: P.kwargs) -> None:
        if not when(*args, **kwargs):
            right()

    return what


class _ResizesBlobs(Behavior):
    """A server that cuts or zero-pads a blob whose size passed the check but not its shape."""

    def binary_blob(self, entry: RequestInput, blob: Buffer) -> Buffer:
        return super().binary_blob(entry, resize_to_shape(entry, blob))


class _TakesEnds(Behavior):
    """A server that reads the end of a blob whose size passed the check but not its shape."""

    def binary_blob(self, entry: RequestInput, blob: Buffer) -> Buffer:
        native = size_by_shape(entry)
        start = 0 if native is None else max(len(blob) - native, 0)
        return super().binary_blob(entry, blob[start:])


class _ResizesUnchecked(_ResizesBlobs):
    """A server that takes any size of an input with the parameter `unchecked`, and any BOOL."""

    def bool_blob(self, entry: RequestInput, blob: Buffer) -> Buffer:
        return bytes(map(bool, bytes(blob)))

    def check_size(self, entry: RequestInput, size: int) -> None:
        if "unchecked" not in entry.parameters:
            super().check_size(entry, size)


def _made_up_if(when: Callable[[int, int], bool]) -> What[Tensors]:
    """A server that reads the only input as zeros, and nothing of the body, if `when` is true of
    its declared size and of the size by its shape."""

    def what(
        right: Right[Tensors], model: ModelContract, document: JsonObject, blobs: Blobs
    ) -> Tensors:
        first, *others = right.server.request_inputs(model, document)
        size, native = first.parameters.get(BINARY_DATA_SIZE), size_by_shape(first)
        if native is None:
            native = 4 * element_count(first.shape)  # of empty elements
        if others or first.has_data or type(size) is not int or not 0 < native <= MAX_MADE_UP:
            return right()
        if not when(size, native):
            return right()
        (listed,) = document["inputs"]
        listed = listed | {"parameters": {BINARY_DATA_SIZE: native}}
        zeros = replace(blobs, view=memoryview(bytes(native)))
        return right(document=document | {"inputs": [listed]}, blobs=zeros)

    return what


def _sum(sizes: list[int | None]) -> int | None:
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


@fault("declared-size-ignored", "S2", Behavior.declared_size)
def _(right: Right[int | None], entry: RequestInput) -> int | None:
    """Inputs are read as shape × element size bytes, whatever size they declare."""
    size = right()
    native = size_by_shape(entry)
    return size if not size or native is None or size >= 2**31 else native


fault("long-size-read-from-its-end", "S2", Behavior.check_size, base=_TakesEnds)(
    "Of a blob that is larger than shape × element size, the last bytes are read.",
    _passes(lambda entry, size: size > (size_by_shape(entry) or size)),
)
for _name, _requirement, _text, _of_sizes in (
    ("short-size-read-as-zeros", "S2", "a size smaller than shape × element size",
     lambda size, native: 0 < size < native),
    ("negative-size-read-as-zeros", "S6", "a negative size", lambda size, native: size < 0),
    ("huge-size-read-as-zeros", "S7", "a size of 2^31 or more",
     lambda size, native: size >= 2**31),
    ("size-zero-hides-blob", "S12", "the size 0", lambda size, native: size == 0),
):  # fmt: skip
    fault(_name, _requirement, Behavior.read_inputs)(
        f"An only input with {_text} is read as zeros, and the body is not looked at.",
        _made_up_if(_of_sizes),
    )


@fault("sizes-clamped-to-body", "S3", Behavior.slice_blob)
def _(
    right: Right[memoryview], entry: RequestInput, blobs: Blobs, offset: int, size: int
) -> memoryview:
    """If the body ends before a blob does, the blob is padded with zeros."""
    blob = blobs.view[offset : offset + size]
    if size <= MAX_MADE_UP:
        return memoryview(resize(blob, size))
    return blob[: len(blob) // 8 * 8]


def _unchecked_if(when: Callable[[Request], object]) -> type[Behavior]:
    """A server that cuts or pads blobs to their shapes in some requests."""

    class UncheckedIf(_ResizesBlobs):
        unchecked = False

        def infer(self, model: ModelContract, request: Request) -> Response:
            self.unchecked = bool(when(request))
            return super().infer(model, request)

        def check_size(self, entry: RequestInput, size: int) -> None:
            native = size_by_shape(entry)
            if not (self.unchecked and native and 0 < size <= MAX_MADE_UP):
                super().check_size(entry, size)

    return UncheckedIf


for _name, _where, _seen in (
    ("on-a-versioned-path", "On a path with the model's version",
     is_versioned),
    ("in-codings", "In a content coding", is_coded),
    ("in-chunks", "In chunks", is_chunked),
    ("of-last-requests", "If the connection ends",
     is_last),
    ("of-matrices", "In two dimensions", lambda request: "/matrix_" in request.target),
    ("of-cubes", "In three dimensions", lambda request: "/cube_" in request.target),
):  # fmt: skip
    fault.several(
        f"sizes-{_name}-unchecked", "S2", f"{_where}, a blob is cut or padded to its shape."
    )(_unchecked_if(_seen))


@fault("bytes-for-no-elements-used", "S2", Behavior.input_blob)
def _(right: Right[Blob], entry: RequestInput, blobs: Blobs, offset: int) -> Blob:
    """The model gets the blob of a tensor without elements, whatever size it has."""
    size = entry.parameters.get(BINARY_DATA_SIZE)
    if entry.has_data or 0 not in entry.shape or type(size) is not int:
        return right()
    return blobs.view[offset : offset + size], offset + size


fault("slack-ignored", "S4", Behavior.check_all_read)(
    "Bytes after the last blob are ignored.", lambda right, blobs, offset: None
)

for _name, _text, _of in (
    ("slack-in-chunks-ignored", "Bytes after the last blob of a chunked body are ignored.",
     lambda blobs, offset: blobs.chunk_cuts),
    ("zeros-behind-blobs-ignored", "Zeros after the last blob are ignored.",
     lambda blobs, offset: not bytes(blobs.view[offset:]).strip(b"\0")),
    ("line-end-behind-blobs-ignored", "A line end after the last blob is ignored.",
     lambda blobs, offset: not bytes(blobs.view[offset:]).strip(b"\r\n")),
):  # fmt: skip
    fault(_name, "S4", Behavior.check_all_read)(_text, _passes(_of))

fault("shape-product-wraps", "S8", Behavior.check_size)(
    "Shape × element size is computed modulo 2^64.",
    _passes(lambda entry, size: (size_by_shape(entry) or 0) % 2**64 == size),
)


def _wraps(width: int, bits: int) -> What[None]:
    """A server that computes the sizes of elements of this width in so many bits."""
    return _passes(
        lambda entry, size: (
            DATATYPES[entry.spec.datatype].size == width
            and (size_by_shape(entry) or 0) % 2**bits == size
        )
    )


for _width, _bits in ((1, 32), (2, 32), (8, 64)):
    fault(f"shape-product-of-{_width}-wraps-at-{_bits}-bits", "S8", Behavior.check_size)(
        f"Shape × element size is computed modulo 2^{_bits} for elements of {_width} bytes.",
        _wraps(_width, _bits),
    )

fault("overflowing-shape-kills-model", "S8", Behavior.request_inputs, base=CrashingModels)(
    "A shape of 2^63 bytes or more is rejected, but its model stops working.",
    then(
        lambda entries, model, document: (
            die(500)
            if any((size_by_shape(one) or element_count(one.shape)) >= 2**63 for one in entries)
            else entries
        )
    ),
)
fault("shape-product-wraps-at-32-bits", "S8", Behavior.check_size)(
    "Shape × element size below 2^63 is computed modulo 2^32.",
    _passes(
        lambda entry, size: (
            (native := size_by_shape(entry)) is not None
            and native < 2**63
            and native % 2**32 == size
        )
    ),
)


@fault("only-sum-of-sizes-checked", "S13", Behavior.read_inputs)
def _(right: Right[Tensors], model: ModelContract, document: JsonObject, blobs: Blobs) -> Tensors:
    """Inputs are read as shape × element size bytes if the declared sizes have the right sum."""
    entries = right.server.request_inputs(model, document)
    # An input in JSON has no size, and none is added to the sum.
    sizes = [0 if entry.has_data else right.server.declared_size(entry) for entry in entries]
    natives = [0 if entry.has_data else size_by_shape(entry) for entry in entries]
    total = _sum(natives)
    if total is None or _sum(sizes) != total:
        return right()
    listed = [
        item if "data" in item else item | {"parameters": {BINARY_DATA_SIZE: native}}
        for item, native in zip(document["inputs"], natives, strict=True)
    ]
    return right(document=document | {"inputs": listed})


fault("size-wraps-at-64-bits", "S7", Behavior.declared_size)(
    "Only the low 64 bits of a size are used.",
    then(lambda size, entry: None if size is None else size % 2**64),
)
