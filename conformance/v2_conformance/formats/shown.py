"""A case as people are shown it: one model for the page, the terminal and logs.

    CaseResult ─ shown(case, limits) ─► Shown ─ msgspec.json ─► the page's script
                                              └ text/ ────────► the terminal, pytest-html

`Shown` is plain data. It has everything that depends on the meaning of the bytes: the sections of
each message, which bytes of them are shown, as text or as a hexdump, what is left out, and the
first wrong byte. Whatever prints it only places and colors it. Text in it is visible (see
`terminal_safe_text`) and of bounded length, but escaped for no format.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec

from v2_conformance.formats.sections import Name, Section, read_message
from v2_conformance.redaction import MASKED
from v2_conformance.report.bodies import SHORT
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.suite.causes.base import FirstDifference
from v2_conformance.suite.causes.causes import died, unsurvived
from v2_conformance.suite.client_lines import ClientResult, Line
from v2_conformance.suite.outcomes import FAILED, Outcome, Purpose
from v2_conformance.terminal_safe_text import is_visible, on_one_line, plain, short, visible
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending

_COLORS = 5  # of blobs; their titles tell them apart as well
_WIDTH = 16
# Around the first wrong byte so much is shown, in bytes before its row and from there on.
_AROUND = (32, 48)
_BARE_LINE_FEED = re.compile(rb"(?<!\r)\n")
_PRINTABLE = bytes(byte if 32 <= byte < 127 else ord(".") for byte in range(256))
_LONGEST = 400  # of text from a server
_CLIENTS_LINE = 200
_MOST_OUTPUTS = 20
_ENDINGS = {
    Ending.COMPLETE: "complete response",
    Ending.CLOSED: "connection closed before a complete response",
    Ending.RESET: "connection reset before a complete response",
    Ending.REFUSED: "no connection",
    Ending.TIMEOUT: "timed out",
    Ending.TOO_LARGE: "response too large",
    Ending.MALFORMED: "malformed HTTP",
    Ending.LEFT: "the client did not wait for an answer",
}
_ENDINGS_OF_CLIENTS = {
    **_ENDINGS,
    Ending.COMPLETE: "answered as scripted",
    Ending.CLOSED: "the request did not arrive completely",
    Ending.RESET: "the client left before it had its answer",
    Ending.MALFORMED: "what arrived is not a request",
}
_CONNECTIONS = {
    Purpose.CANARY_SAME: "on the same connection",
    Purpose.CANARY_FRESH: "on a fresh connection",
}

Look = Literal["", "hex", "wrong", "pointer", "left-out"]


class _Wrong(NamedTuple):
    """The first wrong byte of a section, and what is wrong with it."""

    place: int
    words: str


class Run(NamedTuple):
    """A piece of a part's text. A `pointer` says what is wrong with the bytes above it. That of
    `hex` is short, for the page's sake: the offset of the first byte, a space, and all digits."""

    look: Look
    text: str

    @property
    def lines(self) -> str:
        """The text as it is shown."""
        if self.look != "hex":
            return self.text
        base, digits = self.text.split()
        return hexdump(bytes.fromhex(digits), int(base, 16))


class Part(msgspec.Struct, frozen=True):
    """The shown part of a section of `size` bytes; `look` is its kind, for a blob with a number."""

    title: str
    look: str
    size: int
    is_text: bool = False
    runs: tuple[Run, ...] = ()


class ShownMessage(msgspec.Struct, frozen=True):
    """A request or a response of `size` bytes; `notes` are oddities."""

    title: str
    size: int
    notes: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()


class ShownExchange(msgspec.Struct, frozen=True):
    """One exchange of a case: `title` says what it was for, `facts` how it went."""

    title: str
    facts: str
    complete: bool
    messages: tuple[ShownMessage, ShownMessage]


class Shown(msgspec.Struct, frozen=True):
    """A case, as it is shown once somebody looks at it: its first wrong element, what a client
    answered, and what known-good requests after it showed."""

    difference: tuple[str, ...] = ()
    client: tuple[str, ...] = ()
    survival: str = ""
    exchanges: tuple[ShownExchange, ...] = ()


