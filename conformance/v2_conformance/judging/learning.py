"""How a model that nobody knows looks and answers, learned from its own metadata and answers.

The questions depend on the answers. So whoever asks hands in `Ask`: a run sends the request, and
`verifying` finds its answer in the record.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from v2_conformance.errors import CaseFileError
from v2_conformance.judging.compare import compare_tensors
from v2_conformance.judging.judge import judge_success
from v2_conformance.judging.known_good import plain_case
from v2_conformance.judging.metadata import model_metadata, single_version, status_words
from v2_conformance.judging.response import (
    ReadOutput,
    decode_body,
    decoded_limit,
    read_message,
)
from v2_conformance.judging.verdict import Finding
from v2_conformance.protocol.datatypes import DATATYPES, ElementError, to_json
from v2_conformance.protocol.message import MessageError, Tensor
from v2_conformance.suite.cause_base import describe, excerpt, printable
from v2_conformance.suite.models import ModelContract, Sample, TensorSpec, contract
from v2_conformance.suite.relations import ROLE
from v2_conformance.wire.encode import Address, Binding, Known, Prepared, Tolerance, prepare
from v2_conformance.wire.encode_inputs import SAMPLE
from v2_conformance.wire.transcript import Response, Transcript

Ask = Callable[[Prepared], Transcript]

NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
"""The names of models that can be tested: they are part of ids and file names."""

_TIMES = 3  # how often the plain request is sent before the model counts as repeatable
_TIMES_OF_OTHERS = 2
_NO_JSON = frozenset({"FP16", "BF16"})
_SMALL = 127
_MOST_TENSORS = 64
_MOST_DIMENSIONS = 32


@dataclass(frozen=True)
class Described:
    """What a model's metadata says: its tensors, none if it names none, and its only version."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    version: str | None


@dataclass(frozen=True)
class Learned:
    """A model that was learned, or why it could not be: `problem`.

    `identity` is the role of the contract that the model has by what it answered, None if none.
    """

    binding: Binding
    problem: str | None = None
    identity: str | None = None

    @property
    def model(self) -> ModelContract:
        """What is known of it."""
        return self.binding.contract

    @property
    def differing(self) -> str | None:
        """The output in which two answers to the same request differed, None if none did."""
        return None if self.binding.known is None else self.binding.known.differing


def described(response: Response, name: str) -> Described | str:
    """What the answer to GET /v2/models/NAME says, or why it says nothing that can be used."""
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
    """A dimension; some servers write numbers as text, and null for a variable one."""
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
    """The contract of a model called `name` of which nothing else is known."""
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


def learn(
    model: ModelContract,
    version: str | None,
    address: Address,
    ask: Ask,
    tolerance: Tolerance | None,
) -> Learned:
    """Send the model its plain request until its answers are known.

    The request is in JSON both ways if the model's datatypes have a JSON form and it answers that,
    or else in binary form: what the extension says is compared with what the base protocol says.
    """
    binding = Binding(
        model.role,
        model.model,
        tuple(spec.name for spec in model.inputs),
        tuple(spec.name for spec in model.outputs),
        version,
        known=Known(model),
    )
    problem = "it was not asked"
    for way in _ways(model):
        first = _answer(_plain(binding, address, way, 0), ask)
        if not isinstance(first, str):
            return _learned(binding, first, way, address, ask, tolerance)
        problem = first
    return Learned(binding, problem=problem)


def _ways(model: ModelContract) -> list[tuple[str, bool]]:
    """The forms of inputs and whether outputs are in binary form, the plainest first."""
    ways = [("json", False), ("binary", False), ("binary", True)]
    if any(spec.datatype in _NO_JSON for spec in model.inputs):
        del ways[0]
    if any(spec.datatype in _NO_JSON for spec in model.outputs):
        ways = [("binary", True)]
    return ways


def _learned(
    binding: Binding,
    first: Sequence[ReadOutput],
    way: tuple[str, bool],
    address: Address,
    ask: Ask,
    tolerance: Tolerance | None,
) -> Learned:
    model = binding.contract
    if not model.outputs:  # its metadata names none
        outputs = tuple(
            TensorSpec(one.tensor.name, one.tensor.datatype, (-1,) * len(one.tensor.shape))
            for one in first
        )
        model = replace(model, outputs=outputs)
        names = tuple(spec.name for spec in outputs)
        binding = replace(binding, outputs=names, known=Known(model))
    by_name = {one.tensor.name: one for one in first}
    absent = next((name for name in binding.outputs if name not in by_name), None)
    if absent is not None:
        return Learned(binding, problem=f"its answer has no output {printable(absent, 60)}")
    answers = [tuple(_kept(by_name[name].tensor) for name in binding.outputs)]
    for _ in range(1, _TIMES):
        again = _answer(_plain(binding, address, way, 0), ask)
        differing = _differing(answers[0], again, tolerance)
        if differing is not None:
            return _unrepeatable(binding, differing)
    kept = model.samples[:1]
    for number in range(1, len(model.samples)):
        tried = [_answer(_plain(binding, address, way, number), ask)]
        if isinstance(tried[0], str):
            break  # the model need not take more than one
        named = {one.tensor.name: one for one in tried[0]}
        if any(name not in named for name in binding.outputs):
            break
        other = tuple(_kept(named[name].tensor) for name in binding.outputs)
        for _ in range(1, _TIMES_OF_OTHERS):
            again = _answer(_plain(binding, address, way, number), ask)
            differing = _differing(other, again, tolerance)
            if differing is not None:
                return _unrepeatable(binding, differing)
        answers.append(other)
        kept = (*kept, model.samples[number])
    special = _special_answers(binding, way, address, ask)
    model = replace(
        model,
        samples=kept,
        special=tuple(special),
        not_in_json=tuple(dict.fromkeys(_not_in_json(answers, tuple(special.values())))),
    )
    known = Known(model, tuple(answers), tolerance, special=tuple(special.values()))
    if len(special) < len(binding.contract.special):
        return Learned(replace(binding, known=known))
    return Learned(replace(binding, known=known), identity=_identity(model, known))


