"""What passes between the bench and a client: tasks, and the lines with which it answers.

schemas/client-task.schema.json is generated from `Task` (`tools.schemas`). A tensor's `data` is as
in `suite.client_lines`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from v2_conformance.suite.client_lines import Line

Coding = Literal["gzip", "deflate"]
Value = bool | int | float | str
Size = Annotated[int, Meta(ge=0)]


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Frozen, without members that the schema does not know."""


class TaskInput(_Strict, frozen=True, kw_only=True):
    """An array that the caller passes to the client."""

    name: str
    datatype: str
    shape: tuple[Size, ...]
    data: bytes
    """The tensor's raw bytes, of `from` if that is given."""
    form: Literal["binary", "json"]
    """How the caller wants it sent."""
    layout: Literal["row-major", "column-major", "big-endian"] = "row-major"
    """How the caller's array lies in memory: the adapter makes such an array of `data` before it
    calls the client."""
    of: Literal["float32"] | None = msgspec.field(default=None, name="from")
    """BF16 only: `data` is FP32, which the client has to round to BF16."""
    parameters: dict[str, Value] = {}


class TaskOutput(_Strict, frozen=True, kw_only=True):
    """An output that the caller names."""

    name: str
    form: Literal["binary", "json"] | None = None
    """null: the caller does not say."""
    parameters: dict[str, Value] = {}


class TaskRequest(_Strict, frozen=True, kw_only=True):
    """One inference request that the caller makes."""

    model: str
    version: str | None
    id: str | None
    parameters: dict[str, Value]
    """The caller's own request parameters."""
    headers: dict[str, str]
    """The caller's own HTTP header fields."""
    request_compression: Coding | None
    response_compression: Coding | None
    """What the caller asks for."""
    binary_data_output: bool | None
    """The request-level parameter; null: not given."""
    inputs: tuple[TaskInput, ...]
    outputs: tuple[TaskOutput, ...] | None
    """null: the caller names no outputs."""


class Task(_Strict, frozen=True, kw_only=True):
    """A scenario as the client gets it. The requests are to be made in this order, all with the
    same client object."""

    scenario: str
    url: str
    """The server's base URL, without a trailing slash."""
    timeout_s: Annotated[float, Meta(gt=0)]
    """Seconds that the client has."""
    requests: tuple[TaskRequest, ...]


ONE_OF = ("outputs", "error", "unsupported")
"""The members of a line of which exactly one is there."""


def checked_line(line: Line) -> Line:
    """`line`, or ValueError if it does not say exactly one thing."""
    if sum(getattr(line, name) is not None for name in ONE_OF) != 1:
        raise ValueError("expected exactly one of `outputs`, `error` and `unsupported`")
    return line


_LINES = msgspec.json.Decoder(Line)
_MEMBERS = ("scenario", "lines")
_QUOTED = re.compile(b"|".join(rb"[\"']%b\\?[\"']" % name.encode() for name in (*ONE_OF, "lines")))
_SHOWN = 120
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class PrintedAnswer(msgspec.Struct, frozen=True):
    """What a client answers to a task: a line for each request, unread."""

    scenario: str
    lines: tuple[msgspec.Raw, ...]

    def checked(self, most: int) -> tuple[tuple[Line, ...], str | None]:
        """Return its lines, at most `most`, and what is wrong with the first bad one."""
        results: list[Line] = []
        for line in map(bytes, self.lines[:most]):
            try:
                results.append(checked_line(_decoded(line)))
            except (msgspec.DecodeError, ValueError, RecursionError) as error:
                return tuple(results), f"{_invalid(line, error, ONE_OF)}, in {_shown(line)}"
        return tuple(results), more_lines_than(most) if len(self.lines) > most else None


_ANSWER = msgspec.json.Decoder(PrintedAnswer)


def read_answer(printed: bytes) -> tuple[PrintedAnswer | None, str | None]:
    """Return the answer that a client printed on a line, or what is wrong with it.

    Neither for what does not begin with `{"`, unless it is an answer all the same: some languages
    print a byte order mark, or spaces in JSON.
    """
    line = printed.removeprefix(_BYTE_ORDER_MARK).strip()
    if not _is_meant(line):
        return None, None
    try:
        return _ANSWER.decode(line), None
    except (msgspec.DecodeError, RecursionError) as error:
        return None, f"{_invalid(line, error, _MEMBERS)}, in {line[:_SHOWN]!r:.200}"


def unlike(printed: Iterable[bytes], *, of_any: bool = False) -> str | None:
    """Return what is wrong with the first of these lines that is not read, but (`of_any`: whether
    or not it) has a member of those that are: in an array or a string, printed over several lines
    or by another program's rules, in UTF-16, behind a word."""
    for line in printed:
        meant = _is_meant(line.removeprefix(_BYTE_ORDER_MARK).strip())
        if not meant and ((of_any and line.strip()) or _QUOTED.search(line.replace(b"\0", b""))):
            expected = 'expected a line that begins with {" and ends with }, in UTF-8'
            return f"{expected}, got {_shown(line)}"
    return None


def more_lines_than(requests: int) -> str:
    """Return what is wrong with the lines of a client that says more than it was asked."""
    return f"more lines than the {requests} requests"


def _is_meant(line: bytes) -> bool:
    """Return True if a line is JSON for the bench, right or wrong, rather than a log: it begins
    with `{"`, or with white space in between and has a member of an answer.
    """
    spaced = line.startswith(b"{") and line[1:].lstrip().startswith(b'"')
    return line.startswith(b'{"') or (spaced and _names_one(line, _MEMBERS))


def _names_one(line: bytes, members: Collection[str]) -> bool:
    return any(f'"{name}"'.encode() in line for name in members)


def _shown(line: bytes) -> str:
    return ascii(line[:_SHOWN].decode("latin-1"))


def _decoded(line: bytes) -> Line:
    """Return a line as it is read. 2.0 is an integer of JSON Schema like 2: some languages write
    every number so. Raises msgspec.DecodeError.
    """
    try:
        return _LINES.decode(line)
    except msgspec.ValidationError as error:
        try:
            return msgspec.convert(_with_integers(msgspec.json.decode(line)), Line)
        except msgspec.ValidationError:
            raise error from None


def _with_integers(value: Any) -> Any:
    """Return a value of JSON with an int for each float that is one."""
    if isinstance(value, dict):
        return {name: _with_integers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_integers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _invalid(line: bytes, error: Exception, members: Collection[str]) -> str:
    words = ascii(str(error))[1:-1][:_SHOWN]
    if "truncated" in words:
        return f"{words} (print each line whole, and flush standard output before the end)"
    return words if _names_one(line, members) else f"{words} (a log belongs on standard error)"
