"""The bench without a command: it waits for a client that somebody runs by hand.

    GET /                 the scenarios: [{"id": …, "url": …}, …]
    GET /ID/task          the task of a scenario; its `url` is that of the scenario
    POST /ID/said         takes a line for each request, gives {"outcome": …, "message": …}
    /ID/v2/…              the server of the scenario

ID is the scenario's id, percent-encoded as one segment of the path. After `said` a scenario begins
anew, and its last verdict counts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from urllib.parse import quote, unquote

import msgspec
from msgspec.structs import replace

from v2_clients.bench.answers import Answer
from v2_clients.bench.listener import Listener
from v2_clients.bench.requests import ClientRequest
from v2_clients.bench.scenarios import judged
from v2_clients.bench.stage import ScenarioStage, Stage, Turn
from v2_clients.bench.tasks import asked_of, task_of
from v2_clients.bench.turns import MOST_EXCHANGES
from v2_conformance.conversations.steps import Exchange
from v2_conformance.errors import CaseFileError
from v2_conformance.runs.result import Result
from v2_conformance.suite.cases import ClientCase
from v2_conformance.suite.tasks import Said, read_lines
from v2_conformance.wire.transcript import Transcript

_PHRASES = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed"}


def segment(scenario: str) -> str:
    """Return the id of a scenario as one segment of a path."""
    return quote(scenario, safe="")


class WaitingBench:
    """Serves all scenarios on one port. A context manager, which raises OSError without a port.

    `on_result` is called with the result of each scenario when a client has said what it read.
    """

    def __init__(
        self,
        cases: Sequence[ClientCase],
        *,
        port: int = 0,
        timeout_s: float,
        on_result: Callable[[Result], object] = lambda result: None,
    ) -> None:
        self._cases = {case.id: case for case in cases}
        self._timeout_s = timeout_s
        self._on_result = on_result
        self._stages: dict[str, tuple[ScenarioStage, float]] = {}
        self._lock = threading.Lock()
        self._desk = _Desk(self)
        self._listener = Listener(self._find, port=port)

    def __enter__(self) -> WaitingBench:
        self._listener.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._listener.__exit__(*exception)

    @property
    def url(self) -> str:
        """The base URL, without a trailing slash."""
        return self._listener.url

    def unsaid(self) -> list[Result]:
        """Return the results of scenarios that got requests, but no report from the
        client since.
        """
        self._listener.settle()
        with self._lock:
            names = [name for name, (stage, _) in self._stages.items() if stage.exchanges()]
        return [self.finish(name, Said(ended="unsaid")) for name in names]

    def finish(self, name: str, said: Said) -> Result:
        """Return the result of a scenario whose client says this, and start the scenario over.
        Raises CaseFileError.
        """
        with self._lock:
            found = self._stages.pop(name, None)
        exchanges: tuple[Exchange, ...] = ()
        began = time.monotonic()
        if found is not None:
            stage, began = found
            self._listener.settle()
            exchanges = stage.exchanges()
        result = judged(self._cases[name], exchanges, said)
        return replace(result, duration_s=time.monotonic() - began)

    def scenarios(self) -> bytes:
        """Return the list of scenarios as JSON."""
        return msgspec.json.encode(
            [{"id": name, "url": self._url_of(name)} for name in self._cases]
        )

    def task(self, name: str) -> bytes:
        """Return the task of a scenario as JSON. Raises CaseFileError."""
        task = task_of(self._cases[name], self._url_of(name), timeout_s=self._timeout_s)
        return msgspec.json.encode(task)

    def said(self, name: str, body: bytes) -> bytes:
        """Take what a client says, and return the verdict as JSON. Raises CaseFileError."""
        case = self._cases[name]
        lines, garbage = read_lines(body, len(case.requests))
        result = self.finish(name, Said(lines=lines, garbage=garbage, exit=0))
        self._on_result(result)
        return msgspec.json.encode({"outcome": result.outcome.value, "message": result.message})

    def known(self, name: str) -> bool:
        """Return True if there is a scenario with this id."""
        return name in self._cases

    def _url_of(self, name: str) -> str:
        return f"{self.url}/{segment(name)}"

    def _find(self, request: ClientRequest | None) -> Stage:
        """Return the stage of the scenario that the path begins with, or the desk."""
        parts = request.path.split("/", 2) if request is not None else []
        if len(parts) < 3 or not parts[2].startswith("v2"):
            return self._desk
        name = unquote(parts[1])
        with self._lock:
            if name not in self._cases:
                return self._desk
            if name not in self._stages:
                case = self._cases[name]
                try:
                    stage = ScenarioStage(case, asked_of(case))
                except CaseFileError:
                    return self._desk
                self._stages[name] = stage, time.monotonic()
            return self._stages[name][0]


class _Desk:
    """Answers requests for the bench itself. It keeps nothing."""

    def __init__(self, bench: WaitingBench) -> None:
        self._bench = bench

    def begin(self, request: ClientRequest | None) -> tuple[int, Turn | None]:
        """See Stage."""
        return MOST_EXCHANGES, None

    def needs_all(self, request: ClientRequest) -> bool:
        """See Stage."""
        return False

    def script_when(self, turn: Turn) -> str:
        """See Stage."""
        return "whole"

    def silent(self) -> None:
        """See Stage."""

    def answering(self) -> AbstractContextManager[None]:
        """See Stage."""
        return nullcontext()

    def answer(self, turn: Turn | None, request: ClientRequest) -> Answer:
        """See Stage."""
        try:
            status, body = self._answer(request)
        except CaseFileError as error:
            status, body = 400, _error(str(error))
        head = (
            f"HTTP/1.1 {status} {_PHRASES[status]}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return Answer((head.encode() + body,), status, (), {})

    def _answer(self, request: ClientRequest) -> tuple[int, bytes]:
        parts = [unquote(part) for part in request.path.split("/")[1:]]
        if parts == [""]:
            return 200, self._bench.scenarios()
        if not self._bench.known(parts[0]):
            return 404, _error("there is no such scenario; GET / lists them")
        if parts[1:] == ["task"] and request.method == "GET":
            return 200, self._bench.task(parts[0])
        if parts[1:] == ["said"] and request.method == "POST":
            return 200, self._bench.said(parts[0], request.body)
        return 405, _error("GET …/task, POST …/said, or a path that begins with v2")

    def keep(self, number: int, turn: Turn | None, transcript: Transcript, *, infers: bool) -> None:
        """See Stage."""


def _error(words: str) -> bytes:
    return msgspec.json.encode({"error": words})