def _not_in_json(
    answers: Sequence[Sequence[Tensor]], special: Sequence[Sequence[Tensor]]
) -> Iterator[tuple[int | None, int]]:
    """The outputs with infinities, NaN or BYTES that are no text (ModelContract.not_in_json)."""
    sets: list[tuple[int | None, Sequence[Tensor]]] = [(None, outputs) for outputs in answers]
    for number, outputs in (*sets, *enumerate(special)):
        for place, tensor in enumerate(outputs):
            try:
                to_json(tensor.datatype, tensor.shape, tensor.blob)
            except ElementError:
                yield number, place


def _special_answers(
    binding: Binding, way: tuple[str, bool], address: Address, ask: Ask
) -> dict[tuple[Sample, ...], tuple[Tensor, ...]]:
    """The answers to the special sets that the model takes, each asked for once, in binary form if
    JSON cannot say what is in it."""
    found = {}
    for number, values in enumerate(binding.contract.special):
        for one in dict.fromkeys((way, ("binary", True))):
            try:
                prepared = _plain(binding, address, one, number, special=True)
            except CaseFileError:  # no JSON has these values
                continue
            answered = _answer(prepared, ask)
            if isinstance(answered, str):
                continue
            named = {output.tensor.name: output.tensor for output in answered}
            if all(name in named for name in binding.outputs):
                found[values] = tuple(_kept(named[name]) for name in binding.outputs)
                break
    return found


def _unrepeatable(binding: Binding, differing: str) -> Learned:
    known = Known(binding.contract, differing=differing)
    return Learned(replace(binding, known=known))


def _kept(tensor: Tensor) -> Tensor:
    return Tensor(tensor.name, tensor.datatype, tuple(tensor.shape), bytes(tensor.blob))


def _differing(
    first: Sequence[Tensor], again: Sequence[ReadOutput] | str, tolerance: Tolerance | None
) -> str | None:
    """The output in which the same request got another answer, None if it did not."""
    if isinstance(again, str):
        return again
    found = {one.tensor.name: one for one in again}
    for tensor in first:
        if tensor.name not in found:
            return printable(tensor.name, 60)
        try:
            compare_tensors(tensor, found[tensor.name], tolerance=tolerance)
        except Finding:
            return printable(tensor.name, 60)
    return None


def _identity(model: ModelContract, known: Known) -> str | None:
    """The role whose model answers like this one: it gives back its only input, whatever that is.

    Many models do that with small numbers alone: one that cuts off what is negative, say.
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
    pairs += zip(model.special, known.special, strict=True)
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
    """Whether it has the elements of the plain request, again and again, and so shows no others."""
    times = len(blob) // max(1, len(plain)) + 1
    return (plain * times)[: len(blob)] == blob


def _plain(
    binding: Binding,
    address: Address,
    way: tuple[str, bool],
    number: int,
    *,
    special: bool = False,
) -> Prepared:
    """The plain request to a model with the set of samples `number`, or the special one."""
    form, binary = way
    model = binding.contract
    unlisted = binary and not model.outputs
    case = plain_case(
        f"plain request to {model.model}",
        model,
        values=SAMPLE,
        form=form,
        listed=binary and not unlisted,
        options={"parameters": {"binary_data_output": True}} if unlisted else {},
        samples=number,
        special=special,
    )
    return prepare(case, address, binding, variant=0 if special else number)


def _answer(prepared: Prepared, ask: Ask) -> Sequence[ReadOutput] | str:
    """The outputs of the answer to a plain request, or why there are none."""
    transcript = ask(prepared)
    response = transcript.response
    if response is None:
        return f"no answer came: {transcript.ending}"
    try:
        decoded = decode_body(response, limit=decoded_limit(prepared.body_size))
        judge_success((), decoded)
        return read_message(decoded).outputs
    except Finding as finding:
        if response.status != 200:
            return f"status {response.status}: {excerpt(response.body)}"
        return describe(finding.cause)
