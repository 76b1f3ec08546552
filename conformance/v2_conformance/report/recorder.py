"""Writes what a run finds: the append-only record, and report.json at its end. Secrets of the
target are masked, length by length, before anything is written."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timezone
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import asdict, replace

from v2_conformance.bounded_files import create_new, sole_use, write_all
from v2_conformance.conversations.discovery import Server
from v2_conformance.conversations.steps import Calibrated, Result
from v2_conformance.errors import LeakError, UsageError, unwritable
from v2_conformance.judging.verdict import Verdict
from v2_conformance.protocol.names import DRAWS
from v2_conformance.redaction import WITHHELD, Mask, Masked
from v2_conformance.report.bodies import SHORT, PlacedBody, Streams
from v2_conformance.report.document import (
    CaseResult,
    LongTensor,
    RecordFooter,
    RecordHeader,
    RecordLine,
    Report,
    cited_documents,
)
from v2_conformance.report.files import RECORD, REPORT, Room, as_json_bytes, fold, write_report
from v2_conformance.report.tested import (
    EVERYTHING,
    Calibration,
    ClientInfo,
    Model,
    Relations,
    Selection,
    TargetInfo,
    this_suite,
)
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.cases import Case, ClientCase
from v2_conformance.suite.causes.base import FirstDifference
from v2_conformance.suite.causes.kinds import SuiteError, WrongBytesElement
from v2_conformance.suite.client_lines import ClientResult
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.exchange import Body, Exchange
from v2_conformance.wire.response import Limits

_CASE = "what was recorded of this case"
_LIMITS = Limits()


class Record:
    """The append-only record of one run in `directory`, folded into report.json by `finish`.

    `own` says whether `cases` are the suite's own: a run of others certifies nothing. `selection`
    is what they were chosen by. Files named in `outdated`, of an older run, are removed, so that
    they cannot pass for this one's. `noted` adds to each case what was known of it beforehand.
    `client` is how a client was run, if that is what is tested. `restart_command` says if one can
    restart the server.
    """

    def __init__(
        self,
        directory: Path,
        target: Target,
        server: Server,
        cases: Sequence[Case],
        *,
        own: bool = True,
        selection: Selection = EVERYTHING,
        relations: Relations | None = None,
        outdated: Collection[str] = (),
        noted: Callable[[CaseResult], CaseResult] = lambda case: case,
        client: ClientInfo | None = None,
        restart_command: bool = False,
    ) -> None:
        self.directory = directory
        self.mask = target.mask
        self._noted = noted
        self._profiles = target.profiles
        self._began = time.monotonic()
        self._file = _create(directory, outdated)
        self._streams = Streams()
        self._room = Room(self._streams)
        self._problem: UsageError | None = None
        tested = _tested(target, server, client)
        header = RecordHeader(
            suite=this_suite(),
            target=masked(replace(tested, restart_command=restart_command), target.mask),
            started=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            own=own,
            planned=dict(Counter(case.requirement for case in cases)),
            order=tuple(case.id for case in cases),
            selection=selection,
            discovery=tuple(recorded_exchange(one, target.mask) for one in server.asked),
            relations=relations,
            seed=target.seed,
            draws=DRAWS,
        )
        self._write(RecordLine(header=header))

    def add(self, result: Result) -> None:
        """Append one case, which is on disk when this returns. Raises UsageError."""
        self.add_case(case_result(result, self._profiles, self.mask))

    def add_case(self, case: CaseResult) -> None:
        """Append a case as report.json has it, without bytes if it still shows a secret."""
        case = self._noted(case)
        try:
            for one in case.exchanges:
                self.mask.check(bytes(one.request), _CASE)
                self.mask.check(bytes(one.received), _CASE)
            exchanges = tuple(map(self._room.fitted, case.exchanges))  # cut once they are judged
            self._write(RecordLine(case=replace(case, exchanges=exchanges)))
        except LeakError as error:
            # Nothing from the server is in the case that the suite failed in.
            cause = SuiteError("LeakError", str(error))
            verdict = Verdict(Outcome.ERROR, cause)
            case = replace(case, outcome=verdict.outcome, cause=cause, message=verdict.message)
            self._write(RecordLine(case=replace(case, exchanges=())))

    def calibrated(self, calibrations: Iterable[Calibrated]) -> None:
        """Append the first answers to known-good requests."""
        for one in calibrations:
            exchanges = tuple(recorded_exchange(exchange, self.mask) for exchange in one.exchanges)
            self._write(RecordLine(calibration=Calibration(one.role, one.form, exchanges)))

    def finish(self, *, complete: bool = True) -> Report:
        """Close the record, write report.json and return the report."""
        duration = time.monotonic() - self._began
        self._write(RecordLine(footer=RecordFooter(complete, round(duration, 3))), last=True)
        with self._file, open(self._file.fileno(), "rb", closefd=False) as file:
            file.seek(0)
            report = fold(self.directory / RECORD, file)
        self.directory.mkdir(parents=True, exist_ok=True)  # a client may have removed it
        write_report(self.directory, report)
        return report

    def _placed(self, body: object) -> object:
        if isinstance(body, Body) and not isinstance(body, PlacedBody):
            self.mask.check(bytes(body), RECORD)
        return self._streams.encoded(body)

    def _write(self, line: RecordLine, *, last: bool = False) -> None:
        if self._problem is not None:  # nothing may follow half a line
            raise self._problem
        data = as_json_bytes(line, self._placed)
        self.mask.check(data, RECORD if line.case is None else _CASE)
        added = self._streams.added(last=last)
        if added:
            data = data[:-1] + b',"bodies":' + as_json_bytes(added) + b"}"
        try:
            write_all(self._file.fileno(), data + b"\n")
        except OSError as error:
            words = f"cannot write {self.directory / RECORD}: {error.strerror}"
            self._problem = unwritable(error, words)
            self._file.close()
            raise self._problem from error


def _create(directory: Path, outdated: Collection[str]) -> FileIO:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        file = FileIO(create_new(directory / RECORD), "r+")
        for name in (REPORT, *outdated):
            with contextlib.suppress(FileNotFoundError):
                (directory / name).unlink()
    except OSError as error:
        raise unwritable_folder(directory, error) from error
    return file


def _tested(target: Target, server: Server, client: ClientInfo | None) -> TargetInfo:
    return TargetInfo(
        url=target.public_url,
        host=target.address.host,
        headers=()
        if client is not None
        else tuple(target.mask.field(*item) for item in target.address.headers),
        server=server.info,
        profiles=target.profiles,
        unsupported=tuple(sorted(target.unsupported)),
        models={
            role: Model(**{name: getattr(binding, name) for name in Model.__struct_fields__})
            for role, binding in server.present.items()
        },
        absent=dict(server.absent),
        host_given=target.address.host != urlsplit(target.public_url).netloc,
        masked=bool(target.more_secrets),
        client=client,
    )


def case_result(result: Result, profiles: Sequence[str], mask: Mask) -> CaseResult:
    """One case as report.json has it."""
    facts = result.case.facts(profiles, result.cause)
    reported, long = (
        (None, ()) if result.reported is None else shortened(masked(result.reported, mask))
    )
    exchanges = tuple(
        recorded_exchange(exchange, mask, of_client=isinstance(result.case, ClientCase))
        for exchange in result.exchanges
    )
    cause = result.cause
    if mask.hides_anything:
        pairs = zip(result.exchanges, exchanges, strict=True)
        shows = any(kept.received != one.received for one, kept in pairs)
        cause = masked(_without_bytes(cause) if shows else cause, mask)
    return CaseResult(
        **asdict(facts),
        cite=cited_documents(result.case.cite),
        outcome=result.outcome,
        cause=cause,
        message=mask.text(replace(result.verdict, cause=cause).message),
        duration_ms=round(result.duration_s * 1000, 3),
        exchanges=exchanges,
        reported=reported,
        reported_long=long,
    )


def shortened(reported: ClientResult) -> tuple[ClientResult, tuple[LongTensor, ...]]:
    """Return `reported` without the data of its long tensors, and these: in base64 among the lines
    they would take more room than all the rest of a report."""
    long: list[LongTensor] = []
    lines = list(reported.lines)
    for number, line in enumerate(lines):
        outputs = list(line.outputs or ())
        for place, output in enumerate(outputs):
            if len(output.data) > SHORT:
                long.append(LongTensor(number, place, Body(output.data)))
                outputs[place] = replace(output, data=b"")
        if line.outputs is not None:
            lines[number] = replace(line, outputs=tuple(outputs))
    return replace(reported, lines=tuple(lines)), tuple(long)


def masked(value: Any, mask: Mask) -> Any:
    """Return a value of the report without the target's secrets, of the same type."""
    if isinstance(value, str):
        return mask.text(value)
    if isinstance(value, bytes):  # a tensor that a client gave its user
        return mask.excerpt(value)
    if isinstance(value, dict):
        return {mask.text(key): masked(item, mask) for key, item in value.items()}
    return _with_parts(value, lambda part: masked(part, mask))