class ShownBytes(NamedTuple):
    """How many bytes of a section are shown at its start, its end, and of text, which is small."""

    first: int
    last: int
    first_of_text: int


FULL = ShownBytes(512, 64, first_of_text=2048)
BRIEF = ShownBytes(96, 32, first_of_text=1024)
_LEFT_OUT = "its bytes are not on this page: `v2-conformance show` prints them"
WHOLE = ShownBytes(sys.maxsize, 0, first_of_text=sys.maxsize)


def shown(case: CaseResult, limits: ShownBytes, canaries: ShownBytes | None = None) -> Shown:
    """Return a case as it is shown; the bytes around the first wrong one are always there.
    Known-good requests that were answered rightly are folded by `canaries`, or left out."""
    exchanges = []
    for exchange in case.exchanges:
        used = canaries if exchange.purpose.canary and not died(case.cause) else limits
        if used is not None:
            exchanges.append(_exchange(exchange, used, case))
    return Shown(
        difference=tuple(_difference(case.difference)),
        client=tuple(client_lines(case)),
        survival=_survival(case),
        exchanges=tuple(exchanges),
    )


def replay_command(report: Report, case: CaseResult, path: str = "report.json") -> str:
    """Return what a POSIX shell needs to send a case, or run a scenario, again; "" if nothing."""
    client = report.target.client
    if client is None:
        failed = case.outcome in (Outcome.FAIL, Outcome.FLAKY) and report.own
        words = ["v2-conformance", "replay", path, "--case", plain(case.id)]
        return shlex.join(words) if failed else ""
    words = ["v2-conformance", "client", "--scenario", case.id, "--", *client.command]
    whole = all(word.isascii() and word.isprintable() and MASKED not in word for word in words)
    return shlex.join(words) if client.command and whole else ""


def in_bytes(number: int) -> str:
    """Return a number of bytes in words: "1 byte", "65,536 bytes"."""
    return "1 byte" if number == 1 else f"{number:,} bytes"


def in_milliseconds(value: float) -> str:
    """Return a time with its significant digits."""
    if value >= 10_000:
        return f"{value / 1000:.1f} s"
    return f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"


def hexdump(data: bytes, base: int = 0) -> str:
    """Return `data` in lines of offset, bytes, and printable ASCII; offsets count from `base`."""
    return "".join(
        f"{base + at:06x}  {row.hex(' '):<47}  {row.translate(_PRINTABLE).decode()}\n"
        for at in range(0, len(data), _WIDTH)
        if (row := data[at : at + _WIDTH])
    )


def _difference(first: FirstDifference | None) -> Iterator[str]:
    if first is None:
        return
    at = first.body_offset
    place = "in binary form; the server sent JSON" if at is None else f"byte {at} of the body"
    yield _bounded(
        f"output {first.output} {first.datatype}, element {first.element}, byte {first.offset} of "
        f"its blob, {place}"
    )
    yield _bounded(f"expected: {first.expected or 'nothing'} ({first.expected_value})")
    yield _bounded(f"got: {first.got or 'nothing'} ({first.got_value})")


def _survival(case: CaseResult) -> str:
    """Return what the known-good requests after a case showed; "" if none was sent."""
    cause = unsurvived(case.cause)
    wrong = {
        Purpose.CANARY_SAME: cause is not None and cause.same_connection is not None,
        Purpose.CANARY_FRESH: cause is not None and cause.fresh_connection is not None,
    }
    sent = [one for one in dict.fromkeys(each.purpose for each in case.exchanges) if one in wrong]
    failed = [purpose for purpose in sent if wrong[purpose]]
    if not sent:
        return ""
    ended = "did not recover" if failed else "survived"
    known_good = "failed" if failed else "got the same answer as before"
    where = " and ".join(_CONNECTIONS[purpose] for purpose in failed or sent)
    return f"The server {ended}: after this case, a known-good request {known_good} {where}."


def client_lines(case: CaseResult) -> list[str]:
    """A line for each request of a scenario, and how the client ended; none for other cases."""
    message = case.reported_in_full
    if message is None:
        return []
    several = len(message.lines) > 1
    lines = [
        f"request {number}: {words}" if several else words
        for number, line in enumerate(message.lines, 1)
        for words in _client_line(line)
    ]
    words = (" ".join(line.split()) for line in (*lines, *_client_end(message)))
    return [visible(short(line, _CLIENTS_LINE)) for line in words]


