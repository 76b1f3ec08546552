"""Faults of clients that write requests and read responses by hand, of connections, and of content
codings."""

from __future__ import annotations

import contextlib
import re
import select
import socket
import zlib
from collections.abc import Callable, Mapping
from io import BufferedReader
from urllib.parse import urlsplit

import requests
import urllib3
from requests.structures import CaseInsensitiveDict

from v2_clients.plain.connection import Answer
from v2_clients.plain.plain_client import PlainClient
from v2_clients.plain.responses_read import Inference
from v2_clients.plain.task import Call, ClientError
from v2_conformance.protocol.content_codings import known
from v2_mutants.changes import fail, without
from v2_mutants.registry import Right, What, client_fault

_PIECE = 1 << 16
_MOST_HEAD = 4096


class ByHand(PlainClient):
    """A client that writes its requests, reads responses line by line and keeps its connection."""

    _socket: socket.socket | None = None
    _stream: BufferedReader

    def close(self) -> None:
        super().close()
        if self._socket is not None:
            self._stream.close()
            self._socket.close()
            self._socket = None

    def exchange(self, call: Call, fields: Mapping[str, str], body: bytes) -> Answer:
        try:
            if self._socket is not None and self.is_over(self._socket):
                self.close()
            if self._socket is None:
                parts = urlsplit(self.url)
                place = (parts.hostname or "", parts.port or 80)
                self._socket = socket.create_connection(place, self.timeout_s)
                self._stream = self._socket.makefile("rb")
            self.send_all(self._socket, self.head(call, fields, body) + body)
            status, names = self.final_head(self._stream)
            received = self.body_of(self._stream, names)
        except (OSError, ValueError, IndexError) as error:
            self.close()
            raise ClientError(f"{type(error).__name__}: {error}") from error
        self.after(names)
        return Answer(status, names, self.decoded(call, names, received))

    def head(self, call: Call, fields: Mapping[str, str], body: bytes) -> bytes:
        """The head of the request."""
        parts = urlsplit(self.url)
        sent = {"Host": parts.netloc, **fields, "Content-Length": len(body)}
        lines = [f"{name}: {value}\r\n" for name, value in sent.items()]
        first = f"POST {parts.path}{self.path(call)} HTTP/1.1\r\n"
        return "".join([first, *lines, "\r\n"]).encode()

    def is_over(self, connection: socket.socket) -> bool:
        """Return True if the server has closed a connection, or sent what nobody asked for."""
        return bool(select.select([connection], [], [], 0)[0])

    def send_all(self, connection: socket.socket, data: bytes) -> None:
        """Send a whole request."""
        connection.sendall(data)

    def after(self, fields: Mapping[str, str]) -> None:
        """Keep the connection after a response, or not."""
        if fields.get("Connection") == "close":
            self.close()

    def final_head(self, stream: BufferedReader) -> tuple[int, CaseInsensitiveDict[str]]:
        """The status and the fields of the final response."""
        while True:
            lines = self.lines_of_head(stream)
            status = self.status(lines[0])
            if not self.is_interim(status):
                old = {"Connection": "close"} if lines[0].startswith("HTTP/1.0") else {}
                return status, CaseInsensitiveDict([*old.items(), *map(self.field, lines[1:])])

    def lines_of_head(self, stream: BufferedReader) -> list[str]:
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

    def body_of(self, stream: BufferedReader, fields: Mapping[str, str]) -> bytes:
        """The body behind a head."""
        if "Transfer-Encoding" not in fields:
            length = fields.get("Content-Length")
            return stream.read() if length is None else stream.read(int(length))
        pieces = []
        while size := self.chunk_size(stream):
            pieces.append(stream.read(size))
            stream.readline()
        self.trailers(stream)
        return b"".join(pieces)

    def chunk_size(self, stream: BufferedReader) -> int:
        """The size of a chunk."""
        return int(stream.readline().partition(b";")[0], 16)

    def trailers(self, stream: BufferedReader) -> None:
        """Read what follows the last chunk."""
        self.lines_of_head(stream)


def edited(pattern: bytes, new: bytes) -> What[bytes]:
    """Return what edits the head of a request."""
    return lambda right, call, fields, body: re.sub(pattern, new, right())


@client_fault("early-answer-lost", "K30", ByHand.send_all, base=ByHand)
def _(right: Right[None], connection: socket.socket, data: bytes) -> None:
    """If the server closes before it has read the body, its answer is not read."""
    for start in range(0, len(data), _PIECE):
        connection.sendall(data[start : start + _PIECE])  # raises BrokenPipeError


