"""Learns models that are in no role of the contract: their tensors, and their answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace

from v2_conformance.conversations.discovery import SERVER
from v2_conformance.conversations.learning import learn
from v2_conformance.conversations.steps import play
from v2_conformance.errors import ConformanceError, NothingRanError, UsageError
from v2_conformance.judging.metadata import ServerName, plain_body
from v2_conformance.judging.relations.learning import (
    NAME,
    Described,
    Learned,
    beyond_tolerance,
    described,
    unknown_model,
)
from v2_conformance.judging.relations.plan import bindings_of
from v2_conformance.judging.verdict import Finding
from v2_conformance.protocol.datatypes import ElementError
from v2_conformance.runs.discovery import MetadataClient, Server, server_name_of
from v2_conformance.runs.patience import Budget, Patience, default_limit_s
from v2_conformance.runs.targets.target import Target
from v2_conformance.suggestions import did_you_mean
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.models import ROLE, ModelContract, Sample, TensorSpec
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.suite.values.samples import SIZES, Choice, make_samples
from v2_conformance.wire.encode.deployment import Tolerance, model_path
from v2_conformance.wire.encode.requests import Prepared, get_request, post_request
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.transport import Connection

ALL = "all"
"""In place of a name: every model that the server lists."""

INDEX = "/v2/repository/index"
LIST = "/v2/models"
_MOST_MODELS = 200
_NAMED = 5
_ROOM = 64 << 20  # bytes of answers in a run; its report keeps each answer once
_LEARNED = 1 << 30  # bytes of all messages

_NO_TIME = "no time was left to ask it (--max-time)"
_ALONE = "test it alone, or with less input (--shape NAME=1,3,8,8)"
_TOO_LARGE = (
    f"its answers take more than the {_ROOM >> 20} MiB that a report has for all models: {_ALONE}"
)
_TOO_LONG = (
    f"its plain requests take more than the {_LEARNED >> 20} MiB that a report has for all "
    f"models: {_ALONE}"
)

TooLong = Callable[[Learned, int, int], bool]
"""Takes a model, the most bytes that a case of it exchanges, and the number of models. Returns True
if a report has no room for the cases of so many such models."""

SpecialSets = Callable[[ModelContract, frozenset[str]], tuple[tuple[Sample, ...], ...]]
"""More sets of values for a model, of whose inputs only those with these names take others."""


def _none(model: ModelContract, free: frozenset[str]) -> tuple[tuple[Sample, ...], ...]:
    return ()


def _never(model: Learned, length: int, models: int) -> bool:
    return False


class _NoRoomError(Exception):
    """The models' answers to plain requests are larger than a report can keep."""


@dataclass(frozen=True)
class LearnedModel:
    """A learned model and the exchanges that taught it: its metadata, then plain requests.

    Those requests sent the samples of `asked`, answered or not. `free` are the inputs for which the
    user gave no shape, range or tensor. If it is `reduced`, its variable dimensions are 1, since a
    report has no room for longer requests in all its cases.
    """

    learned: Learned
    asked: ModelContract
    free: frozenset[str]
    exchanges: tuple[Exchange, ...]
    reduced: bool = False

    @property
    def length(self) -> int:
        """Number of bytes of all its messages."""
        return sum(map(_length, self.exchanges))


@dataclass(frozen=True)
class LearnedServer:
    """A server of which models were learned, and why others could not be, by name."""

    server: Server
    models: tuple[LearnedModel, ...]


def learn_models(
    target: Target,
    names: Sequence[str],
    choice: Choice,
    tolerance: Tolerance | None,
    special: SpecialSets = _none,
    too_long: TooLong = _never,
    *,
    most: int | None = None,
) -> LearnedServer:
    """Learn the models called `names` (see ALL), also with each model's sets of values in
    `special`. After `most` of them, the others are not tried. Variable dimensions are 1 if longer
    requests would be `too_long`.

    Raises UsageError for a name that the server does not have and for a choice that fits no model,
    UnreachableError if nothing answers, NothingRanError if no model answers its plain request.
    """
    with closing(MetadataClient(target)) as session:
        said = server_name_of(target, session.get(SERVER))
        found = _names(session, names)
        made: list[LearnedModel] = []
        failed: dict[str, str] = {}
        room, left = _ROOM, _LEARNED
        models = len(found) if most is None else min(most, len(found))
        budget = _budget(target, len(found))
        for name in found:
            if budget.spent:
                failed[name] = _NO_TIME
                continue
            one = _learned(target, session, name, choice, tolerance, special, room)
            if (
                isinstance(one, LearnedModel)
                and _can_be_reduced(one, choice)
                and too_long(one.learned, _plain_length(one), models)
            ):
                less = _learned(target, session, name, choice, tolerance, special, room, (1,))
                one = one if isinstance(less, str) else replace(less, reduced=True)
            if isinstance(one, LearnedModel) and one.length > left:
                one = _TOO_LONG
            if isinstance(one, str):
                failed[name] = one
            else:
                made.append(one)
                left -= one.length
                room -= sum(map(len, {bytes(e.received) for e in one.exchanges}))
            if len(made) == most:
                break
        asked = session.asked[:1]
        listed: list[str] = []
        if not made:
            with suppress(ConformanceError):  # what it did not answer before is the news
                listed = _index(session) or []
    if not made:
        why = "; ".join(f"{name}: {why}" for name, why in list(failed.items())[:_NAMED])
        raise NothingRanError(target.mask.text(why + _others(listed, failed)))
    too_wide = next(filter(None, (beyond_tolerance(one.learned) for one in made)), None)
    if too_wide is not None:
        raise UsageError(f"{too_wide}: give a smaller --rtol, and `atol` in the target file")
    used = {spec.name for one in made for spec in one.asked.inputs}
    unused = sorted(choice.names - used)
    if unused:
        hint = did_you_mean(unused[0], sorted(used), f"their inputs are {', '.join(sorted(used))}")
        raise UsageError(f"no model has an input {unused[0][:60]!a}: {hint}")
    return _found(said, made, failed, asked)