def _client_line(line: Line) -> Iterator[str]:
    if line.unsupported is not None:
        yield f"unsupported: {line.unsupported}"
    if line.error is not None:
        yield f"error: {line.error}" + ("" if line.status is None else f" (status {line.status})")
    for output in (line.outputs or ())[:_MOST_OUTPUTS]:
        digits = short(output.data[:33].hex(), 65) or "(nothing)"
        shape, size = list(output.shape), len(output.data)
        yield f"{output.name} {output.datatype} {shape}, {size} bytes: {digits}"
    if line.outputs == ():
        yield "no outputs"


def _client_end(message: ClientResult) -> Iterator[str]:
    if message.garbage is not None:
        yield f"then an invalid line: {message.garbage}"
    if message.ended == "timeout":
        yield f"did not end within {message.seconds:g} s"
    elif message.ended == "flood":
        yield "printed too much"
    elif message.ended == "unsaid":
        yield "nothing"
    elif message.exit:
        code = message.exit
        yield f"exit code {code}" if code > 0 else f"ended by signal {-code}"
    if message.stderr and (message.exit or message.ended != "exit"):
        yield f"standard error: {message.stderr}"


def _exchange(exchange: Exchange, limits: ShownBytes, case: CaseResult) -> ShownExchange:
    of_client = case.reported is not None
    marked = exchange.purpose.own and case.outcome in FAILED and not of_client
    notes = []
    if exchange.sent < exchange.request.size:
        share = f"only the first {in_bytes(exchange.sent)} were" if exchange.sent else "nothing was"
        notes.append(f"{share} sent")
    return ShownExchange(
        title=_bounded(exchange.note),
        facts=" · ".join(_facts(exchange, of_client)),
        complete=exchange.ending is Ending.COMPLETE,
        messages=(
            _message("request", exchange, limits, None, notes),
            _message("response", exchange, limits, case.difference if marked else None, ()),
        ),
    )


def _facts(exchange: Exchange, of_client: bool) -> Iterator[str]:
    detail = _bounded(exchange.detail)
    ending = (_ENDINGS_OF_CLIENTS if of_client else _ENDINGS)[exchange.ending]
    yield f"{ending} ({detail})" if detail else ending
    if exchange.first_byte_ms is not None and not of_client:
        yield f"first byte after {in_milliseconds(exchange.first_byte_ms)}"
    yield f"{in_milliseconds(exchange.duration_ms)} in all"
    yield "on a reused connection" if exchange.reused else "on a new connection"
    if exchange.omitted:
        yield f"{in_bytes(exchange.omitted)} more, for which the report has no room"
    if exchange.ending is Ending.COMPLETE and not of_client:
        yield "left open" if exchange.open else "closed afterwards"


def _message(
    name: Name,
    exchange: Exchange,
    limits: ShownBytes,
    difference: FirstDifference | None,
    notes: Sequence[str],
) -> ShownMessage:
    body = exchange.request if name == "request" else exchange.received
    parts: list[Part] = []
    blobs, size = 0, len(body)
    title = f"{name.capitalize()} · {in_bytes(size) if size else 'nothing'}"
    if limits is BRIEF and size > SHORT:
        return ShownMessage(title, size, (*notes, _LEFT_OUT))
    bodiless = name == "response" and exchange.request.start(5) == b"HEAD "
    cut = read_message(name, bytes(body), exchange.answers, bodiless=bodiless)
    for section in cut.sections:
        look: str = section.kind
        if look == "blob":
            look = f"blob{blobs % _COLORS}"
            blobs += 1
        parts.append(_part(section, look, limits, _wrong(section, difference)))
    return ShownMessage(
        title=title, size=size, notes=tuple(map(visible, (*cut.notes, *notes))), parts=tuple(parts)
    )


def _wrong(section: Section, first: FirstDifference | None) -> _Wrong | None:
    """Return the first wrong byte, counted from the start of the section, if that is the blob."""
    if first is None or first.body_offset is None or section.kind != "blob":
        return None
    at = first.body_offset - section.base
    words = f"first differing byte: element {first.element} of {on_one_line(first.output)}"
    return _Wrong(at, words) if 0 <= at < len(section.data) else None


