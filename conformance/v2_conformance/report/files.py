"""Reads and writes report.json and a run's record, whole or not at all.

The digest of a report shows whether something in it was changed afterwards. It is not a
signature: whoever changes a report on purpose can compute it again.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from v2_conformance.bounded_files import read_bounded, write_whole
from v2_conformance.errors import ReportFileError, ReportFormatError, unwritable
from v2_conformance.report.bodies import SHORT, Streams, streams_of
from v2_conformance.report.document import (
    NO_VERDICT,
    CaseResult,
    Integrity,
    RecordFooter,
    RecordHeader,
    RecordLine,
    Report,
    with_client_name,
)
from v2_conformance.report.tested import REPORT_FORMAT, Calibration
from v2_conformance.report.verdict.summary import concluded
from v2_conformance.suite.causes.base import printable
from v2_conformance.wire.exchange import Body, Exchange

RECORD = "report.jsonl"
REPORT = "report.json"
PACKED_REPORT = f"{REPORT}.gz"
_GZIP = b"\x1f\x8b"
# An ordinary report takes a hundredth of this. A packed one may be a bomb.
_LONGEST = 512 << 20
_ALWAYS_UNPACKED = 16 << 20
# Messages that repeat shrink to less than a hundredth. What is left of a long report, such as one
# with --large, is mostly packed already: gzip makes it four times shorter.
_MOST_TIMES_PACKED = 8
# An ordinary report has an eighth of these bytes besides its messages, a tenth of these values.
_MOST_WORDS = 16 << 20
_MOST_VALUES = 1_000_000
_MESSAGE = re.compile(rb'"[A-Za-z0-9+/=]{64,}"')
_HEADER = b'{"header":'  # start of a record
# Deeper than any generated request, and far from the interpreter's recursion limit.
_DEEPEST = 64
_LONG = ("cases", "bodies")


@dataclass(frozen=True)
class ReportFile:
    """A report, and whether it was read from the record of a run, not from a report.json."""

    report: Report
    is_record: bool
    _data: bytes

    @cached_property
    def digest(self) -> str:
        """The digest computed from its content; "" for a record. Raises ReportFileError for a JSON
        object with a duplicate member, of which JSON readers use different ones."""
        if self.is_record:
            return ""
        return document_digest(json.loads(self._data, object_pairs_hook=_without_duplicates))

    @property
    def is_intact(self) -> bool:
        """True if the stated digest is that of the content; always for a record, which has none."""
        stated = self.report.integrity
        return self.is_record or (stated is not None and stated.digest == self.digest)


def load_report(path: Path | str) -> Report:
    """Read a report.json, or the record of a run (report.jsonl), finished or not.

    Raises ReportFileError, a ConformanceError, for whatever is neither.
    """
    return read_report(Path(path)).report


def read_report(path: Path) -> ReportFile:
    """Read a report.json, packed or not, or the record of a run, folded. Raises ReportFileError."""
    data = read_bounded(path, _LONGEST, ReportFileError)
    if data.startswith(_GZIP):
        data = _unpacked(path, data)
    words = len(data) - sum(one.end() - one.start() for one in _MESSAGE.finditer(data))
    if words > _MOST_WORDS or data.count(b",") > _MOST_VALUES:
        raise ReportFileError(f"{path} has far more in it than any run writes")
    is_record = data.startswith(_HEADER)
    report = fold(path, io.BytesIO(data)) if is_record else _whole(path, data)
    for case in report.cases:
        if not all(_is_shallow(exchange.entry, _DEEPEST) for exchange in case.exchanges):
            name = printable(case.id, 80)
            raise ReportFileError(f"{path} is not a report: {name} is nested too deeply")
    return ReportFile(report, is_record, data)


def packed_bytes(path: Path) -> bytes:
    """Return a file packed with gzip, in equal bytes for equal reports. Raises ReportFileError."""
    data = read_bounded(path, _LONGEST, ReportFileError)
    return data if data.startswith(_GZIP) else gzip.compress(data, mtime=0)


def _unpacked(path: Path, data: bytes) -> bytes:
    most = max(_ALWAYS_UNPACKED, min(_LONGEST, _MOST_TIMES_PACKED * len(data)))
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        unpacked = unpacker.decompress(data, most)
    except zlib.error as error:
        raise ReportFileError(f"{path} is not a gzip file: {error}") from error
    if unpacker.unconsumed_tail:
        raise ReportFileError(f"{path} has more than {most >> 20} MiB in it; unpack it to read it")
    if not unpacker.eof:
        raise ReportFileError(f"{path} was cut off")
    if unpacker.unused_data:  # other programs may read that part, and so another report
        raise ReportFileError(f"{path} has more than one gzip stream, or something after it")
    return unpacked


def write_report(directory: Path, report: Report) -> Path:
    """Write report.json into `directory` and return its path. Raises UsageError."""
    path = directory / REPORT
    write_atomically(path, chain(pieces(report), "\n"))
    return path


def sealed(report: Report) -> Report:
    """Return `report` with the digest of its report.json."""
    digest = hashlib.sha256()
    for piece in pieces(replace(report, integrity=None), sort=True):
        digest.update(piece.encode())
    return replace(report, integrity=Integrity("sha256", digest.hexdigest()))


def pieces(report: Report, *, sort: bool = False) -> Iterator[str]:
    """Yield the canonical JSON of a report in pieces, since a whole run is too long to be held as
    one text. Without `sort` its own members are in the order in which people read them."""
    streams = streams_of(report)
    document = msgspec.to_builtins(replace(report, cases=(), bodies=()), enc_hook=streams.encoded)
    long = {"cases": report.cases, "bodies": streams.packed}
    document |= {name: items for name, items in long.items() if items}
    between = "{"
    for name in sorted(document) if sort else document:
        yield f'{between}"{name}":'
        if name in _LONG:
            between = "["
            for item in document[name]:
                yield between + _canonical(msgspec.to_builtins(item, enc_hook=streams.encoded))
                between = ","
            yield "]" if document[name] else "[]"
        else:
            yield _canonical(document[name])
        between = ","
    yield "}"


def document_digest(document: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the JSON of all but the digest: sorted keys, no white space, ASCII."""
    rest = {key: value for key, value in document.items() if key != "integrity"}
    return hashlib.sha256(_canonical(rest).encode()).hexdigest()


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def as_json_bytes(value: Any, hook: Callable[[object], object] | None = None) -> bytes:
    """Return a part of a report as ASCII JSON that can be read back; `hook` encodes its messages.
    Half of a surrogate pair, which UTF-8 cannot have, becomes the text of its escape."""
    try:
        data = msgspec.json.encode(value, enc_hook=hook)
    except UnicodeEncodeError:
        data = b""
    # This is nearly always enough: a run writes each case, and walking all of it takes time.
    if data and data.isascii():
        return data
    document = _readable(msgspec.to_builtins(value, enc_hook=hook))
    return json.dumps(document, separators=(",", ":")).encode()


