"""Reads the responses of an exchange, during a run and again from its recorded bytes."""

from __future__ import annotations

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.wire.reader import STATUS_LINE, Message, MessageReader, UnreadableError, Waits
from v2_conformance.wire.response import Ending, Limits, Response

_MOST_INTERIM = 50
_SWITCHING_PROTOCOLS = 101
_BODILESS = (204, 304)
# A server may well write each element of a tensor as a chunk, but not each character. With more, a
# long tensor of four-byte elements would not fit into what is read (Limits.response_to).
_A_CHUNK = 6


class ResponseReader(MessageReader):
    """Reads the response to a request incrementally; `feed(b"")` says that the peer closed.

    With several `answers` there are as many requests, and it reads a response to each, unless the
    server closes between them, as it may. A `bodiless` response answers a HEAD: it has no body,
    whatever its head says (RFC 9110, section 9.3.2).
    """

    def __init__(self, limits: Limits, answers: int = 1, *, bodiless: bool = False) -> None:
        super().__init__(limits)
        self._answers = answers
        self._bodiless = bodiless

    @property
    def cost(self) -> int:
        """The received bytes, and 6 more for each chunk, to compare with what an answer needs."""
        return len(self.raw) + _A_CHUNK * sum([message.chunks for message in self.messages])

    @property
    def in_body(self) -> bool:
        """True if the head of the (first) response is there."""
        return bool(self.messages)

    @property
    def answered_first(self) -> bool:
        """True if the first of several is complete, and nothing after the last that is."""
        if self.done or not self.messages:
            return False
        last = self.messages[-1]
        return last.whole and last.end == len(self.raw)

    @property
    def reusable(self) -> bool:
        """True if HTTP allows another exchange on the connection."""
        if not self.done or self.eof or len(self.messages) != self._answers:
            return False
        last = self.messages[-1]
        return last.end == len(self.raw) and not last.is_old and "close" not in last.options

    def response(self) -> Response:
        """The response, as far as it came; its body shares memory with `raw` unless chunked."""
        if not self.messages:
            raise ValueError("the response has no head yet")
        following = None
        for message in reversed(self.messages[1:]):
            if message.whole:
                following = self._response(message, following)
        return self._response(self.messages[0], following)

    def _response(self, message: Message, following: Response | None) -> Response:
        last = self.done and message is self.messages[-1]
        return Response(
            int(message.first["status"]),
            message.fields,
            self.body(message),
            message.framing,
            len(self.raw) - message.end if last else 0,
            message.whole,
            following,
        )

    def _read(self) -> Waits:
        at = interim = 0
        while True:
            while (message := self._head(at, b"HTTP/", STATUS_LINE)) is None:
                if self.eof and self.answered_first:
                    return
                yield
            at = message.start
            status = int(message.first["status"])
            if status < 200:
                interim += 1
                if status == _SWITCHING_PROTOCOLS:
                    raise UnreadableError("it switches to another protocol")
                if interim > _MOST_INTERIM:
                    what = f"more than {_MOST_INTERIM} informational responses"
                    raise UnreadableError(what, Ending.TOO_LARGE)
                continue
            if self._bodiless or status in _BODILESS:
                message.length = 0
            self.messages.append(message)
            yield from self._body(message)
            if len(self.messages) == self._answers or not _is_kept(message):
                return
            at, interim = message.end, 0


def _is_kept(message: Message) -> bool:
    """Return True if other responses may follow on the connection (RFC 9112, section 9.3)."""
    if not message.is_old:
        return "close" not in message.options
    options = message.options
    return "keep-alive" in options and "close" not in options and message.length is not None


def asks_for_no_body(request: Buffer) -> bool:
    """Return True if the response to these bytes has no body: to a HEAD."""
    return bytes(request[:5]) == b"HEAD "


def read_again(
    received: Buffer, ending: Ending, answers: int = 1, *, request: Buffer = b""
) -> Response | None:
    """Return the response in the recorded bytes of an exchange, just as the connection read it.

    `answers` is how many requests the exchange had, `request` the bytes of the first.

    Returns None if its head is incomplete, or if the response is although the exchange is COMPLETE.
    """
    reader = ResponseReader(Limits(), answers, bodiless=asks_for_no_body(request))
    reader.feed(received)
    if ending is Ending.COMPLETE:
        if not reader.done:
            reader.feed(b"")
        return reader.response() if reader.done else None
    return reader.response() if reader.in_body else None
