"""Merges the reports of all shards of a run into one.

Each part is judged again first, so that the merged report has nothing that its bytes do not show.
Cases about all exchanges, which no shard can judge, are judged here from those bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from v2_conformance.errors import ReportFileError
from v2_conformance.judging.observed.exchanges import Observations
from v2_conformance.judging.survival import skipped
from v2_conformance.judging.verdict import Verdict
from v2_conformance.redaction import Mask
from v2_conformance.report.digest import sealed
from v2_conformance.report.document import CaseResult, MergedShard, Report
from v2_conformance.report.evidence import Calibration
from v2_conformance.report.recording.recorder import Note
from v2_conformance.report.recording.results import case_result
from v2_conformance.report.tested import Shard, this_suite
from v2_conformance.report.verdict.summary import concluded
from v2_conformance.runs.result import Result
from v2_conformance.suite.cases import Case, ObservedCase
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.causes.circumstances import SuiteError
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.verifying.plan import named, plan_again
from v2_conformance.verifying.setting import setting
from v2_conformance.verifying.verification import Verification, verify

_TIMES = ("first_byte_ms", "duration_ms", "closed_before_ms")


def merge(paths: Sequence[Path], cases: Sequence[Case], noted: Note = lambda case: case) -> Report:
    """Return the report that one run of all cases would have written, except for times, and for
    cases that a shard sent although a whole run of a server without the extension stops; sealed.

    `paths` are the reports of the shards in any order, `cases` all of this installation. `noted`
    adds to each case what was known of it beforehand. The report's `shards` name its parts. Raises
    ReportFileError, which names the file, for a report that is not a shard's, was edited or does
    not hold, for shards that are missing, duplicated or from different runs, and for another suite.
    """
    cases = [case for case in cases if not case.of_clients]  # runs of clients have no shards
    parts = [_part(path, cases) for path in paths]
    _check_alike(parts)
    parts.sort(key=lambda part: _shard(part).number)
    first = parts[0].report
    asked = msgspec.structs.replace(first.selection, shard=None)
    chosen = plan_again(msgspec.structs.replace(first, selection=asked), cases).chosen
    sent = [noted(case) for part in parts for case in part.report.cases]
    whole = msgspec.structs.replace(
        first,
        selection=asked,
        started=min(part.report.started for part in parts),
        duration_s=round(sum(part.report.duration_s for part in parts), 3),
        cases=tuple(sent),
        calibration=_unlike(part.report.calibration for part in parts),
        shards=tuple(map(_origin, parts)),
    )
    observed = [noted(found) for found in _observed(whole, parts, cases, chosen.values())]
    place = {name: number for number, name in enumerate(chosen)}
    ordered = sorted((*sent, *observed), key=lambda case: place[case.id])
    return sealed(concluded(msgspec.structs.replace(whole, cases=tuple(ordered))))


def _part(path: Path, cases: Sequence[Case]) -> Verification:
    """Return the report of a shard, judged again. Raises ReportFileError if it cannot be part of a
    run.
    """
    found = verify(path, cases)
    suite, shard = found.report.suite, found.report.selection.shard
    if found.unsealed:
        raise ReportFileError(f"{path} is the record of a run: name its report.json")
    if found.foreign or found.other_build:
        raise ReportFileError(
            f"{path} was made by v2-conformance {printable(suite.in_words, 80)}, and this is "
            f"{this_suite().in_words}: merge with the version that ran the shards"
        )
    if found.edits:
        raise ReportFileError(f"{path} does not hold: {found.edits[0]}")
    wrong = next((case for case in found.cases if case.problem is not None), None)
    if wrong is not None:
        name = printable(wrong.id, 80)
        raise ReportFileError(f"{path} does not hold: {name}: {wrong.problem}")
    if shard is None:
        raise ReportFileError(f"{path} is not the report of a shard: no --shard made it")
    if not found.report.complete:
        raise ReportFileError(f"{path} is incomplete: run shard {shard.number}/{shard.of} again")
    lost = set(plan_again(found.report, cases).chosen) - {case.id for case in found.report.cases}
    if lost:
        raise ReportFileError(f"{path} lacks cases of its shard: {named(sorted(lost))}")
    return found


def _shard(part: Verification) -> Shard:
    shard = part.report.selection.shard
    assert shard is not None, "see _part"
    return shard


def _check_alike(parts: Sequence[Verification]) -> None:
    """Raise ReportFileError unless these are all shards of one run, each once."""
    first = parts[0]
    for part in parts[1:]:
        for what in _differences(first.report, part.report):
            raise ReportFileError(f"{first.path} and {part.path} are not shards of one run: {what}")
    count = _shard(first).of
    by_number: dict[int, Verification] = {}
    for part in parts:
        number = _shard(part).number
        other = by_number.setdefault(number, part)
        if other is not part:
            raise ReportFileError(
                f"{other.path} and {part.path} are both shard {number} of {count}"
            )
    missing = [str(number) for number in range(1, count + 1) if number not in by_number]
    if missing:
        some = named(missing)
        raise ReportFileError(
            f"shard {some} of {count} is missing"
            if len(missing) == 1
            else f"shards {some} of {count} are missing"
        )


def _differences(one: Report, other: Report) -> Iterator[str]:
    """Yield, in words, how two reports differ in what all shards of a run share."""
    a, b = one.selection, other.selection
    if a.shard is not None and b.shard is not None and a.shard.of != b.shard.of:
        yield f"they count {a.shard.of} and {b.shard.of} shards"
    if msgspec.structs.replace(a, shard=None) != msgspec.structs.replace(b, shard=None):
        yield "they were asked for different cases (--case, --large)"
    if one.seed != other.seed:
        yield (
            f"their seeds are {one.seed} and {other.seed}: run all shards with the same --seed N"
        )
    if one.draws != other.draws:
        yield (
            f"edition {one.draws} and edition {other.draws} drew their values: run all shards with "
            "the same version of v2-conformance"
        )
    names = {
        "url": "the URL of the target",
        "host": "the Host",
        "headers": "the header fields of every request",
        "server": "the name, version or extensions of the server",
        "profiles": "the profiles",
        "unsupported": "what they declare unsupported",
        "models": "the list of models",
        "absent": "the list of absent models",
        "host_given": "the Host",
        "binding": "the binding",
        "masked": "whether secrets are masked",
    }
    for name in one.target.__struct_fields__:
        if getattr(one.target, name) != getattr(other.target, name):
            yield f"they differ in {names.get(name, name)}"


def _unlike(found: Iterable[Sequence[Calibration]]) -> tuple[Calibration, ...]:
    """Return every calibration, but only the first of those that differ only in times."""
    unlike: dict[bytes, Calibration] = {}
    for calibrations in found:
        for one in calibrations:
            timeless = msgspec.to_builtins(one)
            for exchange in timeless["exchanges"]:
                for name in _TIMES:
                    exchange.pop(name, None)
            unlike.setdefault(msgspec.json.encode(timeless), one)
    return tuple(unlike.values())


def _origin(part: Verification) -> MergedShard:
    report = part.report
    return MergedShard(_shard(part).number, report.started, report.duration_s, part.digest)


def _observed(
    whole: Report, parts: Sequence[Verification], cases: Sequence[Case], chosen: Iterable[Case]
) -> Iterator[CaseResult]:
    """Return the results of the `chosen` cases that are about all other exchanges."""
    observations = Observations()
    unread = None
    for part in parts:
        for again in part.cases:
            observations.add(again.seen or ())
            if again.seen is None:
                unread = unread or again.id
    known = setting(whole, cases, same_suite=True)
    observations.add(known.first.seen())
    for case in chosen:
        if not isinstance(case, ObservedCase):
            continue
        verdict = skipped(case, known.claims)
        if verdict is None and unread is not None:
            # Only a run still has the bytes that do not fit into its report.
            cause = SuiteError("OmittedError", f"the report has not all bytes of {unread}")
            verdict = Verdict(Outcome.ERROR, cause)
        verdict = verdict or observations.verdict(case)
        yield case_result(Result(case, verdict), whole.target.profiles, Mask())
