"""Faults of raw binary requests (W)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from v2_conformance.protocol.datatypes import DATATYPES, Buffer, Shape, element_count
from v2_conformance.protocol.message import MessageError, Tensor
from v2_conformance.reference.behaviour import PROFILES, Behaviour
from v2_conformance.reference.exchange import Rejected, Request
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.reading import Call, Wanted
from v2_conformance.suite.models import ModelContract


@fault("raw-refused", breaks="W1", text="Raw requests are refused.")
class _Refused(Behaviour):
    def read_raw(self, model: ModelContract, body: memoryview) -> Call:
        raise Rejected("raw requests are not served")


@fault("raw-answered-as-json", breaks="W2", text="A raw request is answered in JSON.")
class _AnsweredAsJson(Behaviour):
    def read_raw(self, model: ModelContract, body: memoryview) -> Call:
        call = super().read_raw(model, body)
        return replace(call, wanted=tuple(replace(one, binary=False) for one in call.wanted))


@fault(
    "raw-first-output-only",
    breaks="W2",
    text="A raw request is answered with the model's first output only.",
)
class _FirstOutputOnly(Behaviour):
    def read_raw(self, model: ModelContract, body: memoryview) -> Call:
        call = super().read_raw(model, body)
        return replace(call, wanted=call.wanted[:1])


@fault(
    "raw-shape-counts-bytes",
    breaks="W3",
    text="The variable dimension of a raw tensor is its number of bytes.",
)
class _ShapeCountsBytes(Behaviour):
    def raw_shape(self, datatype: str, dims: Shape, size: int) -> Shape:
        super().raw_shape(datatype, dims, size)
        return tuple(size if wanted == -1 else wanted for wanted in dims)


@fault(
    "raw-variable-dimension-refused",
    breaks="W3",
    text="A raw request is refused where the model has a variable dimension.",
)
class _VariableRefused(Behaviour):
    def raw_shape(self, datatype: str, dims: Shape, size: int) -> Shape:
        if -1 in dims:
            raise Rejected("a raw request needs a fixed shape")
        return super().raw_shape(datatype, dims, size)


@fault(
    "raw-without-batch-dimension",
    breaks="W4",
    text="A raw request to a batching model gets no batch dimension.",
)
class _WithoutBatch(Behaviour):
    def read_raw(self, model: ModelContract, body: memoryview) -> Call:
        call = super().read_raw(model, body)
        if not model.batching:
            return call
        inputs = {name: replace(one, shape=one.shape[1:]) for name, one in call.inputs.items()}
        return replace(call, inputs=inputs)


@fault(
    "raw-several-inputs-accepted",
    breaks="W5",
    text="A raw request to a model with several inputs fills its BOOL input; the others are empty.",
)
class _SeveralInputs(Behaviour):
    def read_raw(self, model: ModelContract, body: memoryview) -> Call:
        if len(model.inputs) == 1:
            return super().read_raw(model, body)
        inputs = {
            spec.name: Tensor(spec.name, "BOOL", (len(body),), body)
            if spec.datatype == "BOOL"
            else Tensor(spec.name, spec.datatype, (0,) * len(spec.dims), b"")
            for spec in model.inputs
        }
        return Call(inputs, tuple(Wanted(spec.name, True) for spec in model.outputs))


@fault(
    "raw-two-variable-dimensions",
    breaks="W6",
    text="All variable dimensions of a raw tensor but the last are taken to be 1.",
)
class _TwoVariable(Behaviour):
    def raw_shape(self, datatype: str, dims: Shape, size: int) -> Shape:
        fixed = list(dims)
        while fixed.count(-1) > 1:
            fixed[fixed.index(-1)] = 1
        return super().raw_shape(datatype, tuple(fixed), size)


@fault(
    "raw-bytes-any-shape",
    breaks="W7",
    text="A raw request for BYTES of any shape is taken as one element.",
)
class _BytesAnyShape(Behaviour):
    def raw_bytes(self, dims: Shape, body: memoryview) -> tuple[Shape, Buffer]:
        shape, blob = super().raw_bytes((1,), body)
        return shape * len(dims), blob


@fault(
    "raw-bytes-with-prefix",
    breaks="W8",
    text="The body of a raw request for BYTES has to have a prefix.",
)
class _BytesWithPrefix(Behaviour):
    def raw_bytes(self, dims: Shape, body: memoryview) -> tuple[Shape, Buffer]:
        shape, _ = super().raw_bytes(dims, body)
        return shape, body


@fault(
    "raw-odd-size-cut",
    breaks="W9",
    text="Bytes that a raw tensor has too many are dropped, those it lacks are zeros.",
)
class _OddSizeCut(Behaviour):
    def read_raw(self, model: ModelContract, body: memoryview) -> Call:
        spec = model.inputs[0]
        size = DATATYPES[spec.datatype].size
        if size is None:
            return super().read_raw(model, body)
        step = size * abs(element_count(spec.dims))
        wanted = len(body) // step * step if -1 in spec.dims else step
        return super().read_raw(model, memoryview(bytes(body[:wanted]).ljust(wanted, b"\0")))


@fault(
    "unparsable-body-taken-as-raw",
    breaks="W10",
    text="A body that is no JSON is taken as raw, without a header length of 0.",
)
class _UnparsableRaw(Behaviour):
    def read_call(self, model: ModelContract, request: Request, length: int | None) -> Call:
        try:
            return super().read_call(model, request, length)
        except MessageError:
            if length is not None or bytes(request.body[:1]) == b"{":
                raise
            return self.read_raw(model, request.body)


@fault(
    "header-length-zero-crashes",
    breaks="W11",
    text="The server knows no raw requests, and a header length of 0 ends it.",
)
class _ZeroCrashes(Behaviour):
    crashed = False

    def __init__(self, profiles: Collection[str] = PROFILES) -> None:
        super().__init__([profile for profile in profiles if profile != "raw"])

    def read_zero_length(self, model: ModelContract, request: Request) -> Call:
        self.crashed = True
        return super().read_zero_length(model, request)

    def listening(self) -> bool:
        return super().listening() and not self.crashed
