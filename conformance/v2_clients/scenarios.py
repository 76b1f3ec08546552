"""One scenario from its listener to its verdict."""

from __future__ import annotations

import math
import time
import traceback

from msgspec.structs import replace

from v2_clients.bench.clients import Client
from v2_clients.bench.listener import Listener
from v2_clients.bench.stage import ScenarioStage
from v2_clients.bench.tasks import USUAL_TIMEOUT_S, asked_of, task_of
from v2_clients.judging.judge import judge_client
from v2_clients.judging.observed import observe_client
from v2_conformance.conversations.steps import Result
from v2_conformance.errors import CaseFileError, ConformanceError
from v2_conformance.judging.observed.exchanges import Observation
from v2_conformance.judging.verdict import Verdict
from v2_conformance.runs.patience import Budget
from v2_conformance.suite.cases import ClientCase
from v2_conformance.suite.causes.kinds import InvalidCase, OutOfTime, SuiteError
from v2_conformance.suite.client_lines import ClientResult
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_conformance.wire.exchange import Exchange


class ScenarioResult(Result, frozen=True):
    """Result of a scenario, which observes the client and not a server."""

    def seen(self) -> tuple[Observation, ...]:
        """Return what its requests show about rules for every request."""
        assert isinstance(self.case, ClientCase)
        return observe_client(self.case, (bytes(e.request) for e in self.exchanges))


_UNLIMITED = Budget(math.inf)


def run_scenario(
    case: ClientCase,
    client: Client,
    *,
    timeout_s: float = USUAL_TIMEOUT_S,
    budget: Budget = _UNLIMITED,
) -> Result:
    """Run `client` through a scenario and judge it, unless the `budget` of the run is spent before.

    Never raises for what the client does; raises UsageError if it cannot be started.
    """
    started = time.monotonic()
    out_of_time = Result(case, Verdict(Outcome.NOT_RUN, OutOfTime(budget.limit_s)))
    if budget.spent:
        return out_of_time
    try:
        asked = asked_of(case)
        stage = ScenarioStage(case, asked)
        with Listener(stage) as listener:
            task = task_of(case, listener.url, timeout_s=timeout_s, asked=asked)

            def began() -> bool:
                listener.settle()
                return stage.began

            reported = client.run(task, began, budget)
            if stage.silent_since is not None:
                reported = replace(reported, waited_s=time.monotonic() - stage.silent_since)
        cut_off = reported.ended == "timeout" and budget.spent
        result = out_of_time if cut_off else judged(case, stage.exchanges(), reported)
    except CaseFileError as error:
        result = Result(case, Verdict(Outcome.ERROR, InvalidCase(str(error))))
    except ConformanceError:
        raise
    except Exception as error:  # a bug in the suite must neither end the run nor pass the scenario
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno}"
        cause = SuiteError(f"{type(error).__name__}: {error}", where)
        result = Result(case, Verdict(Outcome.ERROR, cause))
    return replace(result, duration_s=time.monotonic() - started)


def judged(case: ClientCase, exchanges: tuple[Exchange, ...], reported: ClientResult) -> Result:
    """Return the result of a scenario that received all this. Raises CaseFileError."""
    received = [bytes(e.request) for e in exchanges if e.purpose is not Purpose.DISCOVERY]
    verdict = judge_client(case, received, reported)
    return ScenarioResult(case, verdict, exchanges=exchanges, reported=reported)
