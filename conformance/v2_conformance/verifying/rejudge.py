"""One case of a report, judged again from its recorded bytes. No server, no network, no files.

What bytes cannot show, such as that nothing more came before a time-out, has to be believed; each
such thing is named, so that a reader knows how far the second judgement goes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from v2_conformance.errors import CaseFileError, ReportFileError
from v2_conformance.judging.judge import ERROR, FAIL, NOT_RUN, PASS, Verdict, judge
from v2_conformance.judging.survival import (
    FLOODED,
    FRESH,
    JSON,
    NO_ROLES,
    REPEATED,
    SAME,
    Claims,
    canary_problem,
    culprit_in,
    is_unsent,
    known_good,
    needs_canary,
    orphaned,
    skipped,
    survived,
    without_count,
)
from v2_conformance.redaction import Mask
from v2_conformance.suite.cases import Case, make_case
from v2_conformance.suite.models import contract
from v2_conformance.verifying.recorded import (
    Recorded,
    RecordedError,
    first_difference,
    hides,
    recorded,
)
from v2_conformance.wire.encode import Address, Binding, Prepared, prepare
from v2_conformance.wire.http1 import CLOSED, REFUSED, TIMEOUT

# What had to be believed, in words that follow a number of cases.
ABSENT = "that discovery found their model absent"
DEAD = "that what another case killed stayed dead"
SILENT = "that their model answered no known-good request, which left them unsent"
UNASKED = "that the server had sent so much more than asked for that they were left unsent"
SUITE = "that the suite itself failed"
NO_CONNECTION = "that there was no connection"
NO_MORE = "that nothing more came before the time-out"
CUT_OFF = "that the server ended the connection, not somebody else"
OTHERS = "the answers of which only one in a number is recorded"
KEPT = "that the server had closed the kept connection, so that no canary could use it"
GENERATED = "that the generated requests are those that every run generates"
AS_AT_FIRST = "that the server answered known-good requests no better at first"

_MASKED = "what the report masks may be what was judged"

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Setting:
    """What a report says of its run as a whole, and the cases of this installation by id."""

    address: Address
    claims: Claims
    mask: Mask
    same_suite: bool
    records: Mapping[str, Record]
    cases: Mapping[str, Case]


@dataclass(frozen=True)
class Rejudged:
    """What a case's recorded bytes amount to.

    `outcome` is the one that they show, the recorded one where none could be found again: then
    `unjudged` says why. `problem` says why the record does not hold, "" where it does.
    `other_words` is the message found again where it is another one under the same outcome.
    """

    id: str
    recorded: str
    outcome: str
    problem: str = ""
    unjudged: str = ""
    other_words: str = ""
    believed: tuple[str, ...] = ()


class _Broken(Exception):
    """The record is not what a run can have left of this case."""


def setting(report: Mapping[str, Any], cases: Sequence[Case], *, same_suite: bool) -> Setting:
    """The setting of a whole report. Raises ReportFileError where it lacks what judging needs."""
    target = report["target"]
    try:
        path = urlsplit(target["url"]).path
        headers = tuple((name, value) for name, value in target["headers"])
        models = target["models"]
        address = Address(target["host"], path.rstrip("/"), headers)
    except (KeyError, ValueError) as error:
        raise ReportFileError(
            f"the report cannot be judged again: its target lacks what every request has ({error})"
        ) from error
    bindings = {
        role: Binding(role, entry["model"], tuple(entry["inputs"]), tuple(entry["outputs"]))
        for role, entry in models.items()
        if _plays(role, entry)
    }
    claims = Claims(
        target["profiles"],
        frozenset(target.get("unsupported", ())),
        bindings,
        target.get("absent", {}),
    )
    hidden = tuple(name for name, value in headers if value and not value.strip("*"))
    return Setting(
        address,
        claims,
        Mask(fields=hidden),
        same_suite,
        {record["id"]: record for record in report["cases"]},
        {case.id: case for case in cases},
    )


def _plays(role: str, entry: Mapping[str, Any]) -> bool:
    model = contract().get(role)
    return model is not None and (len(entry["inputs"]), len(entry["outputs"])) == (
        len(model.inputs),
        len(model.outputs),
    )


def rejudge(record: Record, known: Setting) -> Rejudged:
    """Judge one case of a report again. Never raises for what a report says."""
    try:
        exchanges = [recorded(entry) for entry in record["exchanges"]]
        case, unjudged = _case(record, known)
        if case is None:
            outcome = record["outcome"]
            return Rejudged(record["id"], outcome, outcome, unjudged=unjudged)
        verdict, believed = _verdict(case, record, exchanges, known)
    except (_Broken, RecordedError) as error:
        return Rejudged(record["id"], record["outcome"], record["outcome"], str(error))
    return _compared(record, exchanges, verdict, believed, known)


def _compared(
    record: Record,
    exchanges: Sequence[Recorded],
    verdict: Verdict,
    believed: list[str],
    known: Setting,
) -> Rejudged:
    name, outcome = record["id"], record["outcome"]
    beliefs = tuple(dict.fromkeys(believed))
    hidden = any(hides(exchange.transcript, known.mask) for exchange in exchanges)
    if verdict.outcome != outcome:
        if hidden:
            return Rejudged(name, outcome, outcome, unjudged=_MASKED)
        words = f"the recorded bytes say {verdict.outcome}"
        if verdict.message:
            words += f": {verdict.message}"
        return Rejudged(name, outcome, verdict.outcome, words, believed=beliefs)
    shown = None if verdict.difference is None else asdict(verdict.difference)
    if not known.mask.fields and record.get("difference") != shown:
        words = "its `difference` is not what the recorded bytes show"
        return Rejudged(name, outcome, outcome, words, believed=beliefs)
    masked = hidden or (known.mask.fields and "*" in verdict.message)
    same = without_count(record["message"]) == verdict.message
    other = "" if same or masked else verdict.message or "(no message)"
    return Rejudged(name, outcome, outcome, other_words=other, believed=beliefs)


def _case(record: Record, known: Setting) -> tuple[Case | None, str]:
    """The case that `record` is of, or why this installation cannot say what it is."""
    case = known.cases.get(record["id"])
    if case is None:
        return None, "this installation has no such case"
    facts = case.facts(known.claims.profiles)
    wrong = [name for name, value in facts.items() if record.get(name) != value]
    if not wrong:
        return case, ""
    if known.same_suite:
        raise _Broken(f"its {' and '.join(wrong)} in the report are not those of the case")
    if wrong == ["why"]:
        return case, ""
    return None, f"its {' and '.join(wrong)} differ from those of this installation's case"


def _verdict(
    case: Case, record: Record, exchanges: Sequence[Recorded], known: Setting
) -> tuple[Verdict, list[str]]:
    """The verdict that the exchanges amount to, and what had to be believed for it."""
    if any(exchange.entry is not None for exchange in exchanges):
        return _of_generated(case, record, exchanges, known)
    as_recorded = Verdict(record["outcome"], record["message"])
    skip = skipped(case, known.claims)
    if not exchanges:
        if skip is not None:
            return skip, [ABSENT] if skip.outcome == NOT_RUN else []
        if as_recorded == NO_ROLES:
            return as_recorded, [ABSENT]
        if as_recorded.outcome == NOT_RUN:
            return _orphaned(case, record, known), [DEAD]
        if as_recorded.outcome == ERROR:
            return as_recorded, [SUITE]
        if as_recorded == FLOODED:
            return as_recorded, [UNASKED]
        if is_unsent(as_recorded.outcome, as_recorded.message) and not case.get:
            return as_recorded, [SILENT]
        raise _Broken("no exchange is recorded")
    if skip is not None:
        raise _Broken(f"exchanges are recorded of a case that is not sent: {skip.message}")
    own = exchanges[0]
    verdict, believed = _own_verdict(case, own, known)
    if not own.transcript.sent and case.together == 1:
        if len(exchanges) > 1:
            raise _Broken("canaries are recorded after a request that was never sent")
        return verdict, believed
    if not needs_canary(case, verdict.outcome):
        if len(exchanges) > 1:
            raise _Broken("canaries are recorded where none are sent")
        return verdict, believed
    try:
        same, fresh, more = _canaries(case, own, exchanges[1:], known)
    except _Broken:
        if verdict.outcome == FAIL != as_recorded.outcome:
            return verdict, believed  # no canary could make it better
        raise
    return survived(verdict, same, fresh), believed + more


def _of_generated(
    case: Case, record: Record, exchanges: Sequence[Recorded], known: Setting
) -> tuple[Verdict, list[str]]:
    """The verdict on generated requests: each is a case of its own, made of its recorded entry."""
    if case.model or case.get:
        raise _Broken("a generated request is recorded of a case that is in the suite's files")
    believed = [GENERATED]
    groups: list[list[Recorded]] = []
    for exchange in exchanges:
        if exchange.note in ("", REPEATED) or not groups:
            groups.append([])
        groups[-1].append(exchange)
    for group in groups:
        try:
            made = make_case(group[0].entry or {})
        except (CaseFileError, KeyError, TypeError, ValueError) as error:
            raise _Broken(f"the entry of a generated request is not one: {error!a:.200}") from error
        if made.id != case.id or made.level != case.level or made.outcome != "success":
            raise _Broken("the entry of a generated request is not one of this case")
        own = [replace(exchange, entry=None) for exchange in group]
        verdict, more = _verdict(made, {**record, "message": ""}, own, known)
        believed += more
        if verdict.outcome != PASS:
            said = record["message"]
            tail = said[len(verdict.message) :] if said.startswith(verdict.message) else ""
            return replace(verdict, message=verdict.message + tail), believed
    if not record["message"].startswith(f"{len(groups)} generated requests ("):
        raise _Broken(
            f"{len(groups)} generated requests are recorded, its message has another number"
        )
    return Verdict(PASS, record["message"]), believed


def _orphaned(case: Case, record: Record, known: Setting) -> Verdict:
    """The verdict on a case that needs what another one killed, as far as that one shows it."""
    culprit = culprit_in(record["message"])
    killer = known.records.get(culprit or "")
    if culprit is None or killer is None:
        raise _Broken("its message names no case of the report that killed what it needs")
    last = killer["exchanges"][-1] if killer["exchanges"] else {}
    named = known.cases.get(culprit)
    if named is None or last.get("note") != FRESH or killer["outcome"] == PASS:
        raise _Broken(f"{culprit}, which it blames, is not recorded as having killed anything")
    if not _problem(named, recorded(last), known, json=False):
        raise _Broken(f"after {culprit}, which it blames, a known-good request was answered well")
    if not case.model and not case.get:  # generated requests, of which the first unsent one counts
        return Verdict(NOT_RUN, record["message"])
    return orphaned(case, culprit)


def _own_verdict(case: Case, own: Recorded, known: Setting) -> tuple[Verdict, list[str]]:
    """The verdict on the case's own exchange alone."""
    binding = known.claims.present.get(case.model)
    transcript = own.transcript
    variants = range(case.together)
    try:
        candidates = [prepare(case, known.address, binding, variant=n) for n in variants]
    except (CaseFileError, ValueError) as error:
        raise _Broken(f"its request cannot be made again: {error}") from error
    prepared = _matching(candidates, own, known, "the request")
    believed = _beliefs(own)
    if case.together > 1:
        believed.append(OTHERS)
    elif own.note not in ("", REPEATED):
        raise _Broken("its first exchange is not marked as its own")
    return judge(case, prepared, transcript), believed


