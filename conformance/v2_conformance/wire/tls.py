"""TLS that takes a bounded step at a time.

An SSLSocket lets OpenSSL read for as long as records arrive that carry no data, such as requests to
greet again, session tickets and key updates: a server that sends them without end holds one call
for ever, whatever its time limit. Here OpenSSL sees only what was read for it.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer

_STEP = 65_536
_RECORD = 16_384
_MOST_UNSENT = 1 << 20
"""How much TLS may want to send of its own, while the other end reads nothing."""


class TlsSocket(socket.socket):
    """A connected socket with TLS, which never blocks.

    Like an SSLSocket it raises SSLWantReadError and SSLWantWriteError, and what was not sent then
    must be sent again. `shutdown` ends the connection's one direction, not TLS.
    """

    def __init__(self, raw: socket.socket, context: ssl.SSLContext, host: str) -> None:
        super().__init__(raw.family, raw.type, raw.proto, fileno=raw.detach())
        self.setblocking(False)
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._unsent = b""
        self._counted = 0
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)

    def handshake(self, timeout: float) -> None:
        """Agree with the server within `timeout` seconds. Raises OSError."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self._wait(deadline)
                self._take()
                continue
            except ssl.SSLError:
                with contextlib.suppress(OSError):
                    self._flush()  # the alert that says why
                raise
            while not self._flush():
                self._wait(deadline)
            return

    def _wait(self, deadline: float) -> None:
        poll = select.poll()
        poll.register(self, select.POLLIN if self._flush() else select.POLLIN | select.POLLOUT)
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            raise TimeoutError("the handshake did not end in time")

    def recv(self, bufsize: int, flags: int = 0, /) -> bytes:
        """Return data that arrived, nothing at the end. Reads the connection at most once."""
        data = self._read(bufsize)
        if data is None:
            self._take()
            data = self._read(bufsize)
        if data is None:
            raise ssl.SSLWantReadError
        return data

    def _read(self, size: int) -> bytes | None:
        try:
            return self._tls.read(size)
        except ssl.SSLWantReadError:
            return None
        except ssl.SSLEOFError:
            return b""  # it ended without saying so, as many servers do
        finally:
            # A server may answer, or say why not, close, and leave the rest of a request unread.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self._flush()

    def _take(self) -> None:
        """Give TLS what has arrived, at most one piece."""
        with contextlib.suppress(BlockingIOError):
            data = super().recv(_STEP)
            self._incoming.write(data) if data else self._incoming.write_eof()

    def send(self, data: Buffer, flags: int = 0, /) -> int:
        """Send some of `data`, at most a record. Returns how much once all of that is sent."""
        if not self._counted:
            self._counted = self._tls.write(memoryview(data)[:_RECORD])
        if not self._flush():
            raise ssl.SSLWantWriteError
        count, self._counted = self._counted, 0
        return count

    def _flush(self) -> bool:
        """Send what TLS wants to send; return True if nothing of it is left."""
        self._unsent += self._outgoing.read()
        while self._unsent:
            try:
                self._unsent = self._unsent[super().send(self._unsent) :]
            except BlockingIOError:
                if len(self._unsent) > _MOST_UNSENT:
                    raise ConnectionError("it reads nothing of what TLS has to send") from None
                return False
        return True

    def pending(self) -> bool:
        """True if something has arrived already that `recv` did not return yet."""
        return bool(self._tls.pending() or self._incoming.pending)
