"""Runs generated requests: those of M7's file, and then those drawn from the run's seed
(`--generated`), up to the first failure, which is shrunk."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from v2_conformance.conversations.discovery import Server
from v2_conformance.conversations.generated import ANSWERED, generated, sendable
from v2_conformance.conversations.steps import AskApart, Result, play
from v2_conformance.judging.claims import Claims
from v2_conformance.judging.verdict import Verdict
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.case_files import make_case
from v2_conformance.suite.cases import Case, GeneratedCase, RequestCase
from v2_conformance.suite.causes.causes import GeneratedFailure
from v2_conformance.suite.library import generated_entry
from v2_conformance.suite.models import contract
from v2_conformance.suite.outcomes import Outcome

_SHRINK_S = 10.0


@dataclass(frozen=True)
class Failure:
    """The smallest request that failed, shrunk from the request `number`. `hypothesis` is the
    version that drew it."""

    number: int
    hypothesis: str
    entry: Mapping[str, Any]
    case: RequestCase
    result: Result


class _Wrong(Exception):
    """An answer that fails, for Hypothesis to shrink."""


class _Enough(BaseException):
    """Ends everything at once. Hypothesis does not catch exceptions that are not an Exception."""


def run_generated(
    case: GeneratedCase,
    target: Target,
    server: Server,
    claims: Claims,
    run: Callable[[Case], Result],
) -> Result:
    """Run the generated requests whose models the server has, each as a case of its own."""
    started = time.perf_counter()

    def settled(one: Case) -> Result:
        result = run(one)
        if result.outcome is Outcome.FLAKY:  # this one of many was answered when it was sent again
            return msgspec.structs.replace(result, verdict=Verdict(Outcome.PASS))
        return result

    def answer(asked: AskApart) -> Result | None:
        result = settled(asked.case)
        # An earlier request may have killed what this one needs.
        return result if result.case is asked.case else None

    result = play(generated(case, sendable(case, claims)), answer)
    if result.verdict.outcome is Outcome.PASS and target.generated:
        seed = target.seed or 0
        failure = first_failure(settled, usable_roles(target, server), target.generated, seed)
        result = result if failure is None else _of_drawn(case, failure, seed)
    return msgspec.structs.replace(result, duration_s=time.perf_counter() - started)


def _of_drawn(case: GeneratedCase, failure: Failure, seed: int) -> Result:
    """Return the result of the case if a drawn request failed."""
    result = play(
        generated(case, [AskApart(failure.case, failure.entry)]), lambda _: failure.result
    )
    cause = result.verdict.cause
    if isinstance(cause, GeneratedFailure):
        cause = msgspec.structs.replace(
            cause, number=failure.number, seed=seed, hypothesis=failure.hypothesis
        )
    verdict = msgspec.structs.replace(result.verdict, cause=cause)
    return msgspec.structs.replace(result, verdict=verdict)


def usable_roles(target: Target, server: Server) -> list[str]:
    """Return the models that drawn requests can go to."""
    return [
        role
        for role in server.present
        # Models of the profile raw are for raw requests.
        if (model := contract()[role]).does == "identity"
        and not model.batching  # its inputs have one dimension in common, and a limit
        and model.profile in target.profiles
        and model.profile != "raw"
        and model.profile not in target.unsupported
        and not target.unsupported & {spec.datatype for spec in model.inputs}
    ]


def first_failure(
    run: Callable[[Case], Result],
    roles: Sequence[str],
    count: int,
    seed: int,
    *,
    shrink_s: float = _SHRINK_S,
) -> Failure | None:
    """Send up to `count` requests to `roles`, and shrink the first that fails.

    `seed` decides all of them. Shrinking ends after `shrink_s` seconds, or as soon as the server no
    longer answers. A failure without a wrong answer (a timeout) is not shrunk.
    """
    import hypothesis

    from v2_conformance.suite.values.generated import requests

    failure: Failure | None = None
    sent = 0
    deadline = 0.0
    if not roles:
        return None

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count,
        database=None,
        deadline=None,
        derandomize=False,  # the seed makes every failure reproducible
        report_multiple_bugs=False,
        print_blob=False,
        phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink],
        suppress_health_check=list(hypothesis.HealthCheck),
        verbosity=hypothesis.Verbosity.quiet,
    )
    @hypothesis.given(requests(roles))
    def answered_exactly(drawn: dict[str, Any]) -> None:
        nonlocal failure, sent, deadline
        if failure is not None and time.monotonic() > deadline:
            raise _Enough
        entry = generated_entry(drawn)
        case = make_case(entry)
        assert isinstance(case, RequestCase)
        result = run(case)
        answered = result.case is case and result.outcome in ANSWERED
        if not answered and (failure is not None or not result.exchanges):
            raise _Enough  # the server is dead or away, or the time is spent
        sent += 1
        if result.outcome.harmless:
            return
        if failure is None:
            deadline = time.monotonic() + shrink_s
            failure = Failure(sent, hypothesis.__version__, entry, case, result)
        # Of two with equal size the later one is simpler: Hypothesis only ever simplifies.
        elif len(json.dumps(entry)) <= len(json.dumps(failure.entry)):
            failure = replace(failure, entry=entry, case=case, result=result)
        if result.outcome is not Outcome.FAIL:
            raise _Enough
        raise _Wrong

    with _same_everywhere(), contextlib.suppress(_Wrong, _Enough, hypothesis.errors.Flaky):
        answered_exactly()
    return failure


@contextlib.contextmanager
def _same_everywhere() -> Iterator[None]:
    """Keep Hypothesis from drawing constants of modules outside site-packages: requests would
    depend on what is loaded, and on whether the suite is installed or a checkout."""
    from hypothesis.internal.conjecture import providers

    module: Any = providers
    real = getattr(module, "_get_local_constants", None)
    if real is None:  # a version of Hypothesis that does not do this
        yield
        return
    cache = getattr(getattr(module, "CONSTANTS_CACHE", None), "cache", {})
    none = type(module.GLOBAL_CONSTANTS)()
    module._get_local_constants = lambda: none
    cache.clear()
    try:
        yield
    finally:
        module._get_local_constants = real
        cache.clear()
