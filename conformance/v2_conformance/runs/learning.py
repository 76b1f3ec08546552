"""Learns models that are in no role of the contract: their tensors, and their answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from urllib.parse import quote, unquote

from v2_conformance.conversations.discovery import SERVER, Server
from v2_conformance.conversations.learning import learn
from v2_conformance.conversations.steps import play
from v2_conformance.errors import NothingRanError, UsageError
from v2_conformance.judging.learning import (
    Described,
    UntestableError,
    as_described,
    beyond_tolerance,
    described,
    unknown_model,
)
from v2_conformance.judging.metadata import ServerInfo
from v2_conformance.protocol.datatypes import ElementError
from v2_conformance.runs.discovery import MetadataClient, server_name_of
from v2_conformance.runs.patience import Budget, Patience, default_limit_s
from v2_conformance.runs.targets.reaching import WITHOUT_ACCESS, of_status
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.causes.base import printable, printable_words
from v2_conformance.suite.models import ROLE, ModelContract, TensorSpec
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.suite.values.samples import SIZES, Choice, fits, make_samples
from v2_conformance.terminal_safe_text import closest, did_you_mean
from v2_conformance.wire.encode.deployment import DeployedModel, Tolerance
from v2_conformance.wire.encode.requests import Prepared, get_request, post_request
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.relations.values import special_sets
from v2_conformance.wire.transport import Connection

ALL = "all"
"""In place of a name: every model that the server lists."""

INDEX = "/v2/repository/index"
LIST = "/v2/models"
_NO_LIST = f"the server does not list its models (POST {INDEX}, GET {LIST})"
_MOST_MODELS = 200
_LONGEST_NAME = 100
_NAMED, _LISTED = 5, 40
_REFUSAL = 16 << 10  # bytes of an error in which names of inputs are looked for
_ROOM = 256 << 20  # bytes that the report has for all messages
_QUICK_MS = 2_000.0  # of learning, after which no more models are tried if the user named none
_LONG = 16 << 10  # bytes of a sample; with variable dimensions, shorter ones are tried first


@dataclass(frozen=True)
class LearnedModel:
    """A learned model and the exchanges that taught it: its metadata, then plain requests. Those
    requests sent the samples and the special sets of `asked`, answered or not."""

    learned: DeployedModel
    asked: ModelContract
    exchanges: tuple[Exchange, ...]


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
    *,
    most: int | None = None,
) -> LearnedServer:
    """Learn the models called `names` (see ALL). With `most`, no others are tried after so many,
    or after fewer if they answer slowly: a run takes about a hundred times as long as learning.

    Raises UsageError for a name that the server does not have and for a choice that fits no model,
    UnreachableError if nothing answers, NothingRanError if no model answers its plain request.
    """
    with closing(MetadataClient(target)) as session:
        named = server_name_of(target, session.get(SERVER))
        wanted = _names(session, names)
        learner = _Learner(target, session, tolerance, len(wanted))
        unsteady: list[str] = []
        for name in wanted:
            learner.learn(name, partial(_to_try, choice))
            facts = learner.made[-1].learned.known if learner.made else None
            if most is not None and facts is not None and facts.differing is not None:
                unsteady.append(f"{name}: it does not repeat its answers")  # nobody named it
                learner.made.pop()
            taught_ms = sum(e.duration_ms for one in learner.made for e in one.exchanges)
            if most is not None and (len(learner.made) == most or taught_ms > _QUICK_MS):
                break
        learned = learner.server(named)
        used = learner.inputs.union(one.name for m in learned.models for one in m.asked.inputs)
        unused = sorted(choice.names - used)
        if unused and used:
            known = f"their inputs are {', '.join(sorted(used))}"
            hint = did_you_mean(unused[0], sorted(used), known)
            raise UsageError(f"no model has an input {unused[0][:60]!a}: {hint}")
        if not learned.models:
            why = [*(f"{name}: {why}" for name, why in learner.failed.items()), *unsteady]
            said = "; ".join([*why[:_NAMED], *_others(session, learner)])
            raise NothingRanError(target.mask.text(said))
    for one in learned.models:
        if too_wide := beyond_tolerance(one.learned):
            raise UsageError(f"{too_wide}: give a smaller --rtol, and `atol` in the target file")
    return learned


def learn_again(
    target: Target, models: Sequence[ModelContract], tolerance: Tolerance | None
) -> LearnedServer:
    """Learn `models` whose inputs and samples are known already, as they answer now. Raises
    UnreachableError if nothing answers."""
    with closing(MetadataClient(target)) as session:
        named = server_name_of(target, session.get(SERVER))
        learner = _Learner(target, session, tolerance, len(models))
        for model in models:
            learner.learn(model.model, partial(_as_described, model))
        return learner.server(named)


class _Learner:
    """Learns models of a server one after the other, as long as there is time and room: those
    `made`, and why others `failed`, by name."""

    def __init__(
        self, target: Target, session: MetadataClient, tolerance: Tolerance | None, models: int
    ) -> None:
        self.made: list[LearnedModel] = []
        self.failed: dict[str, str] = {}
        self.inputs: set[str] = set()  # of the metadata of all of them
        self._target, self._session, self._tolerance = target, session, tolerance
        # A server may leave each request unanswered for as long as --timeout.
        limit_s = target.max_time_s or default_limit_s(models, target.limits.exchange_s)
        self._budget = Budget(limit_s)
        self._room = _ROOM
        self._last: Exchange | None = None

    def learn(self, name: str, to_try: Callable[[Described], Iterable[ModelContract]]) -> None:
        """Learn the model `name` by the samples that it takes, the first of those `to_try`."""
        role = ROLE + name
        stated = self._target.models.get(role, DeployedModel(role, name, (), ()))
        try:
            if self._budget.spent:
                raise UntestableError("no time was left to ask it (--max-time)")
            response = self._session.get(stated.path)
            if response.status in WITHOUT_ACCESS:
                raise UntestableError(of_status(f"GET {stated.path}", response, self._target))
            metadata = described(response, stated)
            self.inputs.update(spec.name for spec in metadata.inputs)
            exchange = self._session.asked[-1]
            with closing(self._target.connection()) as connection:
                one = self._first_taught(connection, to_try(metadata), metadata.model)
        except UntestableError as error:
            self.failed[name] = str(error)
        else:
            self.made.append(replace(one, exchanges=(exchange, *one.exchanges)))

    def _first_taught(
        self, connection: Connection, to_try: Iterable[ModelContract], stated: DeployedModel
    ) -> LearnedModel:
        problem, inputs, self._last = "", set[str](), None
        for asked in to_try:
            inputs.update(spec.name for spec in asked.inputs)
            try:
                return self._taught(connection, asked, stated)
            except UntestableError as error:
                problem = problem or printable_words(str(error), 500)
        response = None if self._last is None else self._last.response
        refusal = b"" if response is None else bytes(response.body[:_REFUSAL])
        blamed = inputs & set(re.findall(r"[\w.-]+", refusal.decode(errors="replace")))
        name = blamed.pop() if len(blamed) == 1 else "INPUT"
        raise UntestableError(
            f"{problem}; give other values with --range {name}=0:1, --shape {name}=1,3,8,8 or "
            f"--input {name}=FILE; a target file can leave out inputs and outputs, and add "
            "parameters"
        )

    def _taught(
        self, connection: Connection, asked: ModelContract, stated: DeployedModel
    ) -> LearnedModel:
        patience = Patience(self._target.limits.exchange_s)
        sent: list[Exchange] = []
        room = self._room

        def ask(prepared: Prepared) -> Exchange:
            nonlocal room
            exchange, _ = patience.exchange(connection, prepared.request, fresh=True, unasked=True)
            sent.append(exchange.for_purpose(Purpose.CALIBRATION))
            self._last = exchange
            room -= len(exchange.request) + len(exchange.received)
            if room < 0:
                raise UntestableError(
                    f"its messages take more than the {_ROOM >> 20} MiB that a report has for "
                    "all models: test it alone, or with less input"
                )
            return exchange

        learned = play(learn(asked, stated, self._target.address, self._tolerance), ask)
        self._room = room
        return LearnedModel(learned, asked, tuple(sent))

    def server(self, info: ServerInfo) -> LearnedServer:
        """Return the server with the models that were learned."""
        server = Server(
            info,
            {one.learned.role: one.learned for one in self.made},
            {ROLE + name: why for name, why in self.failed.items()},
            tuple(self._session.asked[:1]),
        )
        return LearnedServer(server, tuple(self.made))


def _to_try(choice: Choice, metadata: Described) -> Iterator[ModelContract]:
    """Yield a model with the samples to try: of one size for its variable dimensions after the
    other. Raises UntestableError, and UsageError for a choice that it does not take."""
    inputs = tuple(_inputs(choice, metadata))
    sized = choice.shapes.keys() | choice.tensors.keys()
    varies = any(-1 in spec.dims for spec in inputs if spec.name not in sized)
    try:
        first = make_samples(inputs, choice, SIZES[0])
        others = [make_samples(inputs, choice, size) for size in SIZES[1:] if varies]
    except ElementError as error:
        raise UsageError(f"{metadata.model.model}: {error}") from error
    long = sum(len(value.blob) for value in first[0]) > _LONG
    free = {spec.name for spec in inputs} - choice.names
    for samples in chain(others, [first]) if long else chain([first], others):
        asked = as_described(unknown_model(metadata.model.model, inputs, (), samples), metadata)
        yield replace(asked, special=special_sets(asked, free))


def _inputs(choice: Choice, metadata: Described) -> Iterator[TensorSpec]:
    """Yield the inputs to send: those that the target names, or else those of the metadata, if it
    has any. A tensor of the user's own is right whatever the metadata says. Raises UntestableError.
    """
    specs = {spec.name: spec for spec in metadata.inputs}
    for name in metadata.model.inputs or specs or choice.tensors or ["NAME"]:
        spec, own = specs.get(name), choice.tensors.get(name)
        if own is not None and (spec is None or not fits(spec, own)):
            spec = TensorSpec(name, own.datatype, own.shape)
        if spec is None:
            raise UntestableError(
                f"{metadata.problem or f'its metadata has no input {name}'}: check the name, or "
                f"give each input with --input {name}=FILE (.npy, JSON with datatype, shape and "
                "data, or the bytes of an element)"
            )
        yield spec


def _as_described(model: ModelContract, metadata: Described) -> list[ModelContract]:
    return [as_described(model, metadata)]


def listed_models(target: Target) -> list[str] | None:
    """Return the models that the server lists as ready, None if it lists none."""
    with closing(MetadataClient(target)) as session:
        return index(session)


def _others(session: MetadataClient, learner: _Learner) -> list[str]:
    """Return the models that the server has in place of untestable ones, or how to find them."""
    failed, listed = learner.failed, index(session)
    if listed is None and learner.inputs:
        return []  # it is not the name that is wrong
    if listed is None:
        return [f"{_NO_LIST}: take NAME from the URLs of its clients (/v2/models/NAME/infer)"]
    others = [printable(name) for name in listed if quote(name, safe="") not in failed]
    likely = closest(unquote(next(iter(failed), "")), others)
    names = list(dict.fromkeys([*likely, *others]))
    rest = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return [f"the server has {', '.join(names[:_LISTED])}{rest}"] if names else []


def _names(session: MetadataClient, names: Sequence[str]) -> list[str]:
    """Return the names of the models to learn, as URLs have them."""
    wanted = [name for name in names if name != ALL]
    if ALL in names:
        listed = index(session)
        if listed is None:
            raise UsageError(f"{_NO_LIST}, so it cannot say what `all` is: name each with --model")
        wanted += listed
    if not wanted:
        raise NothingRanError("the server lists no model that is ready and that can be tested")
    for name in wanted:
        if not _can_be_asked_for(name):
            raise UsageError(f"{name[:60]!a} cannot be the name of a model")
    return [quote(name, safe="") for name in dict.fromkeys(wanted)]


def index(session: MetadataClient) -> list[str] | None:
    """Return the models that are ready, as Triton's index or KServe's list has them, else None."""
    for request in (
        post_request(session.address, INDEX, b"{}"),
        get_request(session.address, LIST),
    ):
        document = session.document(request)
        entries = document.get("models") if isinstance(document, dict) else document
        if isinstance(entries, list):
            return list(dict.fromkeys(filter(None, map(_ready, entries[:_MOST_MODELS]))))
    return None


def _ready(entry: object) -> str | None:
    """Return the name in an entry of a server's list if that model can be tested."""
    listed = entry if isinstance(entry, dict) else {"name": entry}
    name = listed.get("name")
    ready = listed.get("state", "READY") in ("READY", "", None)
    return name if ready and isinstance(name, str) and _can_be_asked_for(name) else None


def _can_be_asked_for(name: str) -> bool:
    return name.isprintable() and 0 < len(name) <= _LONGEST_NAME
