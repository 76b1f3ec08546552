"""Generated requests sent to a server: a bounded, fixed number in a run, or a campaign of any size.

Whatever fails is shrunk and written as a case file that can be run alone, or committed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from v2_conformance import __version__
from v2_conformance.engine.discovery import Server
from v2_conformance.engine.engine import Engine, Exchange, Killed, Recovery, Result
from v2_conformance.engine.target import Target
from v2_conformance.judging.judge import FAIL, PASS
from v2_conformance.judging.survival import NO_ROLES
from v2_conformance.suite.cases import Case, load_cases, make_case
from v2_conformance.suite.library import EXAMPLES, GENERATED
from v2_conformance.suite.models import contract

COUNTEREXAMPLE = "counterexample.yaml"
_SEED = 0
_SHRINK_S = 10.0


@dataclass
class Campaign:
    """What came of generated requests: the smallest failure with its entry, or the last pass.

    `exchanges` are those of all passes, or of the smallest failure, each with the entry it is for.
    `failed_at` is the number of the first request that failed, which the seed decides; how many
    more were sent to shrink it depends on the time that they took.
    """

    sent: int = 0
    failed_at: int = 0
    roles: int = 0
    result: Result | None = None
    entry: Mapping[str, Any] | None = None
    exchanges: tuple[Exchange, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether some request was not answered as it had to be."""
        return self.entry is not None


class _Wrong(Exception):
    """An answer that fails, for Hypothesis to shrink."""


class _Enough(BaseException):
    """Ends a campaign at once. Hypothesis lets through what is no Exception."""


def roles(engine: Engine) -> list[str]:
    """The models that generated requests can go to."""
    target = engine.target
    return [
        role
        for role in engine.server.present
        # Models of the profile raw are for raw requests.
        if (model := contract()[role]).does == "identity"
        and model.profile in target.profiles
        and model.profile != "raw"
        and model.profile not in target.unsupported
        and not target.unsupported & {spec.datatype for spec in model.inputs}
    ]


def explore(
    engine: Engine,
    examples: int,
    seed: int,
    *,
    extras: bool = False,
    shrink_s: float = _SHRINK_S,
    keep: bool = False,
) -> Campaign:
    """Send up to `examples` generated requests, up to the first failure, which is shrunk.

    `seed` decides all of them. Shrinking ends after `shrink_s` seconds, and as soon as the server
    cannot be asked any more. A failure that is no wrong answer (a time-out) is not shrunk. With
    `keep` the exchanges of requests that pass are kept, too.
    """
    import hypothesis

    from v2_conformance.suite.generated import entries

    usable = roles(engine)
    campaign = Campaign(roles=len(usable))
    if not usable:
        return campaign
    smallest = 0
    deadline = 0.0

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=False,  # the seed does it, for campaigns too
        report_multiple_bugs=False,
        print_blob=False,
        phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink],
        suppress_health_check=list(hypothesis.HealthCheck),
        verbosity=hypothesis.Verbosity.quiet,
    )
    @hypothesis.given(entries(GENERATED, usable, extras=extras))
    def answered_exactly(entry: dict[str, Any]) -> None:
        nonlocal smallest, deadline
        if campaign.failed and time.monotonic() > deadline:
            raise _Enough
        case = make_case(entry)
        result = engine.run(case)
        if campaign.failed and (result.case is not case or result.outcome not in (PASS, FAIL)):
            raise _Enough  # the server is dead or away: nothing more can be learnt
        campaign.sent += 1
        shown = tuple(replace(exchange, entry=entry) for exchange in result.exchanges)
        if result.outcome == PASS:
            if not campaign.failed:
                campaign.result = result
                campaign.exchanges += shown if keep else ()
            return
        size = len(json.dumps(entry))
        if not campaign.failed:
            campaign.failed_at = campaign.sent
            deadline = time.monotonic() + shrink_s
        # Of equal size the later one is the simpler: Hypothesis goes one way only.
        if not campaign.failed or size <= smallest:
            campaign.result, campaign.entry, smallest = result, entry, size
            campaign.exchanges = shown
        if result.outcome != FAIL:
            raise _Enough
        raise _Wrong

    with (
        _same_everywhere(),
        contextlib.suppress(_Wrong, _Enough, hypothesis.errors.Flaky),
    ):
        answered_exactly()
    return campaign


@contextlib.contextmanager
def _same_everywhere() -> Iterator[None]:
    """Hypothesis draws what is a constant in modules that are not in site-packages, too: requests
    would depend on what is loaded, and on whether the suite is installed or a checkout."""
    from hypothesis.internal.conjecture import providers

    module: Any = providers
    real = getattr(module, "_get_local_constants", None)
    if real is None:  # a Hypothesis that does not do so
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


class CertifyingEngine(Engine):
    """An engine that also runs the generated requests of a certifying run, the same in each run.

    A failing one is written as a case file into `directory`, where that is given.
    """

    def __init__(
        self,
        target: Target,
        server: Server,
        *,
        recovery: Recovery | None = None,
        killed: Killed | None = None,
        directory: Path | None = None,
    ) -> None:
        super().__init__(target, server, recovery=recovery, killed=killed)
        self._directory = directory

    def run(self, case: Case) -> Result:
        """See Engine."""
        # What is generated has the same id, and a model.
        generated = case.id == GENERATED and not case.model
        return self._certify(case) if generated else super().run(case)

    def _certify(self, case: Case) -> Result:
        import hypothesis

        started = time.perf_counter()
        if self._directory:
            (self._directory / COUNTEREXAMPLE).unlink(missing_ok=True)  # an older run's
        campaign = explore(self, EXAMPLES, _SEED, keep=True)
        result = campaign.result
        if result is None:
            return Result(case, NO_ROLES.outcome, NO_ROLES.message)
        if not campaign.exchanges:  # a request that was not sent shows nothing
            return Result(case, result.outcome, result.message, time.perf_counter() - started)
        how = f"seed {_SEED}, Hypothesis {hypothesis.__version__}"
        message = f"{campaign.sent} generated requests ({how})"
        if campaign.failed:
            message = f"{result.message} (shrunk from generated request {campaign.failed_at}, {how}"
            if self._directory:
                path = write_counterexample(self, campaign, self._directory, how)
                message += f"; {path.name} has it as a case"
            message += ")"
        took = time.perf_counter() - started
        return Result(
            case, result.outcome, message, took, campaign.exchanges, difference=result.difference
        )


def write_counterexample(engine: Engine, campaign: Campaign, directory: Path, how: str) -> Path:
    """Write the failure as a case file; its case is named by its content."""
    if campaign.entry is None or campaign.result is None:
        raise ValueError("nothing failed")
    entry = dict(campaign.entry)
    digest = hashlib.sha256(json.dumps(entry).encode()).hexdigest()[:8]
    entry["id"] = f"M7/counterexample-{digest}"
    # What the server sent is in the message: no secret of the target, and nothing like an axis.
    message = engine.target.mask.text(campaign.result.message).replace("$", "?")
    entry["why"] = f"{entry['why']} Once it came to {campaign.result.outcome}: {message}"
    document = {"family": "M", "about": "A generated request that failed.", "cases": [entry]}
    text = yaml.safe_dump(document, sort_keys=False, width=100, default_flow_style=None)
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / COUNTEREXAMPLE
    header = f"# Written by v2-conformance {__version__} ({how}).\n"
    path.write_text(header + text, encoding="utf-8")
    return path


def run_alone(engine: Engine, path: Path) -> Result:
    """The result of the one case in `path`, read as any case file is."""
    (case,) = load_cases(path)
    return engine.run(case)