def _budget(target: Target, models: int) -> Budget:
    """Return the time in which to learn so many models: a server may leave each request unanswered
    for as long as --timeout."""
    return Budget(target.max_time_s or default_limit_s(models, target.limits.exchange_s))


def learn_again(
    target: Target, models: Sequence[ModelContract], tolerance: Tolerance | None
) -> LearnedServer:
    """Learn `models` whose inputs and samples are known already, as they answer now. Raises
    UnreachableError if nothing answers.
    """
    with closing(MetadataClient(target)) as session:
        said = server_name_of(target, session.get(SERVER))
        made: list[LearnedModel] = []
        failed: dict[str, str] = {}
        budget = _budget(target, len(models))
        for model in models:
            if budget.spent:
                failed[model.model] = _NO_TIME
                continue
            described_now = described(session.get(model_path(model.model)), model.model)
            if isinstance(described_now, str):
                failed[model.model] = described_now
                continue
            asked = replace(model, outputs=described_now.outputs)
            with closing(target.transport().connection()) as connection:
                one = _taught(target, connection, asked, described_now.version, tolerance, _ROOM)
            if isinstance(one, str):
                failed[model.model] = one
            else:
                made.append(one)
        return _found(said, made, failed, session.asked[:1])


def _found(
    said: ServerName,
    made: Sequence[LearnedModel],
    failed: Mapping[str, str],
    asked: Sequence[Exchange],
) -> LearnedServer:
    server = Server(
        said.name,
        said.version,
        said.extensions,
        bindings_of([one.learned for one in made]),
        {ROLE + name: why for name, why in failed.items()},
        tuple(asked),
    )
    return LearnedServer(server, tuple(made))


def listed_models(target: Target) -> list[str] | None:
    """Return the models that the server lists as ready, None if it lists none."""
    with closing(MetadataClient(target)) as session:
        return _index(session)


def _others(listed: Sequence[str], failed: Collection[str]) -> str:
    """Return which models the server has instead of those that cannot be tested, if it lists
    them."""
    others = [name for name in listed if name not in failed]
    if not others:
        return ""
    if len(others) == 1:
        return f"; the server has the model {others[0]}"
    more = len(others) - _NAMED
    rest = f" and {more} more" if more > 0 else ""
    return f"; the server has the models {', '.join(others[:_NAMED])}{rest}"


def _names(session: MetadataClient, names: Sequence[str]) -> list[str]:
    wanted = list(dict.fromkeys(names))
    if ALL in wanted:
        listed = _index(session)
        if listed is None:
            raise UsageError(
                f"the server does not list its models (POST {INDEX}, GET {LIST}), so it cannot say "
                "what `all` is: name each model with --model"
            )
        wanted = [name for name in wanted if name != ALL] + listed
        if not wanted:
            raise NothingRanError(
                "the server lists no model that is ready and that can be tested by name"
            )
    for name in wanted:
        if not NAME.fullmatch(name):
            raise UsageError(f"a model called {name[:60]!a} cannot be tested by name")
    return list(dict.fromkeys(wanted))


def _index(session: MetadataClient) -> list[str] | None:
    """Return the models that are ready, as Triton's index has them, or else KServe's list."""
    for request in (
        post_request(session.address, INDEX, b"{}"),
        get_request(session.address, LIST),
    ):
        response = session.exchange(request)
        if response.status != 200:
            continue
        try:
            document = json.loads(plain_body(response))
        except (Finding, ValueError, RecursionError):
            continue
        entries = document.get("models") if isinstance(document, dict) else document
        if isinstance(entries, list):
            return list(dict.fromkeys(filter(None, map(_ready, entries[:_MOST_MODELS]))))
    return None


