"""Faults of tensors with zero elements (E)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Rejected, Request
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject, RequestInput
from v2_conformance.suite.models import ModelContract
from v2_mutants.faults.shared.deliveries import is_chunked
from v2_mutants.registry import Right, What, fault, only, refuse, then


@fault("size-zero-refused", "E1", Behaviour.check_size)
def _(right: Right[None], entry: RequestInput, size: int) -> None:
    """An input with the size 0 is rejected."""
    right()
    if size == 0:
        raise Rejected(f"input {entry.spec.name} has no data")


@fault("empty-output-without-size", "E2", Behaviour.response_output)
def _(right: Right[JsonObject], tensor: Tensor, binary: bool) -> JsonObject:
    """A binary output without elements has no size."""
    entry = right()
    if binary and not len(tensor.blob):
        del entry["parameters"]
    return entry


fault("empty-response-without-json", "E4", Behaviour.response_body)(
    "If all outputs are binary and empty, the response has no body.",
    lambda right, text, blobs: () if blobs and (not any(map(len, blobs))) else right(),
)
fault("empty-bytes-become-one-element", "E5", Behaviour.output_tensor)(
    "A BYTES output without elements is returned with one empty element.",
    only(
        ("BYTES",),
        then(
            lambda made, output, tensor: replace(made, blob=bytes(4)) if 0 in made.shape else made
        ),
    ),
)


def _refuses_without_elements(
    when: Callable[[Request, Sequence[Tensor]], object],
) -> What[InferenceRequest]:
    """A server that refuses tensors without elements in some requests only."""

    def what(
        right: Right[InferenceRequest], model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        inference = right()
        tensors = list(inference.inputs.values())
        if any(0 in tensor.shape for tensor in tensors) and when(request, tensors):
            refuse()
        return inference

    return what


for _name, _where, _when in (
    ("in-chunks", "in chunks", lambda request, tensors: is_chunked(request)),
    ("of-bf16", "of BF16", lambda request, tensors: tensors[0].datatype == "BF16"),
):  # fmt: skip
    fault(f"zero-elements-refused-{_name}", "E1", Behaviour.read_request)(
        f"A tensor without elements is rejected {_where}, and served otherwise.",
        _refuses_without_elements(_when),
    )
