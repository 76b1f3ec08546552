"""Learns an arbitrary model: what it answers to plain requests.

A request in JSON both ways is the plainest: it has nothing of the extension, so what a server does
with blobs is compared with what it does without. If a server does not answer it, inputs are sent as
blobs, then outputs are also asked for as blobs. Each set of samples is sent several times, because
a model that answers differently each time cannot be tested. The special sets, which cases need, are
sent once; a set that the model refuses is not sent again. If an answer is malformed, the model is
learned without its values: the cases say what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from math import prod
from typing import TypeVar

from v2_conformance.errors import CaseFileError
from v2_conformance.judging.judge import judge_success
from v2_conformance.judging.known_good import plain_case, problem_with
from v2_conformance.judging.learning import (
    Unanswered,
    UntestableError,
    differing_output,
    lost_digits,
    not_in_json,
)
from v2_conformance.judging.messages.response import ReadOutput, decode_body
from v2_conformance.judging.verdict import Finding
from v2_conformance.protocol.datatypes import DATATYPES, HALVES
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
_Way = tuple[str, bool]
"""The form of all inputs, and whether outputs are binary."""
_BLOBS: _Way = ("binary", True)
_Outputs = tuple[Tensor, ...]

_AGAIN = 2  # how often the first plain request is repeated; the others are repeated once


def learn(
    model: ModelContract, stated: DeployedModel, address: Address, tolerance: Tolerance | None
) -> _Asking[DeployedModel]:
    """Send the model its plain requests; return it with its answers: in the outputs that the target
    names, or else all. Raises UntestableError."""
    binding = stated.of(model)
    problem, malformed = "", False
    for way, prepared in _requests(binding, address, _ways(model), 0):
        first = yield from _answer(prepared)
        if isinstance(first, Unanswered):
            malformed = malformed or first.malformed
            problem = first.words
        elif way[1] or not _is_long(model.samples[0], first):
            wanted = stated.outputs or [one.tensor.name for one in first]
            first = [one for one in first if one.tensor.name in wanted]
            return (yield from _learned(binding, first, way, address, tolerance))
    if malformed:
        return _malformed(binding)
    pairs = zip(model.inputs, model.samples[0], strict=True)
    sent = ", ".join(f"{spec.name} {spec.datatype} {[*one.shape]}" for spec, one in pairs)
    raise UntestableError(f"it does not answer a plain request with {sent}: {problem}")


def _ways(model: ModelContract) -> list[_Way]:
    if any(spec.datatype in HALVES for spec in model.outputs):
        return [_BLOBS]
    ways: list[_Way] = [("json", False), ("binary", False), _BLOBS]
    return ways[1:] if any(spec.datatype in HALVES for spec in model.inputs) else ways


def _learned(
    binding: DeployedModel,
    first: Sequence[ReadOutput],
    way: _Way,
    address: Address,
    tolerance: Tolerance | None,
) -> _Asking[DeployedModel]:
    model = binding.contract
    if not first:
        raise UntestableError("its answer has no outputs")
    if not model.outputs:  # its metadata names none
        outputs = tuple(
            TensorSpec(one.tensor.name, one.tensor.datatype, (-1,) * len(one.tensor.shape))
            for one in first
        )
        model = replace(model, outputs=outputs)
        binding = binding.of(model)
    answers: list[_Outputs] = []
    for number in range(len(model.samples)):
        plain = _plain(binding, address, way, number)
        one = (yield from _answer(plain)) if number else first
        if isinstance(one, Unanswered) and not one.malformed:
            break  # the model need not take more than one
        tensors = _named(one, binding.outputs)
        if tensors is None:
            return _malformed(binding)
        for _ in range(1 if number else _AGAIN):
            again = yield from _answer(plain)
            if isinstance(again, Unanswered) and again.malformed:
                return _malformed(binding)
            differing = differing_output(tensors, again, tolerance)
            if differing is not None:
                return replace(binding, known=KnownModel(model, differing=differing))
        answers.append(tensors)
    special, as_json = yield from _special_answers(binding, way, address, answers[0])
    if tolerance is None and not way[1]:
        tolerance = lost_digits(tensor for outputs in (*answers, *as_json) for tensor in outputs)
    special_answers = tuple(special.values())
    beyond = [*not_in_json(model, answers, special_answers)]
    if _is_long(model.samples[0], first):
        beyond.append((None, None))
    model = replace(
        model,
        samples=model.samples[: len(answers)],
        special=tuple(model.special[number] for number in special),
        not_in_json=tuple(dict.fromkeys(beyond)),
    )
    known = KnownModel(model, tuple(answers), tolerance, special=special_answers, way=way)
    return replace(binding, known=known)


def _special_answers(
    binding: DeployedModel, way: _Way, address: Address, answer_to_sample: _Outputs
) -> _Asking[tuple[dict[int, _Outputs | None], list[_Outputs]]]:
    """Return the answers to the special sets that the model takes, by number, None for a malformed
    one; and those of them in the form of `way`. A set is not sent if an answer that grows with it,
    as padded texts do, might be more than a server can hold."""
    answers: dict[int, _Outputs | None] = {}
    this_way: list[_Outputs] = []
    model, size = binding.contract, sum(len(tensor.blob) for tensor in answer_to_sample)
    for number, values in enumerate(model.special):
        pairs = zip(values, model.samples[0], strict=True)
        times = max(prod(new.shape) // max(1, prod(old.shape)) for new, old in pairs)
        if times * size > Limits.response:
            continue
        for one, prepared in _requests(binding, address, (way, _BLOBS), number, special=True):
            answer = yield from _answer(prepared)
            if isinstance(answer, Unanswered) and answer.too_long:
                answers.pop(number, None)  # in JSON it is longer, and was not read to its end
            if not answer.malformed if isinstance(answer, Unanswered) else _is_long(values, answer):
                continue
            named = answers[number] = _named(answer, binding.outputs)
            if named is not None and one == way:
                this_way.append(named)
            if named is not None:
                break
    return answers, this_way


def _requests(
    binding: DeployedModel,
    address: Address,
    ways: Iterable[_Way],
    number: int,
    *,
    special: bool = False,
) -> Iterator[tuple[_Way, Prepared]]:
    """Yield the plain requests to try with a set of values, and how each asks: the second is for a
    server that does not answer the first."""
    for one in dict.fromkeys(ways):
        with suppress(CaseFileError):  # JSON cannot express these values
            yield one, _plain(binding, address, one, number, special=special)


def learned_again(
    binding: DeployedModel, address: Address, special: int | None, times: int
) -> _Asking[bool]:
    """Send a model the plain requests that it was learned from again: that with special set
    `special`, or those with its samples, `times` each. Return False if one gets other values now.
    """
    known = binding.known
    assert known is not None
    ways, of_special = (known.way, _BLOBS), special is not None
    for number in range(len(known.answers or ())) if special is None else (special,):
        for _, prepared in _requests(binding, address, ways, number, special=of_special):
            for _ in range(times):
                problem = problem_with(prepared, None, (yield prepared))
                if problem is not None:
                    break
            if wrong_output(problem) is not None:
                return False
            if problem is None:
                break  # it was learned in this form
    return True


def _malformed(binding: DeployedModel) -> DeployedModel:
    model = binding.contract
    unknown = replace(model, samples=model.samples[:1], special=())
    return replace(binding, known=KnownModel(unknown))


def _named(answer: Sequence[ReadOutput] | Unanswered, names: Sequence[str]) -> _Outputs | None:
    """Return the outputs of these names, None if one of them is missing."""
    if isinstance(answer, Unanswered):
        return None
    by_name = {one.tensor.name: one.tensor for one in answer}
    if any(name not in by_name for name in names):
        return None
    tensors = (by_name[name] for name in names)
    return tuple(Tensor(t.name, t.datatype, tuple(t.shape), bytes(t.blob)) for t in tensors)


def _plain(
    binding: DeployedModel, address: Address, way: _Way, number: int, *, special: bool = False
) -> Prepared:
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


def _answer(prepared: Prepared) -> _Asking[Sequence[ReadOutput] | Unanswered]:
    exchange = yield prepared
    response, most = exchange.response, Limits().response_to(prepared.body_size)
    if response is None and exchange.ending is Ending.TOO_LARGE:
        words = f"its answer has more than {most} bytes, the most that are read of one"
        return Unanswered(words, too_long=True)
    if response is None:
        began = exchange.partial is not None and exchange.partial.status == 200
        malformed = began or exchange.ending is Ending.MALFORMED
        return Unanswered(f"no answer: {exchange.ending}", malformed)
    try:
        return judge_success((), decode_body(response, limit=most)).outputs
    except Finding as finding:
        if response.status != 200:
            malformed = 200 < response.status < 300
            return Unanswered(f"status {response.status}: {excerpt(response.body)}", malformed)
        return Unanswered(describe(finding.cause), finding.outcome is Outcome.FAIL)


def _is_long(values: Sequence[Sample], answer: Sequence[ReadOutput]) -> bool:
    """Return True if the JSON of an answer to these values may be longer than what is read of it.
    Servers write some digits, and indent them."""
    size = 0
    for output in answer:
        element, blob = DATATYPES[output.tensor.datatype].size, len(output.tensor.blob)
        size += 2 * blob if element is None else blob // element * (4 * element + 6)
    return size > Limits().response_to(sum(len(one.blob) for one in values))