def _readable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_readable(key): _readable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_readable(item) for item in value]
    return value


def write_atomically(path: Path, content: str | bytes | Iterable[str]) -> None:
    """Write a whole file, text as UTF-8, or leave the old one. Raises UsageError. A link in its
    place, or in that of the file beside it that is written first, is not followed."""
    pieces = [content] if isinstance(content, str | bytes) else content
    try:
        write_whole(path, (p.encode() if isinstance(p, str) else p for p in pieces))
    except OSError as error:
        raise unwritable(error, f"cannot write {path}: {error.strerror}") from error


class _AnySuite(msgspec.Struct):
    """The part of a report of any version, or of its record, that describes its suite."""

    version: str
    report: int = 1


class _AnyReport(msgspec.Struct):
    suite: _AnySuite | None = None
    header: _AnyReport | None = None


def _whole(path: Path, data: bytes) -> Report:
    try:
        _check_format(path, data)
        streams = Streams()
        report = msgspec.json.decode(data, type=Report, dec_hook=streams.body)
        streams.add(tuple(enumerate(report.bodies)))
        report = replace(report, bodies=())
    except msgspec.ValidationError as error:
        raise ReportFileError(f"{path} is not a report: {printable(str(error), 200)}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        other = path.with_name(RECORD if data[:1] == b"{" else REPORT)
        hint = f"; try {other}" if other != path and other.is_file() else ""
        raise ReportFileError(
            f"{path} is not JSON or was cut off ({printable(str(error), 200)}){hint}"
        ) from error
    streams.check(UNPACKED + OTHERS)
    return report


def _check_format(path: Path, data: bytes) -> None:
    result = msgspec.json.decode(data, type=_AnyReport)
    suite = (result.header or result).suite
    if suite is not None and suite.report != REPORT_FORMAT:
        kind = ReportFormatError if suite.report < REPORT_FORMAT else ReportFileError
        raise kind(
            f"{path} has report format {suite.report}, but this version reads format "
            f"{REPORT_FORMAT}: v2-conformance {printable(suite.version, 40)} can read it"
        )


def _is_shallow(value: object, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return True
    inner = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(_is_shallow(item, levels - 1) for item in inner)


def _without_duplicates(members: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(members)
    if len(document) < len(members):
        name = next(name for n, (name, _) in enumerate(members) if name in dict(members[:n]))
        raise ReportFileError(f"the report has a member twice: {printable(name, 80)}")
    return document


def fold(path: Path, lines: Iterable[bytes]) -> Report:
    """Return the report that the lines of a record make. Raises ReportFileError."""
    header: RecordHeader | None = None
    footer: RecordFooter | None = None
    cases: dict[str, CaseResult] = {}  # the last run of a case counts
    calibration: list[Calibration] = []
    streams = Streams()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            if number == 1:
                _check_format(path, line)
            entry = msgspec.json.decode(line, type=RecordLine, dec_hook=streams.body)
            streams.add(entry.bodies)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            if not line.endswith(b"\n"):  # the run was killed while it wrote this line
                break
            raise ReportFileError(
                f"{path}:{number}: not a line of a record: {printable(str(error), 200)}"
            ) from error
        header, footer = entry.header or header, entry.footer or footer
        if entry.case is not None:
            cases[entry.case.id] = entry.case
        if entry.calibration is not None:
            calibration.append(entry.calibration)
    if header is None:
        raise ReportFileError(f"{path}: the run was stopped before its record had begun")
    streams.check(UNPACKED + OTHERS)
    if footer is None:
        streams.end_read()
    place = {case_id: number for number, case_id in enumerate(header.order)}
    ordered = tuple(sorted(cases.values(), key=lambda case: place.get(case.id, len(place))))
    took = sum(case.duration_ms for case in ordered) / 1000
    begun = asdict(header)
    del begun["order"]
    report = Report(
        **begun | {"target": with_client_name(header.target, ordered)},
        duration_s=footer.duration_s if footer else took,
        complete=footer is not None and footer.complete,
        verdict=NO_VERDICT,
        requirements=(),
        cases=ordered,
        calibration=tuple(calibration),
    )
    return sealed(concluded(report))


UNPACKED = 2048 << 20
"""Bytes of the long messages of all cases. A run with --large has half of it."""
OTHERS = 2048 << 20
"""Bytes of all other messages: a run asks for a fraction of it."""
PACKED = 256 << 20
"""Bytes that the long messages of all cases may take in the report, before base64."""
ANSWERS = 24 << 20
"""Bytes that all responses may take in the report, before base64, besides as many as the long
requests have that they answer. An honest server needs a quarter of it."""
_START = 512  # what is kept of a message that does not fit


class Room:
    """The room that is left in the `streams` of a report that is being written."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self._unpacked, self._packed, self._answers = UNPACKED, PACKED, ANSWERS

    def fitted(self, exchange: Exchange) -> Exchange:
        """Return an exchange, cut if the report has no room for all of it."""
        request, _ = self._fitted(exchange.request, self._packed)
        if len(request) > SHORT:  # tensors of the suite, to which each answer may have as many
            self._answers += len(request)
        received, taken = self._fitted(exchange.received, min(self._packed, self._answers))
        if _START < len(received) <= SHORT:
            if len(received) > self._answers:
                received = self._streams.cut(bytes(received), _START)
            taken = len(received)
        self._answers = max(0, self._answers - taken)
        return replace(exchange, request=request, received=received)

    def _fitted(self, body: Body, most: int) -> tuple[Body, int]:
        """Return a message, and how many bytes it takes packed, at most `most`."""
        data, before = bytes(body), self._streams.packed_long
        if len(data) <= SHORT:
            return body, 0
        placed = self._streams.place(data, most=most) if len(data) <= self._unpacked else None
        if placed is None:
            return self._streams.cut(data, _START), 0
        taken = self._streams.packed_long - before
        self._unpacked -= len(data)
        self._packed -= taken
        return placed, taken
