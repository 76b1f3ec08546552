"""The selftest of the client bench: the scenarios against every fault of the plain client.

Each fault is a client with one deviation. It goes through every scenario of the requirement that it
breaks; if none fails, the suite has a hole. The same is true of an entry with MUST scenarios that
no fault of its requirement makes fail. What is observed over all requests is looked for in a
scenario of each entry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from v2_clients.bench.clients import InProcessClient
from v2_clients.bench.messages import Task
from v2_clients.plain import PlainClient, run_task
from v2_clients.scenarios import run_scenario
from v2_conformance.conversations.steps import Result
from v2_conformance.errors import ConformanceError
from v2_conformance.judging.observed.exchanges import Observations
from v2_conformance.suite.cases import Case, ClientCase, ObservedCase
from v2_conformance.suite.library import client_cases
from v2_conformance.suite.outcomes import Outcome
from v2_mutants.client_faults import CLIENT_FAULTS
from v2_mutants.selftest.trials import FaultTrial, read_exactly, sample

# Everything is on this machine; only a fault that makes a client hang uses up this time.
_TIMEOUT_S = 1.0
_RETRY_TIMEOUT_S = 5.0
# Their scenarios wait or send much, and show nothing of requests that others do not show.
_LEFT_OUT_OF_SAMPLES = frozenset({"K30", "K31", "K32"})


def plain_client(cls: type[PlainClient] = PlainClient) -> InProcessClient:
    """The plain client, or one of its faults, for the bench."""

    def does(task: Task) -> list[dict[str, Any]]:
        plain: Mapping[str, Any] = msgspec.to_builtins(task)
        return run_task(plain, task.url, cls)

    return InProcessClient(does)


def client_failures_without_fault(
    cls: type[PlainClient] = PlainClient, cases: Sequence[Case] | None = None
) -> list[Result]:
    """The results of a right client that should have been a pass, of these scenarios or all."""
    results = _results(client_cases() if cases is None else cases, cls, _RETRY_TIMEOUT_S)
    return [result for result in results if result.outcome is not Outcome.PASS]


def try_client_fault(name: str, *, number: int = 1) -> FaultTrial:
    """Run the fault `name` through the scenarios of its requirement."""
    fault = CLIENT_FAULTS[name]
    own = [case for case in client_cases() if case.requirement == fault.requirement]
    cases: Sequence[Case] = own
    if any(isinstance(case, ObservedCase) for case in own):
        others = [case for case in client_cases() if case.requirement != fault.requirement]
        cases = [*own, *sample(others, _LEFT_OUT_OF_SAMPLES)]
    timeout_s = _TIMEOUT_S if number == 1 else _RETRY_TIMEOUT_S
    try:
        results = _results(cases, fault.cls, timeout_s)
    except ConformanceError as error:
        return FaultTrial(name, fault.requirement, (), (), str(error), number)
    failures = [r.case.id for r in results if r.case in own and r.outcome is Outcome.FAIL]
    exactly = read_exactly(results)
    return FaultTrial(
        name, fault.requirement, tuple(failures), (), number=number, read_exactly=exactly
    )


def _results(cases: Sequence[Case], cls: type[PlainClient], timeout_s: float) -> list[Result]:
    """The results of scenarios, and of what is observed over them."""
    results, observations = [], Observations()
    for case in cases:
        if isinstance(case, ClientCase):
            result = run_scenario(case, plain_client(cls), timeout_s=timeout_s)
            observations.add(result.seen())
            results.append(result)
    observed = [case for case in cases if isinstance(case, ObservedCase)]
    return results + [Result(case, observations.verdict(case)) for case in observed]