def _without_bytes(value: Any) -> Any:
    """Return a cause without the first differing bytes, which may be the middle of a secret."""
    if isinstance(value, FirstDifference | WrongBytesElement):
        return replace(value, got="*" * len(value.got))
    return _with_parts(value, _without_bytes)


def _with_parts(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a tuple or a struct with `change` of each of its parts; anything else as it is."""
    if isinstance(value, tuple):
        return tuple(map(change, value))
    if not isinstance(value, msgspec.Struct):
        return value
    return replace(value, **{name: change(part) for name, part in asdict(value).items()})


def recorded_exchange(exchange: Exchange, mask: Mask, *, of_client: bool = False) -> Exchange:
    """Return an exchange without secrets; `of_client` if a client made its request."""
    request = bytes(exchange.request)
    sent = mask.data(request) if of_client else Masked(mask.sent(request))
    received = mask.data(
        bytes(exchange.received), _LIMITS.response_to(len(request)) * exchange.answers
    )
    withheld = sent.withheld or received.withheld
    return replace(
        exchange,
        note=f"{exchange.note} {WITHHELD}".strip() if withheld else exchange.note,
        request=Body(sent.data),
        received=Body(received.data),
        detail=mask.text(exchange.detail),
    )


def unwritable_folder(directory: Path, error: OSError) -> UsageError:
    """Return the error for a folder that takes no reports, with the way out."""
    return unwritable(
        error,
        f"cannot write reports into {directory}: {error.strerror}; choose another folder with "
        "--report-dir",
    )


def sole_run(directory: Path) -> AbstractContextManager[None]:
    """Lock `directory`, made if need be, if its file system has locks. Raises UsageError."""
    return sole_use(
        directory,
        UsageError(
            f"{directory} is in use: another run is writing its report there; wait for it, or "
            "choose another folder with --report-dir"
        ),
        partial(unwritable_folder, directory),
    )