def _part(section: Section, look: str, limits: ShownBytes, wrong: _Wrong | None) -> Part:
    is_text = _is_text(section)
    runs: list[Run] = []
    at = 0
    for start, end in _spans(section, limits, wrong):
        if start > at:
            runs.append(Run("left-out", f"… {in_bytes(start - at)} left out\n"))
        if is_text:
            runs.append(Run("", _text(section, start, end)))
        elif wrong and start <= wrong.place < end:
            runs += _marked(section, start, end, wrong)
        else:
            runs.append(_rows(section, start, end))
        at = end
    return Part(
        title=_title(section),
        look=look,
        size=section.end - section.start,
        is_text=is_text,
        runs=tuple(run for run in runs if run.text),
    )


def _title(section: Section) -> str:
    """Return the section's kind, its length, and its place in the body."""
    length = len(section.data)
    # A tensor's label begins with its name, whose case is the server's.
    named = section.kind == "blob"
    label = section.label if named else section.label[:1].upper() + section.label[1:]
    title = f"{label} · {in_bytes(length)}"
    if not length or not section.in_body or section.kind == "raw":
        return title
    last = section.base + length - 1
    place = f"byte {last}" if length == 1 else f"bytes {section.base}–{last}"
    return f"{title}, {place} of the body"


def _is_text(section: Section) -> bool:
    """Return True if text shows the section better than hex: heads, JSON, and error pages."""
    if section.kind in ("head", "json"):
        return True
    if section.kind != "raw" or not section.data.strip():
        return False
    try:
        text = section.data.decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        return False
    return is_visible(text)


def _spans(section: Section, limits: ShownBytes, wrong: _Wrong | None) -> Iterator[tuple[int, int]]:
    """Yield what is shown of a section: its start, its end, and around the wrong byte."""
    length = len(section.data)
    first = limits.first_of_text if section.kind in ("head", "json") else limits.first
    if length <= first + limits.last:
        yield 0, length
        return
    ranges = [(0, first), (length - limits.last, length)]
    if wrong:
        row = wrong.place - wrong.place % _WIDTH
        ranges.append((max(0, row - _AROUND[0]), min(length, row + _AROUND[1])))
    start, end = 0, 0
    for begin, stop in sorted(ranges):
        if begin > end:
            yield start, end
            start = begin
        end = max(end, stop)
    yield start, end


def _text(section: Section, start: int, end: int) -> str:
    data = section.data[start:end]
    if section.kind == "head":
        # A line that ends in LF alone must not look like one that ends in CRLF.
        data = _BARE_LINE_FEED.sub(b"\\\\n\n", data)
    text = visible(data.decode("utf-8", "backslashreplace").replace("\r\n", "\n"))
    return text.rstrip("\n") + "\n"


def _rows(section: Section, start: int, end: int) -> Run:
    digits = section.data[start:end].hex()
    return Run("hex", f"{section.base + start:x} {digits}" if digits else "")


def _marked(section: Section, start: int, end: int, wrong: _Wrong) -> Iterator[Run]:
    """Yield rows of a hexdump, with the wrong byte marked twice in its row: in digits and sign."""
    row = wrong.place - (wrong.place - start) % _WIDTH
    after = min(row + _WIDTH, end)
    line = _rows(section, row, after).lines
    digits = line.index("  ") + 2 + 3 * (wrong.place - row)
    sign = line.index("  ") + 51 + wrong.place - row
    before = len(wrong.words) < digits
    words = f"{wrong.words + ' ▲':>{digits + 1}}" if before else f"{'':{digits}}▲ {wrong.words}"
    yield _rows(section, start, row)
    yield Run("", line[:digits])
    yield Run("wrong", line[digits : digits + 2])
    yield Run("", line[digits + 2 : sign])
    yield Run("wrong", line[sign])
    yield Run("", line[sign + 1 :])
    yield Run("pointer", words + "\n")
    yield _rows(section, after, end)


def _bounded(text: str) -> str:
    return on_one_line(short(text, _LONGEST))
