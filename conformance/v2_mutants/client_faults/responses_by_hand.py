"""Faults of HTTP in responses, which are read by hand (K4, K7, K34, K36)."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import BinaryIO
from urllib.parse import urlsplit

from requests.structures import CaseInsensitiveDict

from v2_clients.plain.connection import Answer
from v2_clients.plain.task import Call, ClientError
from v2_mutants.changes import fail
from v2_mutants.client_faults.requests_by_hand import ByHand
from v2_mutants.registry import Right, client_fault

_MOST_HEAD = 4096


class ReadByHand(ByHand):
    """A client that reads responses itself, line by line, and a new connection for each request."""

    def exchange(self, call: Call, fields: Mapping[str, str], body: bytes) -> Answer:
        parts = urlsplit(self.url)
        place = (parts.hostname or "", parts.port or 80)
        try:
            with socket.create_connection(place, self.timeout_s) as connection:
                self.send_all(connection, self.head(call, fields, body) + body)
                with connection.makefile("rb") as stream:
                    status, names = self.final_head(stream)
                    received = self.body_of(stream, names)
        except (OSError, ValueError, IndexError) as error:
            raise ClientError(f"{type(error).__name__}: {error}") from error
        return Answer(status, names, self.decoded(call, names, received))

    def final_head(self, stream: BinaryIO) -> tuple[int, CaseInsensitiveDict[str]]:
        """The status and the fields of the final response."""
        while True:
            lines = self.lines_of_head(stream)
            status = self.status(lines[0])
            if not self.is_interim(status):
                return status, CaseInsensitiveDict(map(self.field, lines[1:]))

    def lines_of_head(self, stream: BinaryIO) -> list[str]:
        """The lines of a head, without the empty one at its end."""
        lines = []
        while line := stream.readline().decode("latin-1").removesuffix("\r\n"):
            lines.append(line)
        return lines

    def status(self, line: str) -> int:
        """The status in a status line."""
        return int(line.split(" ", 2)[1])

    def is_interim(self, status: int) -> bool:
        """Return True if another response follows one of this status."""
        return 100 <= status < 200

    def field(self, line: str) -> tuple[str, str]:
        """The name and the value of a field."""
        name, _, value = line.partition(":")
        return name, value.strip(" \t")

    def body_of(self, stream: BinaryIO, fields: Mapping[str, str]) -> bytes:
        """The body behind a head."""
        if "Transfer-Encoding" not in fields:
            length = fields.get("Content-Length")
            return stream.read() if length is None else stream.read(int(length))
        pieces = []
        while size := self.chunk_size(stream.readline().decode("latin-1").rstrip("\r\n")):
            pieces.append(stream.read(size))
            stream.readline()
        self.trailers(stream)
        return b"".join(pieces)

    def chunk_size(self, line: str) -> int:
        """The size of a chunk."""
        return int(line.partition(";")[0], 16)

    def trailers(self, stream: BinaryIO) -> None:
        """Read what follows the last chunk."""
        self.lines_of_head(stream)


client_fault("field-space-required", "K4", ReadByHand.field, base=ReadByHand)(
    "A field's value begins two characters behind its name.",
    lambda right, line: (line.partition(":")[0], line.partition(":")[2][1:].strip(" \t")),
)
client_fault("field-space-kept", "K4", ReadByHand.field, base=ReadByHand)(
    "White space behind a field's value belongs to it.",
    lambda right, line: (line.partition(":")[0], line.partition(":")[2].lstrip(" \t")),
)
client_fault("chunk-size-in-small-letters", "K7", ReadByHand.chunk_size, base=ReadByHand)(
    "The size of a chunk has to be in small letters.",
    lambda right, line: right() if line == line.lower() else fail("malformed chunk"),
)
client_fault("chunk-beginning-with-zero-is-last", "K7", ReadByHand.chunk_size, base=ReadByHand)(
    "A chunk whose size begins with 0 is taken for the last one.",
    lambda right, line: 0 if line.startswith("0") else right(),
)
client_fault("chunk-extension-not-read", "K7", ReadByHand.chunk_size, base=ReadByHand)(
    "What follows the size of a chunk is an error.",
    lambda right, line: int(line, 16),
)
client_fault("chunk-extension-ends-at-space", "K7", ReadByHand.chunk_size, base=ReadByHand)(
    "A chunk extension has to be one word.",
    lambda right, line: fail("malformed chunk") if " " in line else right(),
)


@client_fault("trailers-not-read", "K7", ReadByHand.trailers, base=ReadByHand)
def _(right: Right[None], stream: BinaryIO) -> None:
    """Anything behind the last chunk is an error."""
    if stream.readline() != b"\r\n":
        fail("the response does not end with its last chunk")


client_fault("only-100-is-interim", "K34", ReadByHand.is_interim, base=ReadByHand)(
    "Only 100 is an interim response, as in Python's http.client.",
    lambda right, status: status == 100,
)


@client_fault("one-interim-response", "K34", ReadByHand.is_interim, base=ReadByHand)
def _(right: Right[bool], status: int) -> bool:
    """Of several interim responses, the second one is taken for the final response."""
    return right() and right.keep(True) is None


@client_fault.several("interim-without-fields", "K34")
class _InterimWithoutFields(ReadByHand):
    """Behind the status line of an interim response the final response begins."""

    def lines_of_head(self, stream: BinaryIO) -> list[str]:
        line = stream.readline().decode("latin-1").removesuffix("\r\n")
        if self.is_interim(self.status(line)):
            stream.readline()
            return [line]
        return [line, *super().lines_of_head(stream)]

    def trailers(self, stream: BinaryIO) -> None:
        super().lines_of_head(stream)


client_fault("reason-required", "K34", ReadByHand.status, base=ReadByHand)(
    "A status line has to have a reason phrase.",
    lambda right, line: right() if line.split(" ", 2)[2] else fail("malformed status line"),
)


@client_fault("head-at-most-4-kib", "K34", ReadByHand.lines_of_head, base=ReadByHand)
def _(right: Right[list[str]], stream: BinaryIO) -> list[str]:
    """A head of more than 4 KiB is an error."""
    lines = right()
    return lines if sum(map(len, lines)) < _MOST_HEAD else fail("the head is too long")


@client_fault("fields-of-interim-responses-kept", "K34", ReadByHand.lines_of_head, base=ReadByHand)
def _(right: Right[list[str]], stream: BinaryIO) -> list[str]:
    """The final response has the fields of interim ones, which come before its own."""
    line, *fields = right()
    kept = right.state.setdefault("fields", [])
    if " 10" in line:
        kept += fields
        return [line, *fields]
    names = {name.partition(":")[0].lower() for name in kept}
    return [line, *kept, *(one for one in fields if one.partition(":")[0].lower() not in names)]


client_fault("chunk-size-in-16-bits", "K7", ReadByHand.chunk_size, base=ReadByHand)(
    "The size of a chunk has 16 bits.",
    lambda right, line: right() & 0xFFFF,
)
client_fault("field-without-a-value-refused", "K34", ReadByHand.field, base=ReadByHand)(
    "A field without a value is an error.",
    lambda right, line: right() if right()[1] else fail("malformed field"),
)
client_fault("field-beyond-ascii-refused", "K34", ReadByHand.field, base=ReadByHand)(
    "A field whose value is not ASCII is an error.",
    lambda right, line: right() if line.isascii() else fail("malformed field"),
)
