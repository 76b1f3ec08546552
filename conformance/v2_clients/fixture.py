"""The fixture `v2_bench`: a scenario for a client in the client's own test suite.

    @pytest.mark.v2_scenario("K3/*", "K5")
    def test_my_client(v2_bench):
        client = MyClient(v2_bench.url)
        for request in v2_bench.task.requests:
            v2_bench.say(...)

The test runs once for each scenario that a pattern matches; without the marker, for each that
every client has to meet. When it ends, the scenario is judged, and what failed is reported.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from v2_clients.bench.listener import Listener
from v2_clients.bench.messages import Task, checked_line
from v2_clients.bench.stage import ScenarioStage
from v2_clients.bench.tasks import asked_of, task_of
from v2_clients.scenarios import judged
from v2_conformance.conversations.steps import Result
from v2_conformance.errors import ConformanceError, UsageError
from v2_conformance.pytest_plugin.items import NODE, V2Warning
from v2_conformance.suite.cases import ClientCase
from v2_conformance.suite.choosing import select
from v2_conformance.suite.client_lines import ClientResult, Line, ReportedTensor
from v2_conformance.suite.library import client_cases
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import grade

_BASE = "client"
_TIMEOUT_S = 5.0


class Bench:
    """A scenario as a test sees it: where its server is, what to ask it for, whom to tell."""

    def __init__(
        self, case: ClientCase, task: Task, stage: ScenarioStage, listener: Listener
    ) -> None:
        self.scenario = case.id
        """The scenario's id."""
        self.url = task.url
        """The base URL of its server, without a trailing slash."""
        self.task = task
        """The task for the client: see schemas/client-task.schema.json."""
        self._case = case
        self._stage = stage
        self._listener = listener
        self._lines: list[Line] = []

    def say(self, line: Line | Mapping[str, Any]) -> None:
        """Say what came of the next request, in the form of schemas/client-line.schema.json.

        `data` is base64, or bytes. Raises UsageError for what is no such line.
        """
        try:
            checked = checked_line(msgspec.convert(line, Line))
        except (msgspec.ValidationError, ValueError, TypeError) as error:
            raise UsageError(f"v2_bench.say: not a line of a client: {error}") from error
        self._lines.append(checked)

    def say_outputs(self, outputs: Mapping[str, tuple[str, Sequence[int], bytes]]) -> None:
        """Say that the user got these tensors: name to datatype, shape and raw bytes."""
        tensors = (
            ReportedTensor(name, d, tuple(s), data) for name, (d, s, data) in outputs.items()
        )
        self.say(Line(outputs=tuple(tensors)))

    def say_error(self, error: BaseException | str, status: int | None = None) -> None:
        """Say that the user got this error."""
        self.say(Line(error=str(error), status=status))

    def say_unsupported(self, what: str) -> None:
        """Say that the client has no way to do this: the API that is missing."""
        self.say(Line(unsupported=what))

    def result(self) -> Result:
        """Return what the scenario comes to so far; nothing is judged of readings if nothing was
        said."""
        spoken = tuple(self._lines)
        reported = ClientResult(lines=spoken, exit=0) if spoken else ClientResult(ended="unsaid")
        self._listener.settle()
        return judged(self._case, self._stage.exchanges(), reported)


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Give a test that asks for `v2_bench` the scenarios of its markers."""
    markers = list(metafunc.definition.iter_markers("v2_scenario"))
    patterns = [pattern for marker in markers for pattern in marker.args]
    profiles = {_BASE}
    for marker in markers:
        profiles.update(marker.kwargs.get("profiles", ()))
    try:
        chosen = select(client_cases(), patterns)
    except ConformanceError as error:
        raise pytest.UsageError(f"v2_scenario: {error}") from error
    cases = [case for case in chosen if isinstance(case, ClientCase) and case.profile in profiles]
    metafunc.parametrize("v2_bench", cases, ids=[case.id for case in cases], indirect=True)


@contextmanager
def bench_of(case: ClientCase) -> Iterator[Bench]:
    """The bench of a scenario, while it listens. Raises CaseFileError."""
    asked = asked_of(case)
    stage = ScenarioStage(case, asked)
    with Listener(stage) as listener:
        task = task_of(case, listener.url, timeout_s=_TIMEOUT_S, asked=asked)
        yield Bench(case, task, stage, listener)


def judge(result: Result, *, strict: bool) -> None:
    """Report what the scenario came to: a failure, that the client cannot do it, or, of a SHOULD
    unless `strict`, a warning.
    """
    facts = result.case.facts(result.case.profiles, result.cause)
    words = f"{grade(facts.level, facts.blocks)} {facts.id}: {result.message}"
    if result.outcome is Outcome.UNSUPPORTED:
        pytest.skip(words)
    if result.outcome is Outcome.FAIL and facts.blocks is None and not strict:
        warnings.warn_explicit(words, V2Warning, NODE, 0)
    elif result.outcome is not Outcome.PASS:
        pytest.fail(f"{words}\n{result.case.why}", pytrace=False)
