"""What a client says of a scenario: the lines that it answers with, and how it ended.

schemas/client-line.schema.json is generated from `Line` (`tools.schemas`). A tensor's `data` is its
raw bytes: row-major, little-endian, BYTES elements each after a 4-byte length, BF16 as two bytes;
as JSON they are base64.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

_BASE64 = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Frozen, without members that the schema does not know."""


class ClientName(_Strict, frozen=True):
    """The client that is tested."""

    name: str
    version: str = ""


class ReportedTensor(_Strict, frozen=True):
    """A tensor that the user of the client got, with the datatype of what the user holds."""

    name: str
    datatype: str
    shape: tuple[Annotated[int, Meta(ge=0)], ...]
    data: Annotated[bytes, Meta(extra_json_schema={"pattern": _BASE64})]


class Line(_Strict, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one request: exactly one of `outputs`, `error` and `unsupported`."""

    outputs: tuple[ReportedTensor, ...] | None = None
    model_name: str | None = None
    model_version: str | None = None
    id: str | None = None
    headers: dict[str, str] | None = None
    """The caller's headers after the call, as the caller sees them now."""
    error: str | None = None
    """The message that the user of the client gets."""
    status: int | None = None
    """The HTTP status that it comes with."""
    unsupported: str | None = None
    """The API that is missing in the client, in words."""
    client: ClientName | None = None


class ClientResult(_Strict, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that a client said of a scenario, and how it ended.

    `garbage` is the first line that is not a valid `Line`, and why; printable. `ended` is how the
    process ended: by itself, after the timeout, or because it printed too much; or `unsaid`, if a
    test with the fixture `v2_bench` said nothing. `exit` is its exit code, negative for a signal,
    None if there was no process. `stderr` is the end of what it printed there, printable.
    `seconds` is the time that it had in all. `waited_s` is how long it went on after the server
    had fallen silent, None if that did not happen.
    """

    lines: tuple[Line, ...] = ()
    garbage: str | None = None
    ended: Literal["exit", "timeout", "flood", "unsaid"] = "exit"
    exit: int | None = None
    stderr: str = ""
    seconds: float = 0.0
    waited_s: float | None = None
