"""Resends the failed cases of a report, and says for each whether it is fixed.

The target has the claims, models, header fields and seed of the report, so that the same requests
are sent; secrets, which the report hides, must be supplied again. An observed case, which is about
the exchanges of others, sends nothing itself: the cases that its cause names are sent. Only a whole
run has a verdict, so nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum

from v2_conformance.conversations.steps import Result
from v2_conformance.errors import ReportFileError, UsageError
from v2_conformance.protocol.datatypes import ElementError
from v2_conformance.redaction import MASKED
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.report.tested import Relations, TargetInfo
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.learning import LearnedServer, learn_again
from v2_conformance.runs.patience import Budget, default_limit_s
from v2_conformance.runs.scheduling.deaths import Recovery
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.scheduling.running import run
from v2_conformance.runs.targets.reaching import wait_until_ready
from v2_conformance.runs.targets.target import Target, checked_target
from v2_conformance.suite.cases import Case
from v2_conformance.suite.causes.causes import NotKept
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.terminal_safe_text import matches
from v2_conformance.verifying.facts import asked_model, tolerance_of
from v2_conformance.verifying.record import RecordedError, setting_of
from v2_conformance.verifying.verification import with_cases_of_plan
from v2_conformance.wire.encode.deployment import DeployedModel
from v2_conformance.wire.relations.cases import relation_plan

_OF_EVERY_REQUEST = {"user-agent": "v2-conformance", "accept": "*/*"}


@dataclass(frozen=True)
class Failure:
    """A case that failed in a report; `case` is that of this installation, if any, and `shown_by`
    are those whose exchanges show it if it sends nothing itself."""

    recorded: CaseResult
    case: Case | None
    shown_by: tuple[Case, ...] = ()


class Now(Enum):
    """State of a case now; its value is the word for it."""

    FIXED = "fixed"
    STILL_FAILING = "still failing"
    NEWLY_FAILING = "newly failing"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Resent:
    """A resent case and its state in words. If it is `optional` (MAY), it never counts."""

    case_id: str
    now: Now
    words: str = ""
    optional: bool = False

    @property
    def counts(self) -> bool:
        """True if it is wrong: what is optional (MAY) never is."""
        return self.now in (Now.STILL_FAILING, Now.NEWLY_FAILING) and not self.optional


def failures(
    report: Report, cases: Sequence[Case], patterns: Sequence[str] = ()
) -> tuple[Failure, ...]:
    """Return the cases of `report` that failed and match `patterns`. Raises UsageError for a report
    that is not about the suite's own cases of servers, and ReportFileError."""
    if report.target.client is not None:
        raise UsageError(
            "the report is about a client: run its scenarios again with `v2-conformance client "
            "--scenario ID -- COMMAND`"
        )
    if not report.own:
        raise UsageError(
            "the report is about cases of another file: send them again with `run --cases FILE`"
        )
    known = with_cases_of_plan(setting_of(report), cases, [], []).cases
    found = []
    for case in report.of(Outcome.FAIL, Outcome.FLAKY):
        if not patterns or any(case.requirement == p or matches(case.id, p) for p in patterns):
            named = case.cause.cases if isinstance(case.cause, NotKept) else ()
            shown_by = tuple(known[name] for name in named if name in known)
            found.append(Failure(case, known.get(case.id), shown_by))
    return tuple(found)


def reported_target(report: Report, given: Target) -> Target:
    """The target that was tested, at the URL of the `given` one, which also has the secrets.

    Claims, models and the header fields that the report shows are those of the report, unless the
    given target has its own models or fields of the same name. Raises UsageError, naming what is
    missing, if the report hides something that is not given.
    """
    tested = report.target
    names = {name.lower() for name, _ in given.headers}
    if any(name == "Authorization" for name, _ in given.address.headers):
        names.add("authorization")  # it may also be in the URL
    fields = [("Host", tested.host)] if tested.host_given else []
    fields += [
        (name, value)
        for name, value in tested.headers
        if _OF_EVERY_REQUEST.get(name.lower()) != value
    ]
    fields = [(name, value) for name, value in fields if name.lower() not in names]
    missing = [n for n, value in fields if MASKED in value or (value and not value.strip("*"))]
    if missing:
        raise UsageError(
            f"the report hides the value of {', '.join(missing)}: give it again, such as with "
            f"--bearer-env NAME or --header '{missing[0]}: …'"
        )
    public = (name for name, _ in fields if name.lower() != "host")
    return checked_target(
        replace(
            given,
            headers=(*given.headers, *fields),
            public=(*given.public, *public),
            profiles=tested.profiles,
            unsupported=frozenset(tested.unsupported),
            models={**_bindings(tested, given), **given.models},
            seed=report.seed,
        )
    )


