"""Learns an arbitrary model: what it answers to plain requests."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from v2_conformance.errors import CaseFileError
from v2_conformance.judging.judge import judge_success
from v2_conformance.judging.known_good import plain_case, problem_with
from v2_conformance.judging.messages.response import (
    ReadOutput,
    decode_body,
    decoded_limit,
    read_message,
)
from v2_conformance.judging.relations.learning import (
    Learned,
    Unanswered,
    differing_output,
    identity_of,
    lost_digits,
    not_in_json,
)
from v2_conformance.judging.verdict import Finding
from v2_conformance.protocol.datatypes import DATATYPES
from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import BINARY_DATA_OUTPUT
from v2_conformance.suite.causes.base import describe, excerpt
from v2_conformance.suite.causes.causes import wrong_output
from v2_conformance.suite.models import ModelContract, Sample, TensorSpec
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.encode.deployment import Address, DeployedModel, KnownModel, Tolerance
from v2_conformance.wire.encode.inputs import SAMPLE
from v2_conformance.wire.encode.requests import Prepared, prepare
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending, Limits

_T = TypeVar("_T")
_Asking = Generator[Prepared, Exchange, _T]

_TIMES = 3  # how often the plain request is sent before the model counts as repeatable
_TIMES_OF_OTHERS = 2
_NO_JSON = frozenset({"FP16", "BF16"})


def learn(
    model: ModelContract,
    version: str | None,
    address: Address,
    tolerance: Tolerance | None,
) -> _Asking[Learned]:
    """Send the model its plain request until its answers are known.

    The request uses JSON both ways if the model's datatypes have a JSON form and the model answers
    it; otherwise it is binary. So what the extension says is compared with what the base protocol
    says. A model whose answer is malformed is learned without its values, so that cases say what
    is wrong.
    """
    binding = DeployedModel(
        model.role,
        model.model,
        tuple(spec.name for spec in model.inputs),
        tuple(spec.name for spec in model.outputs),
        version,
        known=KnownModel(model),
    )
    problem, malformed = "it was not asked", False
    for way in _ways(model):
        first = yield from _answer(_plain(binding, address, way, 0))
        if not isinstance(first, Unanswered):
            return (yield from _learned(binding, first, way, address, tolerance))
        malformed = malformed or first.malformed
        problem = first.words
    return _malformed(binding) if malformed else Learned(binding, problem=problem)


def _ways(model: ModelContract) -> list[tuple[str, bool]]:
    """Return the input forms, each with whether outputs are binary, plainest first."""
    ways = [("json", False), ("binary", False), ("binary", True)]
    if any(spec.datatype in _NO_JSON for spec in model.inputs):
        del ways[0]
    if any(spec.datatype in _NO_JSON for spec in model.outputs):
        ways = [("binary", True)]
    return ways


def _learned(
    binding: DeployedModel,
    first: Sequence[ReadOutput],
    way: tuple[str, bool],
    address: Address,
    tolerance: Tolerance | None,
) -> _Asking[Learned]:
    model = binding.contract
    if not first:
        return Learned(binding, problem="its answer has no outputs")
    if not model.outputs:  # its metadata names none
        outputs = tuple(
            TensorSpec(one.tensor.name, one.tensor.datatype, (-1,) * len(one.tensor.shape))
            for one in first
        )
        model = replace(model, outputs=outputs)
        names = tuple(spec.name for spec in outputs)
        binding = replace(binding, outputs=names, known=KnownModel(model))
    by_name = {one.tensor.name: one for one in first}
    if any(name not in by_name for name in binding.outputs):
        return _malformed(binding)
    answers = [tuple(_kept(by_name[name].tensor) for name in binding.outputs)]
    for _ in range(1, _TIMES):
        again = yield from _answer(_plain(binding, address, way, 0))
        if _is_malformed(again):
            return _malformed(binding)
        differing = differing_output(answers[0], again, tolerance)
        if differing is not None:
            return _unrepeatable(binding, differing)
    kept = model.samples[:1]
    for number in range(1, len(model.samples)):
        tried = yield from _answer(_plain(binding, address, way, number))
        if _is_malformed(tried):
            return _malformed(binding)
        if isinstance(tried, Unanswered):
            break  # the model need not take more than one
        named = {one.tensor.name: one for one in tried}
        if any(name not in named for name in binding.outputs):
            return _malformed(binding)
        other = tuple(_kept(named[name].tensor) for name in binding.outputs)
        for _ in range(1, _TIMES_OF_OTHERS):
            again = yield from _answer(_plain(binding, address, way, number))
            if _is_malformed(again):
                return _malformed(binding)
            differing = differing_output(other, again, tolerance)
            if differing is not None:
                return _unrepeatable(binding, differing)
        answers.append(other)
        kept = (*kept, model.samples[number])
    special, as_json = yield from _special_answers(binding, way, address)
    if tolerance is None and not way[1]:
        tolerance = lost_digits(tensor for outputs in (*answers, *as_json) for tensor in outputs)
    model = replace(
        model,
        samples=kept,
        special=tuple(special),
        not_in_json=tuple(dict.fromkeys(not_in_json(model, answers, tuple(special.values())))),
    )
    known = KnownModel(model, tuple(answers), tolerance, special=tuple(special.values()), way=way)
    if len(special) < len(binding.contract.special) or None in special.values():
        return Learned(replace(binding, known=known))
    return Learned(replace(binding, known=known), identity=identity_of(model, known))


def _special_answers(
    binding: DeployedModel, way: tuple[str, bool], address: Address
) -> _Asking[tuple[dict[tuple[Sample, ...], tuple[Tensor, ...] | None], list[tuple[Tensor, ...]]]]:
    """Return the answers to the special sets that the model takes, each asked for once, in binary
    form if JSON cannot express the values, None for a malformed one; and those that came `way`.
    """
    found: dict[tuple[Sample, ...], tuple[Tensor, ...] | None] = {}
    this_way = []
    for number, values in enumerate(binding.contract.special):
        for one, prepared in _plain_requests(binding, address, way, number, special=True):
            answered = yield from _answer(prepared)
            if isinstance(answered, Unanswered):
                if answered.malformed:
                    found[values] = None
                continue
            named = {output.tensor.name: output.tensor for output in answered}
            if all(name in named for name in binding.outputs):
                kept = tuple(_kept(named[name]) for name in binding.outputs)
                found[values] = kept
                if one == way:
                    this_way.append(kept)
                break
            found[values] = None  # it lacks an output that the metadata names
    return found, this_way


def learned_again(
    binding: DeployedModel, address: Address, special: int | None, times: int
) -> _Asking[bool]:
    """Send a model the plain requests that it was learned from again: that with special set
    `special`, or those with its samples, `times` each. Return False if one gets other values now.
    """
    known = binding.known
    assert known is not None
    numbers = range(len(known.answers or ())) if special is None else (special,)
    for number in numbers:
        ways = _plain_requests(binding, address, known.way, number, special=special is not None)
        for _, prepared in ways:
            for _ in range(times):
                problem = problem_with(prepared, None, (yield prepared))
                if problem is not None:
                    break
            if wrong_output(problem) is not None:
                return False
            if problem is None:
                break  # it was learned in this form
    return True


def _plain_requests(
    binding: DeployedModel,
    address: Address,
    way: tuple[str, bool],
    number: int,
    *,
    special: bool,
) -> Iterator[tuple[tuple[str, bool], Prepared]]:
    """Yield the plain requests to try with a set of values, each with its way: the second is for
    a server that does not answer the first."""
    for one in dict.fromkeys((way, ("binary", True))):
        try:
            prepared = _plain(binding, address, one, number, special=special)
        except CaseFileError:  # JSON cannot express these values
            continue
        yield one, prepared


def _unrepeatable(binding: DeployedModel, differing: str) -> Learned:
    known = KnownModel(binding.contract, differing=differing)
    return Learned(replace(binding, known=known))


def _malformed(binding: DeployedModel) -> Learned:
    model = replace(binding.contract, samples=binding.contract.samples[:1], special=())
    return Learned(replace(binding, known=KnownModel(model)))


def _kept(tensor: Tensor) -> Tensor:
    return Tensor(tensor.name, tensor.datatype, tuple(tensor.shape), bytes(tensor.blob))


def _plain(
    binding: DeployedModel,
    address: Address,
    way: tuple[str, bool],
    number: int,
    *,
    special: bool = False,
) -> Prepared:
    """Return the plain request to a model with sample set `number`, or the special one."""
    form, binary = way
    model = binding.contract
    unlisted = binary and not model.outputs
    case = plain_case(
        f"plain request to {model.model}",
        model,
        values=SAMPLE,
        form=form,
        listed=binary and not unlisted,
        options={"parameters": {BINARY_DATA_OUTPUT: True}} if unlisted else {},
        samples=number,
        special=special,
    )
    return prepare(case, address, binding, variant=0 if special else number)


def _is_malformed(answered: Sequence[ReadOutput] | Unanswered) -> bool:
    return isinstance(answered, Unanswered) and answered.malformed


def _answer(prepared: Prepared) -> _Asking[Sequence[ReadOutput] | Unanswered]:
    """Return the outputs of the answer to a plain request, or why there are none."""
    exchange = yield prepared
    response = exchange.response
    if response is None and exchange.ending is Ending.TOO_LARGE:
        return Unanswered(_too_large("longer", prepared))
    if response is None:
        came = exchange.partial is not None and exchange.partial.status == 200
        malformed = came or exchange.ending is Ending.MALFORMED
        return Unanswered(f"no answer came: {exchange.ending}", malformed)
    try:
        decoded = decode_body(response, limit=decoded_limit(prepared.body_size))
        judge_success((), decoded)
        outputs = read_message(decoded).outputs
        size = sum(map(_size_as_json, outputs))
        if size > _most(prepared):
            return Unanswered(_too_large(f"{size} bytes in JSON, more", prepared))
        return outputs
    except Finding as finding:
        if response.status != 200:
            malformed = 200 < response.status < 300
            return Unanswered(f"status {response.status}: {excerpt(response.body)}", malformed)
        return Unanswered(describe(finding.cause), finding.outcome is Outcome.FAIL)


def _size_as_json(output: ReadOutput) -> int:
    """Return about the most bytes that an output takes, which is in JSON."""
    element = DATATYPES[output.tensor.datatype].size
    blob = len(output.tensor.blob)
    return 2 * blob if element is None else blob // element * (4 * element + 6)


def _most(prepared: Prepared) -> int:
    return Limits().response_to(prepared.body_size)


def _too_large(what: str, prepared: Prepared) -> str:
    return (
        f"its answer is too large to be compared in every form ({what} than {_most(prepared)} "
        "bytes, the most that are read for such a request): send it less (--shape INPUT=1,3,8,8)"
    )
