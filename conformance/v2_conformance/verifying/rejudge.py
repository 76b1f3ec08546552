"""Judges one case of a report again from its recorded bytes. No server, network or files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from v2_conformance.elsewhere import elsewhere
from v2_conformance.judging.claims import skipped
from v2_conformance.judging.extension import LEFT_OUT
from v2_conformance.judging.observed.cases import observe_verdict
from v2_conformance.judging.observed.exchanges import Observation, Observations, observe
from v2_conformance.judging.verdict import Verdict
from v2_conformance.redaction import shows_masks
from v2_conformance.report.document import CaseResult
from v2_conformance.report.tested import this_suite
from v2_conformance.suite.cases import Case, ClientCase, GeneratedCase, ObservedCase, RelationCase
from v2_conformance.suite.causes.causes import (
    Cause,
    DidNotSurvive,
    FailedAtFirst,
    SeveralWrong,
    wrong_output,
)
from v2_conformance.suite.causes.kinds import AnswersDiffer, KilledBy
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.verifying.facts import first_answers
from v2_conformance.verifying.on_record import of_generated, replayed
from v2_conformance.verifying.record import (
    RecordedError,
    RecordedExchanges,
    Setting,
    UnconfirmedError,
)

_UNSENT = (Outcome.NOT_RUN, Outcome.INCONCLUSIVE, Outcome.ERROR)

Shown = tuple[Verdict, tuple[Observation, ...], bool]
"""What a record shows: the verdict, what it shows about rules for every exchange, and whether masks
may hide some of what was judged."""


@dataclass(frozen=True)
class Rejudged:
    """Result of judging a case's recorded bytes again.

    `outcome` is the one that the bytes show, or the recorded one if they show none: then `unjudged`
    says why. `problem` says why the record does not hold, None if it does. `other_cause` is the
    cause that the bytes show, in words, if the outcome is the recorded one but the cause or the
    message is not. `verdict` is what they show, with the report's cause if they agree with it, None
    if nothing was judged. `seen` is what they show about rules for every exchange, None if they
    cannot be read; `hidden` is True if masks may hide some of what was judged.
    """

    id: str
    recorded: Outcome
    outcome: Outcome
    problem: str | None = None
    unjudged: str | None = None
    other_cause: str | None = None
    verdict: Verdict | None = None
    seen: tuple[Observation, ...] | None = None
    hidden: bool = False


def rejudge(recorded: CaseResult, setting: Setting, others: Sequence[Rejudged] = ()) -> Rejudged:
    """Judge one case of a report again, one about all exchanges by `others`, which are all cases
    that have some. Never raises for a report's content."""
    outcome = recorded.outcome
    try:
        case = _case(recorded, setting)
        verdict, seen, hidden = _shown(case, recorded, setting, others)
        if verdict.outcome == outcome and not hidden:
            shown = case.facts(setting.claims.profiles, verdict.cause)
            if (shown.level, shown.blocks) != (recorded.level, recorded.blocks):
                raise RecordedError("its level or what it blocks is not what its bytes show")
    except RecordedError as error:
        return Rejudged(recorded.id, outcome, outcome, problem=str(error))
    except UnconfirmedError as error:
        return Rejudged(recorded.id, outcome, outcome, unjudged=str(error))
    rejudged = _compared(recorded, verdict, hidden=hidden, masks=setting.masks)
    return replace(rejudged, seen=seen, hidden=hidden)


def _case(recorded: CaseResult, setting: Setting) -> Case:
    """Return the recorded case. Raises RecordedError for another, UnconfirmedError for none."""
    if setting.planned is not None and recorded.id not in setting.planned:
        raise RecordedError("it is not in the plan of a run with this selection")
    case = (setting.planned or setting.cases).get(recorded.id)
    if case is None:
        raise UnconfirmedError("this installation has no such case")
    facts = msgspec.structs.asdict(case.facts(setting.claims.profiles, recorded.cause))
    if setting.report.suite != this_suite():  # words differ from build to build
        del facts["why"]
    wrong = [name for name, value in facts.items() if getattr(recorded, name) != value]
    if wrong:
        raise RecordedError(f"its {' and '.join(wrong)} in the report are not those of the case")
    return case


