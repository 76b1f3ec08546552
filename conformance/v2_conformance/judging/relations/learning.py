"""Learns an arbitrary model's tensors and answers from its own metadata and answers.

The questions depend on the answers: see conversations.learning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from v2_conformance.judging.compare import compare_tensors, is_close_to_zeros
from v2_conformance.judging.messages.response import (
    ReadOutput,
)
from v2_conformance.judging.metadata import model_metadata, single_version, status_words
from v2_conformance.judging.verdict import Finding
from v2_conformance.protocol.datatypes import DATATYPES, ElementError, to_array, to_json
from v2_conformance.protocol.message import MessageError, Tensor
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.models import ROLE, ModelContract, Sample, TensorSpec, contract
from v2_conformance.wire.encode.deployment import DeployedModel, KnownModel, Tolerance
from v2_conformance.wire.response import Response

NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
"""The names of models that can be tested: they are part of ids and file names."""

_SMALL = 127
_MOST_TENSORS = 64
_MOST_DIMENSIONS = 32
# With fewer a server does not write all that a number of the datatype may need.
_ALL_DIGITS = {"FP32": 8, "FP64": 16}
_MOST_NUMBERS = 2000
_FEW_DIGITS = 6  # what every server writes (D11)


@dataclass(frozen=True)
class Described:
    """A model's metadata: its tensors, none if it names none, and its only version."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    version: str | None


@dataclass(frozen=True)
class Learned:
    """A model that was learned, or why it could not be: `problem`.

    `identity` is the role of the contract that the model's answers show, None if none.
    """

    binding: DeployedModel
    problem: str | None = None
    identity: str | None = None

    @property
    def model(self) -> ModelContract:
        """The known facts about the model."""
        return self.binding.contract

    def json_rtol(self, given: Tolerance | None) -> float:
        """Return how far two floats of its answers may differ, relatively, as their JSON has few
        digits: not at all if the user has `given` a tolerance.
        """
        known = self.binding.known
        learned = None if given or known is None else known.tolerance
        return 0.0 if learned is None else learned.rtol

    @property
    def differing(self) -> str | None:
        """The output in which two answers to the same request differed, None if none did."""
        return None if self.binding.known is None else self.binding.known.differing


@dataclass(frozen=True)
class Unanswered:
    """Why a plain request has no outputs, in `words`; `malformed` if the model answered it, but in
    a way that no client can rely on."""

    words: str
    malformed: bool = False


def described(response: Response, name: str) -> Described | str:
    """Return the content of the answer to GET /v2/models/NAME, or why it is unusable."""
    if response.status != 200:
        return f"GET /v2/models/{name} answered with {status_words(response)}"
    try:
        document = model_metadata(response)
    except (Finding, MessageError) as error:
        return f"the metadata of {name} cannot be read: {error}"
    found = [_specs(document.get(key)) for key in ("inputs", "outputs")]
    for specs in found:
        if isinstance(specs, str):
            return f"the metadata of {name} has {specs}"
    inputs, outputs = (specs for specs in found if not isinstance(specs, str))
    return Described(inputs, outputs, single_version(document.get("versions")))


def _specs(entries: object) -> tuple[TensorSpec, ...] | str:
    found: list[TensorSpec] = []
    listed: list[Any] = entries if isinstance(entries, list) else []
    if len(listed) > _MOST_TENSORS:
        return f"more than {_MOST_TENSORS} tensors"
    for entry in listed:
        given = entry if isinstance(entry, dict) else {}
        name, datatype, shape = (given.get(key) for key in ("name", "datatype", "shape"))
        if not isinstance(name, str):
            return "a tensor without a name"
        if datatype not in DATATYPES:
            return f"the datatype {ascii(datatype)[:40]} for {printable(name, 60)}"
        if shape is None:
            return f"no shape for {printable(name, 60)}"
        shape = shape if isinstance(shape, list) else None
        sizes = [_size(size) for size in shape or ()]
        if shape is None or None in sizes or len(sizes) > _MOST_DIMENSIONS:
            return (
                f"a shape of {printable(name, 60)} that is none: {ascii(given.get('shape'))[:60]}"
            )
        dims = tuple(size for size in sizes if size is not None)
        found.append(TensorSpec(name, str(datatype), dims))
    return tuple(found)


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
    """Return the contract of a model called `name` about which nothing else is known."""
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


def not_in_json(
    model: ModelContract,
    answers: Sequence[Sequence[Tensor]],
    special: Sequence[Sequence[Tensor] | None],
) -> Iterator[tuple[int | None, int]]:
    """Yield the outputs with infinities, NaN or BYTES that are no text (see `not_in_json`), and
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
    found = {one.tensor.name: one for one in again}
    for tensor in first:
        if tensor.name not in found:
            return printable(tensor.name, 60)
        try:
            compare_tensors(tensor, found[tensor.name], tolerance=tolerance)
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


def beyond_tolerance(learned: Learned) -> str | None:
    """Return why a model's answers show nothing with its tolerance, None if they do: zeros would
    pass for one of its outputs.
    """
    known = learned.binding.known
    if known is None or known.tolerance is None or not known.answers:
        return None
    for outputs in zip(*known.answers, strict=True):
        if is_close_to_zeros(outputs, known.tolerance):
            return (
                f"zeros would pass for the output {printable(outputs[0].name, 60)} of "
                f"{learned.model.model} with rtol {known.tolerance.rtol:g} and atol "
                f"{known.tolerance.atol:g}"
            )
    return None


def identity_of(model: ModelContract, known: KnownModel) -> str | None:
    """Return the role whose model answers like this one: it returns its only input unchanged.

    Many models do that for small numbers only, for example one that clips negative values.
    """
    answers = known.answers or ()
    if (len(model.inputs), len(model.outputs)) != (1, 1) or len(answers) < 2:
        return None
    # Of small numbers no byte is above 127. BOOL has no other values than 0 and 1.
    plain = model.samples[0][0].blob
    blobs = (one[0].blob for one in model.special if not _says_again(one[0].blob, plain))
    if not any(max(blob, default=0) > _SMALL for blob in blobs) and model.datatypes != {"BOOL"}:
        return None
    pairs = [*zip(model.samples, answers, strict=True)]
    pairs += [(s, o) for s, o in zip(model.special, known.special, strict=True) if o is not None]
    for sample, outputs in pairs:
        if (sample[0].shape, sample[0].blob) != (outputs[0].shape, outputs[0].blob):
            return None
    spec = model.inputs[0]
    for role in (f"identity/{spec.datatype}", f"matrix/{spec.datatype}"):
        played = contract().get(role)
        if played is not None and played.inputs[0].dims == spec.dims:
            return role if model.outputs[0].datatype == spec.datatype else None
    return None


def _says_again(blob: bytes, plain: bytes) -> bool:
    """Return True if the model only repeats the elements of the plain request."""
    times = len(blob) // max(1, len(plain)) + 1
    return (plain * times)[: len(blob)] == blob
