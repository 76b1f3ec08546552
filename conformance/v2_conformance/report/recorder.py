"""Writes what a run finds: the append-only record, and report.json at its end.

A run appends to `report.jsonl`: a header line, a line for each case, a footer. At the end the
record is folded into `report.json`. A killed run keeps its record; folding it says that it is
incomplete. Secrets of the target are masked, length by length, before anything is written.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TextIO

import msgspec

from v2_conformance.engine.discovery import Server
from v2_conformance.engine.result import Exchange, Result
from v2_conformance.engine.target import Target
from v2_conformance.errors import UsageError
from v2_conformance.redaction import Mask
from v2_conformance.report.document import (
    REPORT_FORMAT,
    CaseResult,
    Model,
    RecordedExchange,
    RecordFooter,
    RecordHeader,
    RecordLine,
    Report,
    ServerInfo,
    SuiteInfo,
    TargetInfo,
)
from v2_conformance.report.files import RECORD, REPORT, as_json, load_report, write_report
from v2_conformance.suite.cases import Case
from v2_conformance.suite.findings import FirstDifference, WrongBytesElement
from v2_conformance.suite.requirements import digest
from v2_conformance.version import __version__

_HEX = re.compile("((?:[0-9a-f]{2})*)(…?)")
Note = Callable[[CaseResult], CaseResult]


def case_result(result: Result, profiles: Sequence[str], mask: Mask) -> CaseResult:
    """One case as report.json has it."""
    facts = result.case.facts(profiles)
    cause = _masked(result.cause, mask) if mask.hides_anything else result.cause
    return CaseResult(
        id=facts.id,
        requirement=facts.requirement,
        profile=facts.profile,
        level=facts.level,
        basis=facts.basis,
        why=facts.why,
        content=facts.content,
        outcome=result.outcome,
        cause=cause,
        message=mask.text(replace(result.verdict, cause=cause).message),
        duration_ms=round(result.duration_s * 1000, 3),
        exchanges=tuple(_exchange(exchange, mask) for exchange in result.exchanges),
    )


def _masked(value: Any, mask: Mask) -> Any:
    """A cause, or a member of one, without the target's secrets; its type stays the same."""
    if isinstance(value, str):
        return mask.text(value)
    if isinstance(value, tuple):
        return tuple(_masked(item, mask) for item in value)
    if not isinstance(value, msgspec.Struct):
        return value
    members = {name: getattr(value, name) for name in value.__struct_fields__}
    shown = {name: _masked(member, mask) for name, member in members.items()}
    if isinstance(value, FirstDifference | WrongBytesElement):  # these two have bytes as hex
        shown |= {side: _masked_hex(members[side], mask) for side in ("expected", "got")}
    return type(value)(**shown)


def _masked_hex(text: str, mask: Mask) -> str:
    """Bytes as hex, cut off with "…", without secrets, whole ones or the starts of some."""
    shown = _HEX.fullmatch(text)
    if shown is None:  # no bytes, in words
        return mask.text(text)
    data = mask.data(bytes.fromhex(shown[1]))
    start = mask.text(data.decode("latin-1") + "…").removesuffix("…")
    return start.encode("latin-1").hex() + shown[2]


def _exchange(exchange: Exchange, mask: Mask) -> RecordedExchange:
    transcript = exchange.transcript
    first = transcript.first_byte_s
    several = len(transcript.pieces) > 1
    idle = transcript.closed_before_s
    return RecordedExchange(
        purpose=exchange.purpose,
        note=exchange.note,
        request=mask.data(transcript.request),
        response=mask.data(transcript.received),
        ending=transcript.ending,
        detail=mask.text(transcript.detail),
        sent=transcript.sent,
        reused=transcript.reused,
        open=transcript.open,
        first_byte_ms=None if first is None else round(first * 1000, 3),
        duration_ms=round(transcript.duration_s * 1000, 3),
        expected=exchange.expected,
        entry=None if exchange.entry is None else dict(exchange.entry),
        pieces=transcript.pieces if several else (),
        pause_ms=round(transcript.pause_s * 1000, 3) if several else 0.0,
        closed_before_ms=None if idle is None else round(idle * 1000, 3),
        answers=transcript.answers,
    )


def _as_it_is(case: CaseResult) -> CaseResult:
    return case


class Record:
    """The append-only record of one run in `directory`, folded into report.json by `finish`.

    `own` says whether `cases` are the suite's own: a run of others certifies nothing. Files named
    in `outdated`, of an older run, are removed, so that they cannot pass for this one's. `noted`
    adds to each case what was known of it beforehand.
    """

    def __init__(
        self,
        directory: Path,
        target: Target,
        server: Server,
        cases: Sequence[Case],
        *,
        own: bool = True,
        outdated: Collection[str] = (),
        noted: Note = _as_it_is,
    ) -> None:
        self.directory = directory
        self._noted = noted
        self._mask = target.mask
        self._profiles = target.profiles
        self._started = datetime.now(timezone.utc)
        self._file = _create(directory, outdated)
        self._write(RecordLine(header=_header(target, server, cases, self._started, own=own)))

    def add(self, result: Result) -> None:
        """Append one case; it is on disk when this returns."""
        self.add_case(case_result(result, self._profiles, self._mask))

    def add_case(self, case: CaseResult) -> None:
        """Append one case that is in report.json's form already."""
        self._write(RecordLine(case=self._noted(case)))

    def finish(self, *, complete: bool = True) -> Report:
        """Close the record, write report.json and return the report."""
        duration = (datetime.now(timezone.utc) - self._started).total_seconds()
        self._write(RecordLine(footer=RecordFooter(complete, round(duration, 3))))
        self._file.close()
        report = load_report(self.directory / RECORD)
        write_report(self.directory, report)
        return report

    def _write(self, line: RecordLine) -> None:
        self._file.write(as_json(line) + "\n")
        self._file.flush()


def _create(directory: Path, outdated: Collection[str]) -> TextIO:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        file = (directory / RECORD).open("w", encoding="utf-8")
        for name in (REPORT, *outdated):
            with contextlib.suppress(FileNotFoundError):
                (directory / name).unlink()
    except OSError as error:
        raise UsageError(
            f"cannot write reports into {directory}: {error.strerror}; choose another folder with "
            "--report-dir"
        ) from error
    return file


def _header(
    target: Target, server: Server, cases: Sequence[Case], started: datetime, *, own: bool
) -> RecordHeader:
    tested = TargetInfo(
        url=target.public_url,
        host=target.address.host,
        headers=tuple(target.mask.field(*item) for item in target.address.headers),
        server=ServerInfo(server.name, server.version, server.extensions),
        profiles=target.profiles,
        unsupported=tuple(sorted(target.unsupported)),
        models={
            role: Model(binding.model, binding.inputs, binding.outputs, binding.version)
            for role, binding in server.present.items()
        },
        absent=dict(server.absent),
    )
    return RecordHeader(
        suite=SuiteInfo("v2-conformance", __version__, digest(), REPORT_FORMAT),
        target=msgspec.convert(target.mask.document(msgspec.to_builtins(tested)), TargetInfo),
        started=started.isoformat(timespec="seconds"),
        own=own,
        planned=dict(Counter(case.requirement for case in cases)),
        order=tuple(case.id for case in cases),
    )