client_fault("host-missing", "K33", ByHand.head, base=ByHand)(
    "A request has no Host.",
    edited(rb"Host: .*\r\n", b""),
)
client_fault("content-length-twice", "K33", ByHand.head, base=ByHand)(
    "A request has two Content-Lengths.",
    edited(rb"(Content-Length: \d+\r\n)\r\n", rb"\1\1\r\n"),
)
client_fault("request-lines-end-with-lf", "K33", ByHand.head, base=ByHand)(
    "The lines of a head end with LF alone.",
    edited(rb"\r\n", b"\n"),
)
client_fault("percent-signs-as-they-are", "K33", PlainClient.path)(
    "A percent sign in a model's name is put into the target as it is.",
    lambda right, call: right().replace("%25", "%"),
)


client_fault("interim-response-is-the-answer", "K34", ByHand.is_interim, base=ByHand)(
    "A response of 100 Continue is taken for the answer.",
    lambda right, status: fail("an interim status") if status == 100 else right(),
)


@client_fault.several("closed-connection-used-again", "K36")
class _UsedAgain(ByHand):
    """After a response with `Connection: close` the next request is sent on that connection."""

    def after(self, fields: Mapping[str, str]) -> None:
        return None

    def is_over(self, connection: socket.socket) -> bool:
        # Otherwise it would depend on who is faster if the server's close is seen.
        return False


client_fault("content-length-over-chunks", "K7", ByHand.body_of, base=ByHand)(
    "A Content-Length counts, also beside chunks.",
    lambda right, stream, fields: right(
        fields=without(fields, *["Transfer-Encoding"] * ("Content-Length" in fields))
    ),
)
client_fault("field-space-required", "K4", ByHand.field, base=ByHand)(
    "A field's value begins two characters behind its name.",
    lambda right, line: (line.partition(":")[0], line.partition(":")[2][1:].strip(" \t")),
)
client_fault("reason-required", "K34", ByHand.status, base=ByHand)(
    "A status line has to have a reason phrase.",
    lambda right, line: right() if line.split(" ", 2)[2] else fail("malformed status line"),
)


@client_fault("head-at-most-4-kib", "K34", ByHand.lines_of_head, base=ByHand)
def _(right: Right[list[str]], stream: BufferedReader) -> list[str]:
    """A head of more than 4 KiB is an error."""
    lines = right()
    return lines if sum(map(len, lines)) < _MOST_HEAD else fail("the head is too long")


@client_fault("head-end-in-two-pieces-missed", "K7", ByHand.lines_of_head, base=ByHand)
def _(right: Right[list[str]], stream: BufferedReader) -> list[str]:
    """The end of a head is looked for in each piece that comes, and not where two of them meet."""
    if stream.peek().startswith(b"\r\n"):  # no trailers
        return right()
    head = b""
    while (piece := stream.peek()) and b"\r\n\r\n" not in piece:
        head += stream.read(len(piece))
    head += stream.read(piece.index(b"\r\n\r\n"))
    stream.read(4)
    return head.decode("latin-1").split("\r\n")


client_fault("chunk-size-in-one-piece", "K7", ByHand.chunk_size, base=ByHand)(
    "The line with the size of a chunk has to come in one piece.",
    lambda right, stream: right() if b"\n" in stream.peek() else fail("a chunk has no size"),
)
client_fault("pause-is-the-end", "K7", PlainClient.time_limit)(
    "A response of which nothing comes for a quarter of a second is over.",
    lambda right: 0.25,
)


@client_fault("credentials-follow-redirects", "K9", PlainClient.send)
def _(right: Right[requests.Response], prepared: requests.PreparedRequest) -> requests.Response:
    """A request that is redirected is sent again as it was, to whatever host."""
    response = right()
    if response.is_redirect:
        prepared.url = response.headers["Location"]
        return right(prepared)
    return response


client_fault("field-without-a-value-refused", "K34", ByHand.field, base=ByHand)(
    "A field without a value is an error.",
    lambda right, line: right() if right()[1] else fail("malformed field"),
)


def _in_chunks(response: requests.Response) -> bool:
    return "Transfer-Encoding" in response.headers


def _is_delimited(response: requests.Response) -> bool:
    return _in_chunks(response) or "Content-Length" in response.headers


def _received_body(response: requests.Response) -> bytes:
    """The body as far as it came."""
    pieces = []
    with contextlib.suppress(urllib3.exceptions.HTTPError, OSError):
        while piece := response.raw.read(1, decode_content=False):
            pieces.append(piece)
    return b"".join(pieces)


client_fault("one-read-for-all", "K7", PlainClient.received)(
    "What the first read returns is taken for the whole body.",
    lambda right, response: bytes(response.raw.read1(1 << 16, decode_content=False)),
)
client_fault("truncated-body-read-on", "K26", PlainClient.received)(
    "A body that ends before its Content-Length or last chunk is taken as it is.",
    lambda right, response: _received_body(response),
)
client_fault("no-time-limit", "K32", PlainClient.time_limit)(
    "The client waits for a silent server without a limit.",
    lambda right: None,
)