def _bindings(tested: TargetInfo, given: Target) -> dict[str, DeployedModel]:
    bindings = {}
    for role, model in tested.models.items():
        names = (model.model, *model.inputs, *model.outputs, model.version or "")
        if role not in given.models and any(MASKED in name for name in names):
            raise UsageError(
                f"the report hides the names of the model for {role}: give them with --target FILE"
            )
        bindings[role] = model.deployed(role)
    return bindings


def resend(
    target: Target,
    failed: Sequence[Failure],
    *,
    of: Report | None = None,
    recovery: Recovery | None = None,
    ready_within_s: float | None = None,
    workers: int = 1,
) -> Iterator[Resent]:
    """Send the `failed` cases to `target`, and yield the state of each.

    The cases that showed an observed failure are yielded only if they fail although they had not.
    What cannot be sent comes last. If the failures are those `of` a report about relations, its
    models are learned again, as they answer now. Raises UsageError, UnreachableError and
    NothingRanError before the first case is sent.
    """
    by_id = {failure.recorded.id: failure for failure in failed}
    cases = {failure.case.id: failure.case for failure in failed if failure.case is not None}
    for failure in failed:
        cases |= {case.id: case for case in failure.shown_by if case.id not in cases}
    unsent = dict.fromkeys(by_id.keys() - cases, "this version of the suite has no such case")
    if cases:
        wait_until_ready(target, ready_within_s)
        if of is None or of.relations is None:
            server = discover(target)
        else:
            learned = _learned_again(target, of.relations)
            server, models = learned.server, [one.learned.contract for one in learned.models]
            plan = relation_plan(models, suite_cases(large=of.selection.large))
            now = {case.id: case for case in plan}
            lost = "; ".join(server.absent.values()) or "the model no longer takes what it sends"
            unsent |= dict.fromkeys((i for i in by_id if i in cases and i not in now), lost)
            cases = {case_id: now[case_id] for case_id in cases if case_id in now}
        limit_s = default_limit_s(len(cases), target.limits.exchange_s)
        engine = Engine(target, server, recovery=recovery, budget=Budget(limit_s))
        for event in run(engine, list(cases.values()), workers):
            again = _again(event.result, by_id.get(event.result.case.id))
            if again is not None:
                yield again
    for case_id in by_id:
        if case_id in unsent:
            yield Resent(case_id, Now.UNKNOWN, unsent[case_id])


def _learned_again(target: Target, relations: Relations) -> LearnedServer:
    models = []
    for asked in relations.models:
        # A model that cannot be read from the report is left out; `verify` names it.
        with suppress(ElementError, RecordedError, ReportFileError):
            models.append(asked_model(asked))
    return learn_again(target, models, tolerance_of(relations))


def _again(result: Result, failure: Failure | None) -> Resent | None:
    failing = result.outcome in (Outcome.FAIL, Outcome.FLAKY)
    if failure is None:
        counts = failing and result.case.level != "MAY"
        return Resent(result.case.id, Now.NEWLY_FAILING, result.message) if counts else None
    recorded, case = failure.recorded, failure.case
    optional = failing and recorded.level == "MAY"
    if failing:
        now, words = Now.STILL_FAILING, [result.message]
        words += ["MAY, which never counts"] if optional else []
    elif result.outcome in (Outcome.PASS, Outcome.DISPUTED):
        flaky = recorded.outcome is Outcome.FLAKY
        now, words = Now.FIXED, ["it was flaky, and passed this time"] if flaky else []
    else:
        now, words = Now.UNKNOWN, [f"{result.outcome.words}: {result.message}"]
    if case is not None and case.content != recorded.content:
        words.append("this version sends or expects something else")
    return Resent(recorded.id, now, "; ".join(filter(None, words)), optional)
