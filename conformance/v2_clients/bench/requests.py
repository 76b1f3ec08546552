"""Reads the requests of a client, tolerantly, from the bytes that came.

The bench has to answer whatever a client sends, and each defect is judged in the scenario that is
about it. So this finds the parts of a request although some of it is wrong; `judging` has the
strict reading.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from v2_conformance.protocol import content_codings
from v2_conformance.protocol.message import json_object, parameters_of
from v2_conformance.protocol.names import BINARY_DATA_SIZE, HEADER_LENGTH
from v2_conformance.wire.messages import (
    Head,
    codings_in,
    decimal,
    members,
    one_number,
    read_chunks,
    read_head,
)

MOST_HEAD = 64 * 1024
"""Bytes that the head of a request may have."""
MOST_BODY = 64 * 1024 * 1024
"""Bytes that the body of a request may have, before and after its content coding."""

# No scenario needs more chunks or JSON, and more would take too long to read.
_MOST_CHUNKS = 1 << 16
_MOST_JSON = 8 * 1024 * 1024
_INFER = re.compile(r"/v2/models/([^/]+)(?:/versions/([^/]+))?/infer")


class UnreadableRequestError(ValueError):
    """Bytes that no server can read as a request, and why."""


@dataclass(frozen=True)
class ClientRequest:
    """A request as far as it came. Names of `fields` are in lower case.

    `head` is the request line and the fields as they came, `body` is without transfer coding. The
    request ends at `end` of what came, and `whole` says whether all of it did: if not, more can be
    read of it as soon as `needs` bytes have come.
    """

    method: str
    target: str
    version: str
    fields: tuple[tuple[str, str], ...]
    head: bytes
    body: bytes
    end: int
    whole: bool
    needs: int

    def values(self, name: str) -> list[str]:
        """Every value of the field `name`, which is in lower case."""
        return [value for key, value in self.fields if key == name]

    def value(self, name: str) -> str | None:
        """The first value of the field `name`, which is in lower case."""
        return next(iter(self.values(name)), None)

    @property
    def path(self) -> str:
        """The path of its target, without the query."""
        return re.sub("(?i)^https?://[^/]*", "", self.target).partition("?")[0]

    @property
    def keeps_open(self) -> bool:
        """True if the connection can stay open after its answer."""
        return self.version != "1.0" and "close" not in members(self.values("connection"))

    @cached_property
    def codings(self) -> tuple[str, ...]:
        """Return the content codings that it names, in lower case, without "identity"."""
        return tuple(codings_in(self.values("content-encoding")))

    @cached_property
    def decoded(self) -> bytes | None:
        """Return the body without content coding, None if that is unknown or broken."""
        if not self.codings:
            return self.body
        coding = content_codings.known(self.codings[0]) if len(self.codings) == 1 else None
        try:
            return content_codings.decode(coding, self.body, MOST_BODY) if coding else None
        except content_codings.CodingError:
            return None

    @cached_property
    def header_length(self) -> int | None:
        """The header length, if it is one number."""
        return one_number(self.values(HEADER_LENGTH.lower()))

    @cached_property
    def document(self) -> dict[str, Any]:
        """Its JSON, wherever that ends; {} without any."""
        return self._json[0]

    @cached_property
    def json_end(self) -> int:
        """Return where the JSON object at the start of the decoded body ends, in bytes; 0 without
        one.
        """
        return self._json[1]

    @cached_property
    def _json(self) -> tuple[dict[str, Any], int]:
        body, length = self.decoded or b"", self.header_length
        most = min(length or _MOST_JSON, _MOST_JSON)
        document, end = json_object(body[:most]) or json_object(body[:_MOST_JSON]) or ({}, 0)
        sizes = sum(size_of(one) or 0 for one in objects(document.get("inputs")))
        start = len(body) - sizes if length is None else length
        if end and end < start <= len(body):
            padding = body[end:start].strip(b" \t\r\n")
            # NULs end a C string, or align the blobs: the strict reading says what they are.
            if not padding or (start + sizes == len(body) and not padding.strip(b"\0")):
                return document, start
        return document, end


def read_client_request(data: bytes) -> ClientRequest | None:
    """Return the request at the start of `data`, None until its head has come.

    It is `whole` as soon as all of it is there. Raises UnreadableRequestError.
    """
    head = read_head(data)
    if not head.whole or head.end > MOST_HEAD:
        if len(data) >= MOST_HEAD:
            raise UnreadableRequestError(f"its head is longer than {MOST_HEAD} bytes")
        return None
    words = head.first.decode("latin-1").split()
    if len(words) != 3 or not words[2].startswith("HTTP/"):
        raise UnreadableRequestError("malformed request line, expected HTTP/1.1")
    fields = tuple((one.name.decode("latin-1"), one.value.decode("latin-1")) for one in head.fields)
    body = _chunks(data, head.end) if head.is_chunked else _counted(data, head)
    written = data[head.start : head.end]
    return ClientRequest(words[0], words[1], words[2][5:], fields, written, *body)


def _counted(data: bytes, head: Head) -> tuple[bytes, int, bool, int]:
    """Return a body without chunks, where it ends as far as it came, whether it is whole, and how
    many bytes must have come until it is.
    """
    length = next(map(decimal, head.values("content-length")), None) or 0
    if length > MOST_BODY:
        raise UnreadableRequestError(f"its body is longer than {MOST_BODY} bytes")
    body = data[head.end : head.end + length]
    return body, head.end + len(body), len(body) == length, head.end + length


def _chunks(data: bytes, start: int) -> tuple[bytes, int, bool, int]:
    """Return the same for a chunked body, or until its next chunk can be read."""
    pieces: list[bytes] = []
    needs = len(data) + 1
    for chunk in read_chunks(data, start):
        if chunk.size is None:
            if len(data) - chunk.start > MOST_HEAD or b"\n" in data[chunk.start :]:
                raise UnreadableRequestError("a chunk has no size")
            break
        if chunk.size > MOST_BODY or chunk.start - start > MOST_BODY:
            raise UnreadableRequestError(f"its body is longer than {MOST_BODY} bytes")
        if chunk.size == 0:
            return b"".join(pieces), chunk.after, chunk.whole, needs
        needs = max(needs, chunk.data + chunk.size + 2)
        pieces.append(data[chunk.data : chunk.end])
        if len(pieces) > _MOST_CHUNKS:
            raise UnreadableRequestError(f"its body has more than {_MOST_CHUNKS} chunks")
    return b"".join(pieces), len(data), False, needs


@dataclass(frozen=True)
class Wishes:
    """Wishes of a request about its answer, as far as they can be read.

    `outputs` are the names it lists, each with whether it is to be binary, None if it lists none;
    `binary` is what it says of outputs in general, None for nothing.
    """

    id: str | None = None
    outputs: tuple[tuple[str, bool | None], ...] | None = None
    binary: bool | None = None
    accept_encoding: str | None = None


def objects(value: object) -> list[Mapping[str, Any]]:
    """Return the items of a JSON array that are objects; none of anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def size_of(entry: Mapping[str, Any]) -> int | None:
    """Return the binary_data_size of an input, None if it has none that is a number."""
    value = parameters_of(entry).get(BINARY_DATA_SIZE)
    return value if type(value) is int and value >= 0 else None


def wishes(request: ClientRequest) -> Wishes:
    """Return what `request` asks of its answer."""
    document = request.document
    listed = document.get("outputs")
    outputs = None
    if isinstance(listed, list) and listed:
        outputs = tuple(
            (str(item.get("name")), _flag(item, "binary_data")) for item in objects(listed)
        )
    identifier = document.get("id")
    accepted = request.values("accept-encoding")
    return Wishes(
        identifier if isinstance(identifier, str) else None,
        outputs,
        _flag(document, "binary_data_output"),
        ", ".join(accepted) if accepted else None,
    )


def _flag(entry: Mapping[str, Any], name: str) -> bool | None:
    value = parameters_of(entry).get(name)
    return value if isinstance(value, bool) else None


def model_asked(request: ClientRequest) -> tuple[str, str | None] | None:
    """Return the model and the version that an inference request is for, None for any other
    request. It is a GET if a redirect has made it one (RFC 9110, section 15.4.4).
    """
    match = _INFER.fullmatch(request.path)
    if request.method not in ("POST", "GET") or match is None:
        return None
    version = match[2]
    return unquote(match[1]), None if version is None else unquote(version)