def _shown(case: Case, recorded: CaseResult, setting: Setting, others: Sequence[Rejudged]) -> Shown:
    if isinstance(case, ClientCase):
        judge_scenario = elsewhere("judge of clients").judge_scenario
        return judge_scenario(case, recorded, setting) or (_unsent(recorded, setting), (), False)
    if recorded.reported is not None:
        raise RecordedError("a client's words are recorded for a case that is not a scenario")
    skip = skipped(case, setting.claims)
    if recorded.exchanges and (skip is not None or isinstance(case, ObservedCase)):
        raise RecordedError("exchanges are recorded of a case that is not sent")
    if isinstance(case, ObservedCase):
        return _observed(case, skip, setting, others)
    if not recorded.exchanges:
        return skip or _unsent(recorded, setting), (), False
    record = RecordedExchanges(recorded.exchanges, setting)
    if isinstance(case, GeneratedCase):
        verdict = of_generated(case, recorded, record)
    else:
        verdict = replayed(case, record).verdict
    record.end()
    if (  # the bytes are one answer of a model that did not repeat its answers
        isinstance(case, RelationCase)
        and isinstance(recorded.cause, AnswersDiffer)
        and recorded.outcome is Outcome.INCONCLUSIVE
        and recorded.cause.role in case.roles
        and (verdict.outcome.harmless or wrong_output(verdict.cause) is not None)
    ):
        verdict = msgspec.structs.replace(verdict, outcome=recorded.outcome, cause=recorded.cause)
    hidden = setting.masks and any(shows_masks(bytes(one.received)) for one in record.taken)
    return verdict, (*observe(case, record.taken), *observe_verdict(case, verdict)), hidden


def _unsent(recorded: CaseResult, setting: Setting) -> Verdict:
    """Return the verdict on a case without exchanges, as recorded: none of these is a good one."""
    cause = recorded.cause
    verdict = Verdict(recorded.outcome, cause)
    if recorded.outcome not in _UNSENT or cause is None or not cause.unsent:
        raise RecordedError("no exchange is recorded")
    if verdict == LEFT_OUT and not setting.left_out:
        raise RecordedError("the report does not show that the server leaves the extension out")
    if isinstance(cause, KilledBy):
        killer = setting.report.case(cause.case)
        if killer is None or killer.outcome.harmless:
            raise RecordedError(f"{cause.case}, which it blames, is not recorded as failed")
    return verdict


def _observed(
    case: ObservedCase, skip: Verdict | None, setting: Setting, others: Sequence[Rejudged]
) -> Shown:
    observations = Observations()
    for other in others:
        if other.seen is None:
            raise UnconfirmedError(f"it is also about the exchanges of {other.id}")
        observations.add(other.seen)
    observations.add(first_answers(setting))
    return skip or observations.verdict(case), (), any(other.hidden for other in others)


def _compared(recorded: CaseResult, verdict: Verdict, *, hidden: bool, masks: bool) -> Rejudged:
    name, outcome = recorded.id, recorded.outcome
    again = isinstance(recorded.cause, FailedAtFirst)
    if outcome in (Outcome.FLAKY, Outcome.PASS) and again and verdict.outcome.harmless:
        verdict = msgspec.structs.replace(verdict, outcome=outcome)  # only its pass is recorded
    if verdict.outcome != outcome:
        if hidden:
            words = "what the report masks may be what was judged"
            return Rejudged(name, outcome, outcome, unjudged=words)
        words = f"the recorded bytes say {verdict.outcome.words}"
        if verdict.message:
            words += f": {verdict.message}"
        return Rejudged(name, outcome, verdict.outcome, words)
    masked = hidden or (masks and b"*" in msgspec.json.encode(verdict.cause))
    # How many of several answers were wrong cannot be shown: only one of them is recorded.
    agrees = _alike(recorded, verdict.cause) and (
        without_count(recorded.cause) == without_count(verdict.cause)
    )
    as_recorded = msgspec.structs.replace(verdict, cause=recorded.cause)
    same = masked or (agrees and recorded.message == as_recorded.message)
    other = None if same else verdict.message or "(no message)"
    if masked or agrees:
        verdict = as_recorded
    return Rejudged(name, outcome, outcome, other_cause=other, verdict=verdict)


def _alike(recorded: CaseResult, shown: Cause | None) -> bool:
    """Return True if a recorded cause can be about what the one that is shown is about: only what
    passed in the end failed at first, and only requests at once have several answers."""
    if isinstance(recorded.cause, FailedAtFirst):
        return recorded.outcome is Outcome.FLAKY or recorded.outcome.harmless
    return isinstance(recorded.cause, SeveralWrong) == isinstance(shown, SeveralWrong)


def without_count(cause: Cause | None) -> Cause | None:
    """Return a cause without the number of answers that were wrong, what `passed_again` wrapped
    around it, and the concurrent cases.
    """
    if isinstance(cause, SeveralWrong):
        return cause.first
    if isinstance(cause, FailedAtFirst):
        return without_count(cause.again)
    if isinstance(cause, DidNotSurvive) and (cause.case is not None or cause.beside):
        case = without_count(cause.case)
        return msgspec.structs.replace(cause, case=case, beside=())
    return cause
