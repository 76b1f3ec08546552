"""Judges one case of a report again from its recorded bytes. No server, network or files.

What bytes cannot show, such as that nothing more came before a time-out, has to be believed. Each
such belief is named, so that a reader knows how far the second judgment goes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from v2_conformance.judging.observed.cases import observe_verdict
from v2_conformance.judging.observed.exchanges import Observation, Observations, observe
from v2_conformance.judging.survival import skipped, without_count
from v2_conformance.judging.verdict import Verdict
from v2_conformance.report.cited import cited_documents
from v2_conformance.report.document import CaseResult
from v2_conformance.suite.cases import (
    Case,
    ClientCase,
    ObservedCase,
    RelationCase,
    RequestCase,
    SentCase,
)
from v2_conformance.suite.causes.causes import (
    FailedAtFirst,
    FailedBesideOthers,
    difference_in,
    unsurvived,
    wrong_output,
)
from v2_conformance.suite.causes.circumstances import AnswersDiffer
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.verifying.on_record import OWN
from v2_conformance.verifying.recorded.beliefs import Belief
from v2_conformance.verifying.recorded.consistency import check_count, check_notes, check_times
from v2_conformance.verifying.recorded.transcripts import (
    OmittedError,
    RecordedError,
    UnconfirmedError,
    hides,
    read_exchange,
)
from v2_conformance.verifying.scenarios import verdict_again
from v2_conformance.verifying.setting import Setting
from v2_conformance.verifying.verdicts import verdict_of
from v2_conformance.wire.transport import Parting

_MASKED = "what the report masks may be what was judged"
# Of these, messages do not show all that is judged.
_UNSEEN = {
    "announced_closes": Belief.CLOSED,
    "nothing_after": Belief.BETWEEN,
    "continues": Belief.WHEN,
}


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
    believed: tuple[Belief, ...] = ()
    verdict: Verdict | None = None
    seen: tuple[Observation, ...] | None = None
    hidden: bool = False


def rejudge(recorded: CaseResult, known: Setting) -> Rejudged:
    """Judge one case of a report again. Never raises for a report's content."""
    case: Case | None
    try:
        case = known.cases.get(recorded.id)
        if isinstance(case, ClientCase):
            return _rejudge_scenario(recorded, known)
        if recorded.said is not None:
            raise RecordedError("a client's words are recorded for a case that is not a scenario")
        check_count(recorded, case)
        if known.plan is not None:
            case = known.plan.chosen.get(recorded.id)
            if case is None:
                raise RecordedError("it is not in the plan of a run with this selection")
        half = _half_closes(case)
        exchanges = [
            read_exchange(exchange, half_closed=half and exchange.purpose in OWN)
            for exchange in recorded.exchanges
        ]
        if known.same_suite:
            check_notes(recorded, case)
            check_times(recorded)
            _check_names(recorded, known)
        case, unjudged = _case(recorded, known)
        if case is None:
            return _unjudged(recorded, unjudged)
        if isinstance(case, ObservedCase):
            return _unjudged(recorded, "it is about the exchanges of all cases")
        if isinstance(case, ClientCase):
            return _unjudged(recorded, "this installation has it as a scenario for clients")
        seen = observe(case, ((e.recorded.purpose, e.transcript) for e in exchanges))
        verdict, believed = verdict_of(case, recorded, exchanges, known)
        if _differed(case, recorded, verdict):
            verdict = msgspec.structs.replace(
                verdict, outcome=recorded.outcome, cause=recorded.cause
            )
            believed = [*believed, Belief.DIFFERED]
        if exchanges:
            seen = (*seen, *observe_verdict(case, verdict))
    except OmittedError as error:
        return _unjudged(recorded, str(error))
    except RecordedError as error:
        return Rejudged(recorded.id, recorded.outcome, recorded.outcome, str(error))
    except UnconfirmedError as error:
        return _unjudged(recorded, str(error))
    hidden = any(hides(exchange.transcript, masks=known.masks) for exchange in exchanges)
    found = _compared(recorded, verdict, believed, known, hidden=hidden)
    return replace(found, seen=seen, hidden=hidden)


def _rejudge_scenario(recorded: CaseResult, known: Setting) -> Rejudged:
    """Judge a scenario of a client's report again. Raises RecordedError."""
    if known.plan is not None and recorded.id not in known.plan.chosen:
        raise RecordedError("it is not in the plan of a run with this selection")
    case, unjudged = _case(recorded, known)
    if not isinstance(case, ClientCase):
        return _unjudged(recorded, unjudged)
    verdict, believed, seen, hidden = verdict_again(case, recorded, known)
    found = _compared(recorded, verdict, believed, known, hidden=hidden)
    return replace(found, seen=seen, hidden=hidden)


def _check_names(recorded: CaseResult, known: Setting) -> None:
    """Raise RecordedError for a cause that blames cases which the suite does not have."""
    found = unsurvived(recorded.cause)
    for name in () if found is None else found.beside:
        if name not in known.cases:
            raise RecordedError("its cause names a case that the suite does not have")


def _half_closes(case: Case | None) -> bool:
    """Return True if the client of the case ends its side of the connection and keeps reading."""
    if not isinstance(case, RequestCase):
        return False
    client: Mapping[str, object] = case.request.get("client", {})
    return client.get("then") == Parting.HALF_CLOSES.value


