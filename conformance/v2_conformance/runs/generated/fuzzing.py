"""Sends generated requests for --fuzz: up to the first failure, which is shrunk."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from v2_conformance.conversations.generated import ANSWERED
from v2_conformance.conversations.steps import Exchange
from v2_conformance.runs.discovery import Server
from v2_conformance.runs.result import Result
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.cases import Case
from v2_conformance.suite.entries.case_files import make_case
from v2_conformance.suite.library import GENERATED
from v2_conformance.suite.models import contract
from v2_conformance.suite.outcomes import Outcome

_SHRINK_S = 10.0


@dataclass
class Exploration:
    """Result of generated requests: the smallest failure with its entry, or the last pass.

    `sent` counts all. `exchanges` are those of the smallest failure, each with the entry it is for.
    """

    sent: int = 0
    result: Result | None = None
    entry: Mapping[str, Any] | None = None
    exchanges: tuple[Exchange, ...] = ()

    @property
    def failed(self) -> bool:
        """True if some request was not answered as it had to be."""
        return self.entry is not None


class _Wrong(Exception):
    """An answer that fails, for Hypothesis to shrink."""


class _Enough(BaseException):
    """Ends an exploration at once. Hypothesis lets through exceptions that are not an Exception."""


def usable_roles(target: Target, server: Server) -> list[str]:
    """Return the models that generated requests can go to."""
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


def explore(
    run: Callable[[Case], Result],
    roles: Sequence[str],
    examples: int,
    seed: int,
    *,
    extras: bool = False,
    shrink_s: float = _SHRINK_S,
) -> Exploration:
    """Send up to `examples` generated requests to `roles`, up to the first failure, and shrink it.

    `seed` decides all of them. Shrinking ends after `shrink_s` seconds, or as soon as the server no
    longer answers. A failure without a wrong answer (a time-out) is not shrunk.
    """
    import hypothesis

    from v2_conformance.suite.values.generated import request_entries

    found = Exploration()
    if not roles:
        return found
    smallest = 0
    deadline = 0.0

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=False,  # the seed makes every failure reproducible
        report_multiple_bugs=False,
        print_blob=False,
        phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink],
        suppress_health_check=list(hypothesis.HealthCheck),
        verbosity=hypothesis.Verbosity.quiet,
    )
    @hypothesis.given(request_entries(GENERATED, roles, extras=extras))
    def answered_exactly(entry: dict[str, Any]) -> None:
        nonlocal smallest, deadline
        if found.failed and time.monotonic() > deadline:
            raise _Enough
        case = make_case(entry)
        result = run(case)
        answered = result.case is case and result.outcome in ANSWERED
        if found.failed and not answered:
            raise _Enough  # the server is dead or away: nothing more can be learnt
        found.sent += 1
        shown = tuple(replace(exchange, entry=entry) for exchange in result.exchanges)
        if result.outcome.harmless:
            passed = result.outcome is Outcome.PASS
            if not found.failed and (passed or found.result is None):
                found.result = result
            return
        size = len(json.dumps(entry))
        if not found.failed:
            deadline = time.monotonic() + shrink_s
        # Of two with equal size the later one is simpler: Hypothesis only ever simplifies.
        if not found.failed or size <= smallest:
            found.result, found.entry, smallest = result, entry, size
            found.exchanges = shown
        if result.outcome is not Outcome.FAIL:
            raise _Enough
        raise _Wrong

    with (
        _same_everywhere(),
        contextlib.suppress(_Wrong, _Enough, hypothesis.errors.Flaky),
    ):
        answered_exactly()
    return found


@contextlib.contextmanager
def _same_everywhere() -> Iterator[None]:
    """Keep Hypothesis from drawing constants of modules outside site-packages: requests would
    depend on what is loaded, and on whether the suite is installed or a checkout.
    """
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
