"""The state that the connections of one scenario share: turns, answers, and kept exchanges."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from v2_clients.bench.answers import Answer, answer_to, outputs_of
from v2_clients.bench.requests import ClientRequest
from v2_clients.bench.tasks import Asked
from v2_clients.bench.turns import MOST_EXCHANGES, NOTES, Turns
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Request
from v2_conformance.suite.cases import ClientCase
from v2_conformance.suite.models import ModelContract, TensorSpec
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.wire.exchange import Exchange

_ANSWERED_S = 2.0
_ROOM = 96 * 1024 * 1024

Turn = tuple[int, int]
"""The number of a request in its task, and how often it came before."""


class _Behavior(Behavior):
    """The reference server, with the models of a task."""

    def __init__(self, case: ClientCase, asked: Sequence[Asked]) -> None:
        super().__init__()
        self._versions: dict[str, list[str]] = {}
        for one in asked:
            versions = self._versions.setdefault(one.request.model, [])
            versions.append(one.request.version or "1")
        for number, one in enumerate(asked):
            self.models[one.request.model] = _declared(case, number, one)

    def versions(self, model: ModelContract) -> list[str]:
        """See Behavior: those that the task names."""
        return sorted(set(self._versions[model.model]))

    def find_model(self, name: str, version: str | None) -> ModelContract:
        """See Behavior: a task can name any version."""
        return super().find_model(name, None if name in self.models else version)


def _declared(case: ClientCase, number: int, asked: Asked) -> ModelContract:
    """Return the model of a request as its metadata has it: with the inputs and outputs that the
    task and the answer have, for a client may look there before it asks."""
    inputs = list(asked.model.inputs)
    for place, tensor in zip(asked.index, asked.inputs, strict=True):
        if len(tensor.shape) != len(inputs[place].dims):
            inputs[place] = replace(inputs[place], dims=(-1,) * len(tensor.shape))
    outputs = asked.model.outputs
    known = {spec.name for spec in outputs}
    answered = outputs_of(asked, case.answer(number, 0))
    if not {tensor.name for tensor in answered} <= known:
        outputs = tuple(
            TensorSpec(tensor.name, tensor.datatype, (-1,) * len(tensor.shape))
            for tensor in answered
        )
    name = asked.request.model
    return replace(asked.model, model=name, inputs=tuple(inputs), outputs=outputs)


class ScenarioStage:
    """The stage of one scenario."""

    def __init__(self, case: ClientCase, asked: Sequence[Asked]) -> None:
        self._case = case
        self._asked = asked
        self._turns = Turns(asked)
        self._behavior = _Behavior(case, asked)
        self._kept: dict[int, Exchange] = {}
        self._numbers = 0
        self._room = _ROOM
        self._lock = threading.Condition()
        self._answering = 0
        self.silent_since: float | None = None
        """When the first client was left waiting, by the monotonic clock."""

    def silent(self) -> None:
        """Note that a client waits for what does not come."""
        with self._lock:
            if self.silent_since is None:
                self.silent_since = time.monotonic()

    @property
    def began(self) -> bool:
        """True once a request has come."""
        return self._numbers > 0

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Surround an answer and its record: until then the exchange is not there."""
        with self._lock:
            self._answering += 1
        try:
            yield
        finally:
            with self._lock:
                self._answering -= 1
                self._lock.notify_all()

    def count(self, size: int) -> None:
        """Count bytes that came on any connection. Raises OSError if there is no room for them."""
        with self._lock:
            self._room -= size
            if self._room < 0:
                raise ConnectionAbortedError("the client has sent too much")

    def begin(self, request: ClientRequest | None) -> tuple[int, Turn | None]:
        """Return the number of an exchange, and its turn: see Turns. Raises OSError for one too
        many.
        """
        with self._lock:
            if self._numbers >= MOST_EXCHANGES or self._room <= 0:
                raise ConnectionAbortedError("the client has sent too much")
            self._numbers += 1
            return self._numbers, None if request is None else self._turns.next(request)

    def needs_all(self, request: ClientRequest) -> bool:
        """Return True if a request cannot begin before all of it is there."""
        return self._turns.needs_all(request)

    def script_when(self, turn: Turn) -> str:
        """Return when to send the answer to a request."""
        return str(self._case.answer(*turn).get("when", "whole"))

    def answer(self, turn: Turn | None, request: ClientRequest) -> Answer:
        """Return the answer to a request."""
        if turn is not None:
            return answer_to(self._asked[turn[0]], self._case.answer(*turn), request)
        asked = Request(
            method=request.method,
            target=request.target,
            version=request.version,
            headers=request.fields,
            head=request.head,
            body=memoryview(request.body),
        )
        response = self._behavior.handle(asked)
        with_body = self._behavior.answers_with_body(asked, response)
        pieces = self._behavior.serialize(response, keep_open=True, with_body=with_body)
        return Answer((b"".join(bytes(p) for p in pieces),), response.status, (), {})

    def keep(self, number: int, turn: Turn | None, exchange: Exchange, *, infers: bool) -> None:
        """Keep an exchange, whose request is counted already."""
        purpose = Purpose.CASE if turn is not None or infers else Purpose.DISCOVERY
        if turn is not None and turn[1]:
            purpose = Purpose.RETRIED
        kept = exchange.for_purpose(purpose, NOTES.get(purpose, ""))
        with self._lock:
            self._room -= len(exchange.received)
            self._kept[number] = kept

    def exchanges(self) -> tuple[Exchange, ...]:
        """Return the kept exchanges, in order.

        A client can have its answer a moment before the exchange is kept, so this waits for that.
        """
        with self._lock:
            self._lock.wait_for(lambda: not self._answering, _ANSWERED_S)
            return tuple(self._kept[number] for number in sorted(self._kept))
