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


client_fault("reason-required", "K34", ReadByHand.status, base=ReadByHand)(
    "A status line has to have a reason phrase.",
    lambda right, line: right() if line.split(" ", 2)[2] else fail("malformed status line"),
)


@client_fault("head-at-most-4-kib", "K34", ReadByHand.lines_of_head, base=ReadByHand)
def _(right: Right[list[str]], stream: BinaryIO) -> list[str]:
    """A head of more than 4 KiB is an error."""
    lines = right()
    return lines if sum(map(len, lines)) < _MOST_HEAD else fail("the head is too long")


client_fault("field-without-a-value-refused", "K34", ReadByHand.field, base=ReadByHand)(
    "A field without a value is an error.",
    lambda right, line: right() if right()[1] else fail("malformed field"),
)