def _matching(
    candidates: Sequence[Prepared], came: Recorded, known: Setting, what: str
) -> Prepared:
    """The request that `came` records, of those that it can be."""
    sent = bytes(came.transcript.request)
    differences = []
    for prepared in candidates:
        wanted = b"".join(prepared.pieces)
        at = first_difference(sent, wanted, known.mask)
        if at is None:
            return prepared
        differences.append((at, len(wanted)))
    at, length = max(differences)
    raise _Broken(
        f"{what} is not what the suite sends: of {len(sent)} bytes, wanted {length}, the first "
        f"that differs is byte {at}"
    )


def _canaries(
    case: Case, own: Recorded, canaries: Sequence[Recorded], known: Setting
) -> tuple[str, str, list[str]]:
    """What was wrong with each canary, "" for nothing, and what had to be believed."""
    notes = [canary.note for canary in canaries]
    if notes not in ([FRESH], [SAME, FRESH]):
        raise _Broken(f"{SAME} (where it is open) and {FRESH} wanted, recorded are: {notes!a}")
    believed = [kind for canary in canaries for kind in _beliefs(canary)]
    if any(canary.wanted for canary in canaries):
        believed.append(AS_AT_FIRST)
    same = ""
    if notes[0] == SAME:
        if not own.transcript.open and case.together == 1:
            raise _Broken(f"{SAME}, which was closed")
        same = _problem(case, canaries[0], known, json=case.canary == JSON)
    elif own.transcript.open and case.together == 1:
        believed.append(KEPT)
    return same, _problem(case, canaries[-1], known, json=False), believed


def _problem(case: Case, canary: Recorded, known: Setting, *, json: bool) -> str:
    """What is wrong with a canary's answer, "" where nothing is."""
    binding = known.claims.present.get(case.model)
    if binding is None:
        raise _Broken(f"a canary is recorded for {case.model or 'no model'}, which is not there")
    try:
        forms = known_good(case.model, known.address, binding, json=json)
    except (CaseFileError, ValueError) as error:
        raise _Broken(f"its canary cannot be made again: {error}") from error
    prepared = _matching(forms, canary, known, "a canary's request")
    return canary_problem(prepared, canary.wanted, canary.transcript)


def _beliefs(exchange: Recorded) -> list[str]:
    ending = exchange.transcript.ending
    known = {TIMEOUT: NO_MORE, REFUSED: NO_CONNECTION, CLOSED: CUT_OFF}
    return [known[ending]] if ending in known else []