def is_observed(recorded: CaseResult, known: Setting) -> bool:
    """Return True if a recorded case is about all other exchanges: see `rejudge_observed`."""
    return isinstance(known.cases.get(recorded.id), ObservedCase)


def rejudge_observed(recorded: CaseResult, known: Setting, others: Sequence[Rejudged]) -> Rejudged:
    """Judge a case about all exchanges again; `others` are all cases that have exchanges."""
    try:
        case, unjudged = _case(recorded, known)
    except RecordedError as error:
        return Rejudged(recorded.id, recorded.outcome, recorded.outcome, str(error))
    if not isinstance(case, ObservedCase):
        return _unjudged(recorded, unjudged)
    if recorded.exchanges:
        words = "exchanges are recorded of a case that sends nothing"
        return Rejudged(recorded.id, recorded.outcome, recorded.outcome, words)
    observations = Observations()
    for other in others:
        if other.seen is None:
            return _unjudged(recorded, f"it is also about the exchanges of {other.id}")
        observations.add(other.seen)
    observations.add(known.first.seen())
    skip = skipped(case, known.claims)
    unseen = _UNSEEN.get(case.observed) if skip is None else None
    believed = [] if unseen is None else [unseen]
    verdict = skip or observations.verdict(case)
    hidden = any(other.hidden for other in others)
    return _compared(recorded, verdict, believed, known, hidden=hidden)


def _unjudged(recorded: CaseResult, why: str) -> Rejudged:
    return Rejudged(recorded.id, recorded.outcome, recorded.outcome, unjudged=why)


def _compared(
    recorded: CaseResult,
    verdict: Verdict,
    believed: list[Belief],
    known: Setting,
    *,
    hidden: bool,
) -> Rejudged:
    """Compare a recorded case with `verdict`; `hidden` if masks may hide what was judged."""
    name, outcome = recorded.id, recorded.outcome
    if outcome is Outcome.FLAKY and _passed_at_last(recorded, verdict):
        verdict = msgspec.structs.replace(verdict, outcome=outcome)
        believed = [*believed, Belief.FAILED_BEFORE]
    beliefs = tuple(dict.fromkeys(believed))
    if verdict.outcome != outcome:
        if hidden:
            return Rejudged(name, outcome, outcome, unjudged=_MASKED)
        words = f"the recorded bytes say {verdict.outcome.words}"
        if verdict.message:
            words += f": {verdict.message}"
        return Rejudged(name, outcome, verdict.outcome, words, believed=beliefs)
    if not known.masks and recorded.difference != difference_in(verdict.cause):
        words = "the first difference in its `cause` is not what the recorded bytes show"
        return Rejudged(name, outcome, outcome, words, believed=beliefs)
    masked = hidden or (known.masks and "*" in verdict.message)
    same = masked or _same_cause(recorded, verdict)
    other = None if same else verdict.message or "(no message)"
    if masked or _agrees(recorded, verdict):
        verdict = msgspec.structs.replace(verdict, cause=recorded.cause)
    return Rejudged(name, outcome, outcome, other_cause=other, believed=beliefs, verdict=verdict)


def _differed(case: SentCase, recorded: CaseResult, verdict: Verdict) -> bool:
    """Return True if the bytes are one answer of a model that did not repeat its answers."""
    return (
        isinstance(recorded.cause, AnswersDiffer)
        and recorded.outcome is Outcome.INCONCLUSIVE
        and isinstance(case, RelationCase)
        and recorded.cause.role in case.roles
        and (verdict.outcome.harmless or wrong_output(verdict.cause) is not None)
    )


def _passed_at_last(recorded: CaseResult, verdict: Verdict) -> bool:
    """Return True if the bytes are the pass of a flaky case, which is all that is recorded."""
    return verdict.outcome.harmless and isinstance(
        recorded.cause, FailedAtFirst | FailedBesideOthers
    )


def _same_cause(recorded: CaseResult, verdict: Verdict) -> bool:
    """Return True if the recorded bytes show a report's cause and message.

    How many of several answers were wrong cannot be shown: only one of them is recorded.
    """
    in_words = msgspec.structs.replace(verdict, cause=recorded.cause).message
    return _agrees(recorded, verdict) and recorded.message == in_words


def _agrees(recorded: CaseResult, verdict: Verdict) -> bool:
    """Return True if the recorded bytes show the cause, except for its count (see
    `_same_cause`)."""
    return without_count(recorded.cause) == without_count(verdict.cause)


def _case(recorded: CaseResult, known: Setting) -> tuple[Case | None, str]:
    """Return the case that was recorded, or why this installation cannot tell."""
    planned = None if known.plan is None else known.plan.chosen.get(recorded.id)
    case = planned or known.cases.get(recorded.id)
    if case is None:
        return None, "this installation has no such case"
    facts = msgspec.structs.asdict(case.facts(known.claims.profiles, recorded.cause))
    facts["cite"] = cited_documents(case.cite)
    wrong = [name for name, value in facts.items() if getattr(recorded, name) != value]
    if not wrong:
        return case, ""
    if set(wrong) <= {"why", "cite"} and not known.same_words:
        return case, ""
    if known.same_suite:
        raise RecordedError(f"its {' and '.join(wrong)} in the report are not those of the case")
    return None, f"its {' and '.join(wrong)} differ from those of this installation's case"
