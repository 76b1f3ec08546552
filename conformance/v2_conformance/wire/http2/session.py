"""The frames of one connection of HTTP/2, read and written with h2, in bounded time and memory.

Frames go to h2 one by one, so that no more than one is decoded ahead of what looks at it; but small
DATA frames that came together go as one, since each costs h2 as much as a long one. GOAWAY is read
here: h2 takes it for the end, but a server may send it and still answer (RFC 9113, 6.8).
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import Event
from h2.exceptions import DenialOfServiceError, H2Error
from h2.settings import SettingCodes, Settings

from v2_conformance.wire.transcript import Ending

PROTOCOL = "h2"
"""The name of HTTP/2 in ALPN."""

_RECEIVE, _RECEIVE_IDLE = 64 * 1024, 4 * 1024
_WINDOW = 1024 * 1024
_FRAME_HEAD = 9
_LONGEST_FRAME = 16 * 1024  # the default of SETTINGS_MAX_FRAME_SIZE, which stays
_DATA, _SETTINGS, _GOAWAY = 0, 4, 7
_GOAWAY_SIZE = 8
_BLOCKED = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


@dataclass(frozen=True)
class GoAway:
    """The server's GOAWAY: the last stream that it may have looked at, and its error code."""

    last_stream: int
    code: int


class Http2Session:
    """A connection that speaks HTTP/2 as a client, over a socket that does not block.

    `problem` says how the server broke HTTP/2, "" if it did not, and `problem_ending` how that ends
    an exchange. `beginning` are the first bytes that came, until they are known to be an HTTP/2
    frame. `received` counts the bytes of all frames that came. `unheard` is why nothing more can be
    sent, though what the server sent before may still be there.
    """

    def __init__(self, sock: socket.socket, longest_head: int) -> None:
        self.socket = sock
        self.eof = False
        self.problem = ""
        self.problem_ending = Ending.MALFORMED
        self.beginning = b""
        self.goaway: GoAway | None = None
        self.received = 0
        self.unheard: OSError | None = None
        self._came = bytearray()
        self._greeted = False
        self._out = b""
        self.h2 = H2Connection(
            H2Configuration(
                client_side=True,
                header_encoding=None,
                validate_outbound_headers=False,
                normalize_outbound_headers=False,
                normalize_inbound_headers=False,
            )
        )
        self.h2.local_settings = Settings(
            client=True,
            initial_values={
                SettingCodes.ENABLE_PUSH: 0,
                SettingCodes.INITIAL_WINDOW_SIZE: _WINDOW,
                SettingCodes.MAX_HEADER_LIST_SIZE: longest_head,
            },
        )
        self.h2.decoder.max_header_list_size = longest_head
        self.h2.initiate_connection()
        self.h2.increment_flow_control_window(_WINDOW)

    @property
    def usable(self) -> bool:
        """True if another stream can be opened on the connection, as far as is known."""
        if self.eof or self.problem or self.unheard or self.goaway is not None:
            return False
        room: int = self.h2.remote_settings.max_concurrent_streams
        return room > self.h2.open_outbound_streams

    def drain(self) -> None:
        """Take what has arrived while no request was pending, at most one piece. Raises OSError if
        the connection broke.
        """
        for _ in self.receive(_RECEIVE_IDLE):
            pass
        self.flush()

    def receive(self, most: int = _RECEIVE) -> Iterator[Event]:
        """Yield what has arrived, at most one piece of `most` bytes; nothing if nothing has.

        Afterwards look at `eof` and `problem`. Raises OSError if the connection broke.
        """
        try:
            data = self.socket.recv(most)
        except _BLOCKED:
            return
        if not data:
            self.eof = True
            return
        self._came += data
        if not self._greeted:
            self.beginning = bytes(self._came[:_FRAME_HEAD])
        at = 0
        while not self.problem:
            size = self._frame_size(at)
            if size is None:
                break
            start, at = at, at + size
            frame = self._came[start:at]
            if frame[3] == _DATA:
                at = self._join(frame, at)
            self.received += at - start
            yield from self._events(bytes(frame))
        del self._came[:at]

    def _join(self, frame: bytearray, at: int) -> int:
        """Append the data of the frames at `at` to a DATA frame, as far as they are like it and one
        frame has room. Return where the next frame starts.
        """
        alike = bytes((_DATA, 0)) + frame[5:_FRAME_HEAD]  # type, no flags, stream
        came = self._came
        while frame[3:_FRAME_HEAD] == came[at + 3 : at + _FRAME_HEAD] == alike:
            size = int.from_bytes(came[at : at + 3], "big")
            end = at + _FRAME_HEAD + size
            if not size or end > len(came) or len(frame) + size > _FRAME_HEAD + _LONGEST_FRAME:
                break
            frame += came[at + _FRAME_HEAD : end]
            at = end
        frame[:3] = (len(frame) - _FRAME_HEAD).to_bytes(3, "big")
        return at

    def _frame_size(self, at: int) -> int | None:
        """Return the bytes of the frame that starts at `at`, None if it is incomplete."""
        head = self._came[at : at + _FRAME_HEAD]
        if len(head) < _FRAME_HEAD:
            return None
        size, kind = int.from_bytes(head[:3], "big"), head[3]
        if not self._greeted and kind != _SETTINGS:
            self.problem = f"it begins with {bytes(head)!r}, not with a SETTINGS frame"
            return None
        if size > _LONGEST_FRAME:
            self.problem = f"a frame of {size} bytes, more than SETTINGS_MAX_FRAME_SIZE allows"
            self.problem_ending = Ending.TOO_LARGE
            return None
        self._greeted = True
        return _FRAME_HEAD + size if len(self._came) - at >= _FRAME_HEAD + size else None

    def _events(self, frame: bytes) -> Iterator[Event]:
        if frame[3] == _GOAWAY and len(frame) >= _FRAME_HEAD + _GOAWAY_SIZE:
            last, code = (int.from_bytes(frame[at : at + 4], "big") for at in (9, 13))
            self.goaway = GoAway(last & 0x7FFFFFFF, code)
            return
        try:
            events = self.h2.receive_data(frame)
        except H2Error as error:
            self.problem = str(error) or type(error).__name__
            if isinstance(error, DenialOfServiceError):
                self.problem_ending = Ending.TOO_LARGE
            return
        yield from events

    def flush(self) -> bool:
        """Send what is pending; return False if the server accepts no more for now. What a closed
        connection does not take is dropped. Raises OSError.
        """
        self._out += self.h2.data_to_send()
        while self._out:
            try:
                count = self.socket.send(self._out)
            except _BLOCKED:
                return False
            except (BrokenPipeError, ConnectionResetError) as error:
                self.unheard = error
                count = len(self._out)
            self._out = self._out[count:]
        return True