@client_fault("closed-connection-is-no-error", "K32", PlainClient.infer)
def _(right: Right[Inference], call: Call) -> Inference:
    """A connection that closes without an answer is an inference without outputs."""
    try:
        return right()
    except ClientError as error:
        if isinstance(error.__cause__, requests.ConnectionError):
            return Inference(())
        raise


def repeats(after: Callable[[Answer | ClientError], bool]) -> What[Answer]:
    """Return what sends a request a second time after such an outcome."""

    def what(right: Right[Answer], call: Call, fields: Mapping[str, str], body: bytes) -> Answer:
        try:
            answer = right()
        except ClientError as error:
            if after(error):
                return right()
            raise
        return right() if after(answer) else answer

    return what


client_fault("repeated-after-lost-answer", "K39", PlainClient.exchange)(
    "A request is sent again if the connection closes before its answer is whole.",
    repeats(lambda came: isinstance(came, ClientError)),
)
client_fault("repeated-after-server-error", "K39", PlainClient.exchange)(
    "A request is sent again if the server answers with 500.",
    repeats(lambda came: isinstance(came, Answer) and came.status >= 500),
)
client_fault("content-length-required", "K34", PlainClient.received)(
    "A response has to have a Content-Length or chunks.",
    lambda right, response: right() if _is_delimited(response) else fail("no Content-Length"),
)
client_fault("only-http-1-1", "K34", PlainClient.received)(
    "A response of HTTP/1.0 is an error.",
    lambda right, response: right() if response.raw.version == 11 else fail("expected HTTP/1.1"),
)

"""zlib's `wbits` for each coding."""

_ZLIB_HEADER, _ZLIB_END = 2, 4

client_fault("coding-always-named-gzip", "K18", PlainClient.content_encoding)(
    "Content-Encoding says gzip for every coding.",
    lambda right, call: None if call.request_compression is None else "gzip",
)
client_fault("coding-not-undone", "K21", PlainClient.decoded)(
    "The content coding of a response is not undone.",
    lambda right, call, fields, body: body,
)


@client_fault.several("coding-offered-and-not-undone", "K21")
class _OfferedAndNotUndone(PlainClient):
    """Accept-Encoding offers gzip always; it is undone only if the caller asked for it."""

    def accept_encoding(self, call: Call) -> str:
        return call.response_compression or "gzip"

    def decoded(self, call: Call, fields: Mapping[str, str], body: bytes) -> bytes:
        return body if call.response_compression is None else super().decoded(call, fields, body)


client_fault("coding-undone-only-if-asked-for", "K21", PlainClient.decoded)(
    "A content coding is undone only if the caller asked for one.",
    lambda right, call, fields, body: body if call.response_compression is None else right(),
)


@client_fault("coding-undone-as-asked-for", "K21", PlainClient.decoded)
def _(right: Right[bytes], call: Call, fields: Mapping[str, str], body: bytes) -> bytes:
    """A response is decoded as the caller asked, whatever coding it has."""
    asked = call.response_compression
    return right() if asked is None else right.client.undone(asked, body)


@client_fault("coding-checksum-ignored", "K21", PlainClient.undone)
def _(right: Right[bytes], name: str, body: bytes) -> bytes:
    """The checksum at the end of a coded body is not compared."""
    start = 10 if known(name) == "gzip" else _ZLIB_HEADER
    return zlib.decompressobj(-zlib.MAX_WBITS).decompress(body[start:])


client_fault("chunks-not-understood", "K7", PlainClient.received)(
    "A body in chunks is read with their sizes in it.",
    lambda right, response: (
        b"%x\r\n%b\r\n0\r\n\r\n" % (len(body := right()), body) if _in_chunks(response) else right()
    ),
)


@client_fault("trailers-not-read", "K7", ByHand.trailers, base=ByHand)
def _(right: Right[None], stream: BufferedReader) -> None:
    """Anything behind the last chunk is an error."""
    if stream.readline() != b"\r\n":
        fail("the response does not end with its last chunk")


client_fault("coding-only-gzip", "K21", PlainClient.undone)(
    "The client undoes gzip and not deflate.",
    lambda right, name, body: body if known(name) == "deflate" else right(),
)
client_fault("idle-connection-trusted", "K36", ByHand.is_over, base=ByHand)(
    "A connection is used again without looking if the server has closed it.",
    lambda right, connection: False,
)
client_fault("truncated-chunks-read-on", "K26", PlainClient.received)(
    "A body in chunks that ends before its last chunk is taken as it is.",
    lambda right, response: _received_body(response) if _in_chunks(response) else right(),
)
client_fault("field-beyond-ascii-refused", "K34", ByHand.field, base=ByHand)(
    "A field whose value is not ASCII is an error.",
    lambda right, line: right() if line.isascii() else fail("malformed field"),
)
