"""Learns a model without a contract from its metadata and its answers to plain requests.

conversations.learning decides by the answers which requests are sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from v2_conformance.judging.compare import compare_tensors, is_close_to_zeros
from v2_conformance.judging.messages.response import ReadOutput, decode_body, read_message
from v2_conformance.judging.metadata import plain_body, single_version, status_words
from v2_conformance.judging.verdict import Finding
from v2_conformance.protocol.datatypes import DATATYPES, ElementError, Shape, to_array, to_json
from v2_conformance.protocol.message import MessageError, Tensor, parse_json
from v2_conformance.suite.causes.base import body_words, counted, excerpt, printable
from v2_conformance.suite.models import ROLE, ModelContract, Sample, TensorSpec
from v2_conformance.wire.encode.deployment import DeployedModel, Tolerance
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Response

_MOST_TENSORS = 64
_MOST_DIMENSIONS = 32
# With fewer a server does not write all that a number of the datatype may need.
_ALL_DIGITS = {"FP32": 8, "FP64": 16}
_MOST_NUMBERS = 2000
_FEW_DIGITS = 6  # what every server writes (D11)


class UntestableError(Exception):
    """A model cannot be tested; the message says why."""


@dataclass(frozen=True)
class Described:
    """A model's metadata: its tensors, none if it names none, and why it names none, "" if it does.
    The `model` is as the target names it, with its only version if that names none."""

    model: DeployedModel
    inputs: tuple[TensorSpec, ...] = ()
    outputs: tuple[TensorSpec, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class Unanswered:
    """Why a plain request has no outputs, in `words`; `malformed` if no client can rely on it,
    `too_long` if not all of it was read."""

    words: str
    malformed: bool = False
    too_long: bool = False


def described(response: Response, model: DeployedModel) -> Described:
    """Return the content of the answer to the GET of a model's metadata: of the outputs that the
    target names, or else all."""
    if response.status != 200:
        got = f"{status_words(response)}: {body_words(excerpt(response.body))}"
        return Described(model, problem=f"GET {model.path} answered with {got}")
    try:
        document = parse_json(plain_body(response))
        inputs, outputs = (_specs(document.get(key)) for key in ("inputs", "outputs"))
    except (Finding, MessageError) as error:
        problem = f"the answer to GET {model.path} cannot be read: {error}"
        return Described(model, problem=problem)
    if outputs and {spec.name for spec in outputs} <= {*model.outputs}:
        model = replace(model, outputs=())  # a report of a run whose target names none has all
    outputs = tuple(spec for spec in outputs if spec.name in (model.outputs or (spec.name,)))
    if not model.pinned:
        model = replace(model, version=single_version(document.get("versions")))
    return Described(model, inputs, outputs, "" if inputs else "its metadata names no inputs")


def as_described(model: ModelContract, metadata: Described) -> ModelContract:
    """Return `model` with its outputs, and whether a raw request can say all that others say."""
    named = {spec.name for spec in metadata.inputs} | {spec.name for spec in model.inputs}
    raw = len(named) == 1 and not metadata.model.parameters
    return replace(model, outputs=metadata.outputs, takes_raw=raw)


def _specs(entries: object) -> tuple[TensorSpec, ...]:
    listed = entries if isinstance(entries, list) else []
    if len(listed) > _MOST_TENSORS:
        raise MessageError(f"it has more than {_MOST_TENSORS} tensors")
    return tuple(_spec(entry if isinstance(entry, dict) else {}) for entry in listed)


def _spec(entry: Mapping[str, Any]) -> TensorSpec:
    name, datatype, shape = (entry.get(key) for key in ("name", "datatype", "shape"))
    if not isinstance(name, str):
        raise MessageError("it has a tensor without a name")
    if not isinstance(datatype, str) or datatype not in DATATYPES:
        raise MessageError(f"it has the datatype {ascii(datatype)[:40]} for {printable(name, 60)}")
    sizes = [_size(size) for size in shape] if isinstance(shape, list) else [None]
    dims = tuple(size for size in sizes if size is not None)
    if len(dims) < len(sizes) or len(dims) > _MOST_DIMENSIONS:
        raise MessageError(f"it has the shape {ascii(shape)[:60]} for {printable(name, 60)}")
    return TensorSpec(name, datatype, dims)


def _size(size: object) -> int | None:
    """Return a dimension; some servers write numbers as text, and null for a variable one."""
    if size is None:
        return -1
    if isinstance(size, str) and re.fullmatch(r"-?[0-9]{1,18}", size):
        size = int(size)
    return size if type(size) is int and -1 <= size < 1 << 31 else None


def unknown_model(
    name: str,
    inputs: Sequence[TensorSpec],
    outputs: Sequence[TensorSpec],
    samples: tuple[tuple[Sample, ...], ...],
) -> ModelContract:
    """Return the contract of a model, called `name` in URLs, about which nothing else is known."""
    return ModelContract(
        role=ROLE + name,
        model=name,
        does="unknown",
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        profile="binary",
        batching=False,
        optional=False,
        samples=samples,
    )


def shapes_unlike_metadata(
    learned: Iterable[Exchange], inputs: Iterable[tuple[TensorSpec, Shape]]
) -> Iterator[str]:
    """Yield in words how the shapes of a model's first answer differ from its metadata, which comes
    first in `learned`: in rank, in a fixed dimension, or with one row for several; what has no
    elements; and how many long requests it refused. `inputs` have the shapes that were sent."""
    got = [(len(one.request), one.response) for one in learned if one.response is not None]
    long = [one for size, one in got if size > 64 << 10 and one.status != 200]
    if long:
        yield f"it refused {counted(len(long), 'request')} of over 64 KiB: {status_words(long[0])}"
    responses = (response for _, response in got)
    metadata = next(responses, None)
    answer = next((one for one in responses if one.status == 200), None)
    if metadata is None or answer is None:
        return
    specs = {one.name: one for one in described(metadata, DeployedModel("", "", (), ())).outputs}
    rows = [shape[0] for spec, shape in inputs if shape and spec.dims[:1] == (-1,)]
    try:
        outputs = read_message(decode_body(answer)).outputs
    except Finding:
        return
    for one in outputs:
        spec, shape = specs.get(one.tensor.name), tuple(one.tensor.shape)
        came = f"{printable(one.tensor.name, 60)} came as {[*shape]}"
        if 0 in shape:
            yield f"{came}: no value of it is tested; --input or --range may give it some"
        if spec is not None and not spec.takes(shape):
            yield f"{came}, and the metadata says {[*spec.dims]}"
        elif spec is not None and spec.dims[:1] == (-1,) and shape[0] == 1 < min(rows, default=1):
            yield f"{came}: 1 row for the {min(rows)} that were sent"


def not_in_json(
    model: ModelContract,
    answers: Sequence[Sequence[Tensor]],
    special: Sequence[Sequence[Tensor] | None],
) -> Iterator[tuple[int | None, int | None]]:
    """Yield the outputs with infinities, NaN or BYTES that are not text (see `not_in_json`), and
    those that might have them: in a malformed answer."""
    sets: list[tuple[int | None, Sequence[Tensor] | None]] = [(None, one) for one in answers]
    for number, outputs in (*sets, *enumerate(special)):
        if outputs is None:
            yield from ((number, place) for place in range(len(model.outputs)))
            continue
        for place, tensor in enumerate(outputs):
            try:
                to_json(tensor.datatype, tensor.shape, tensor.blob)
            except ElementError:
                yield number, place


def differing_output(
    first: Sequence[Tensor], again: Sequence[ReadOutput] | Unanswered, tolerance: Tolerance | None
) -> str | None:
    """Return the output that differed between two answers to the same request, None if none did."""
    if isinstance(again, Unanswered):
        return again.words
    by_name = {one.tensor.name: one for one in again}
    for tensor in first:
        if tensor.name not in by_name:
            return printable(tensor.name, 60)
        try:
            compare_tensors(tensor, by_name[tensor.name], tolerance=tolerance)
        except Finding:
            return printable(tensor.name, 60)
    return None


def lost_digits(written: Iterable[Tensor]) -> Tolerance | None:
    """Return how much floats that a server `written` in JSON may differ from those of its blobs,
    None if they have all digits that the datatype needs. Few are enough for JSON (D11).
    """
    most = dict.fromkeys(_ALL_DIGITS, 0)
    for tensor in written:
        if tensor.datatype in _ALL_DIGITS:
            numbers = to_array(tensor.datatype, tensor.blob)[:_MOST_NUMBERS]
            texts = map(np.format_float_scientific, numbers[np.isfinite(numbers)])
            digits = [len(text.partition("e")[0].strip("-.").replace(".", "")) for text in texts]
            most[tensor.datatype] = max([most[tensor.datatype], *digits])
    lacking = [most[name] for name, all_ in _ALL_DIGITS.items() if 0 < most[name] < all_]
    return Tolerance(rtol=10.0 ** (1 - max(min(lacking), _FEW_DIGITS))) if lacking else None


def json_rtol(model: DeployedModel, given: Tolerance | None) -> float:
    """Return how far two floats of a model's answers may differ, relatively, as their JSON has few
    digits: not at all if the user has `given` a tolerance.
    """
    learned = None if given or model.known is None else model.known.tolerance
    return 0.0 if learned is None else learned.rtol


def beyond_tolerance(model: DeployedModel) -> str | None:
    """Return why a model's answers show nothing with its tolerance, None if they do: zeros would
    pass for one of its outputs.
    """
    known = model.known
    if known is None or known.tolerance is None:
        return None
    tolerance = known.tolerance
    for outputs in zip(*(known.answers or ()), strict=True):
        if is_close_to_zeros(outputs, tolerance):
            return (
                f"zeros would pass for the output {printable(outputs[0].name, 60)} of "
                f"{model.model} with rtol {tolerance.rtol:g} and atol {tolerance.atol:g}"
            )
    return None