def _ready(entry: object) -> str | None:
    """Return the name in an entry of a server's list if that model can be tested."""
    said = entry if isinstance(entry, dict) else {"name": entry}
    name = said.get("name")
    ready = said.get("state", "READY") in ("READY", "", None)
    return name if ready and isinstance(name, str) and NAME.fullmatch(name) else None


def _learned(
    target: Target,
    session: MetadataClient,
    name: str,
    choice: Choice,
    tolerance: Tolerance | None,
    special: SpecialSets,
    room: int,
    sizes: Sequence[int] = SIZES,
) -> LearnedModel | str:
    """Return the model `name`, or why it cannot be tested. Its answers must fit into `room`; its
    variable dimensions are the first of `sizes` that it takes.
    """
    before = len(session.asked)
    said = described(session.get(model_path(name)), name)
    metadata = session.asked[before]
    if isinstance(said, str):
        return said
    inputs = said.inputs or _given_inputs(choice)
    if not inputs:
        return (
            "its metadata names no inputs: give each of them with --input NAME=FILE, where FILE is "
            "a .npy file, or JSON with datatype, shape and data"
        )
    connection = target.transport().connection()
    problem = ""
    try:
        for size in sizes:
            outcome = _tried(
                target, connection, name, said, inputs, choice, size, tolerance, special, room
            )
            if not isinstance(outcome, str):
                return replace(outcome, exchanges=(metadata, *outcome.exchanges))
            problem = problem or outcome
            if not any(-1 in spec.dims for spec in inputs):
                break
    finally:
        connection.close()
    if problem == _TOO_LARGE:
        return problem
    return (
        f"it does not answer a plain request: {problem}; give inputs that it takes with --input "
        "NAME=FILE, --shape NAME=1,3,8,8 or --range NAME=0:1"
    )


def _can_be_reduced(model: LearnedModel, choice: Choice) -> bool:
    """Return True if the model took more than 1 for a dimension that is left to us."""
    pairs = zip(model.asked.inputs, model.asked.samples[0], strict=True)
    return any(
        size == -1 and took > 1
        for spec, sample in pairs
        if not {spec.name} & (choice.shapes.keys() | choice.tensors.keys())
        for size, took in zip(spec.dims, sample.shape, strict=True)
    )


def _plain_length(model: LearnedModel) -> int:
    """Return the number of bytes of the first plain request, in the longest form, and its
    response."""
    return next(_length(one) for one in model.exchanges if one.purpose is Purpose.CALIBRATION)


def _length(exchange: Exchange) -> int:
    return len(exchange.request) + len(exchange.received)


def _tried(
    target: Target,
    connection: Connection,
    name: str,
    said: Described,
    inputs: Sequence[TensorSpec],
    choice: Choice,
    size: int,
    tolerance: Tolerance | None,
    special: SpecialSets,
    room: int,
) -> LearnedModel | str:
    try:
        samples = make_samples(inputs, choice, size)
    except ElementError as error:
        raise UsageError(str(error)) from error
    asked = unknown_model(name, inputs, said.outputs, samples)
    free = frozenset(spec.name for spec in inputs) - choice.names
    asked = replace(asked, special=special(asked, free))
    taught = _taught(target, connection, asked, said.version, tolerance, room)
    return taught if isinstance(taught, str) else replace(taught, free=free)


def _taught(
    target: Target,
    connection: Connection,
    asked: ModelContract,
    version: str | None,
    tolerance: Tolerance | None,
    room: int,
) -> LearnedModel | str:
    """Return what a model answers to its samples, or why they cannot be sent."""
    patience = Patience(target.limits.exchange_s)
    sent: list[Exchange] = []
    answers: set[bytes] = set()

    def ask(prepared: Prepared) -> Exchange:
        if sum(map(len, answers)) > room:
            raise _NoRoomError
        exchange, _ = patience.exchange(connection, prepared.request, fresh=True, unasked=True)
        answers.add(bytes(exchange.received))
        sent.append(exchange.for_purpose(Purpose.CALIBRATION))
        return exchange

    try:
        learned = play(learn(asked, version, target.address, tolerance), ask)
    except _NoRoomError:
        return _TOO_LARGE
    if learned.problem is not None:
        return printable(learned.problem, 300)
    return LearnedModel(learned, asked, frozenset(), tuple(sent))


def _given_inputs(choice: Choice) -> tuple[TensorSpec, ...]:
    """Return the inputs that the user gave, for a model whose metadata names none."""
    return tuple(
        TensorSpec(name, given.datatype, given.shape) for name, given in choice.tensors.items()
    )
