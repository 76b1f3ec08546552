"""Joins the small chunks of a body, so that h11 reads a body in chunks of one byte in a fiftieth of
its time.

Only whole chunks are joined. Whatever else comes goes on as it is, so that there is one opinion on
it: tests compare the two.
"""

from __future__ import annotations

import re

_LARGE = 4096  # from here on, a chunk costs h11 little for its size
_LINE = re.compile(rb"([0-9A-Fa-f]{1,20})(?:;.*)?[ \t]*")
_LINE_END = b"\r\n"


class SmallChunks:
    """Takes the bytes behind a head that says `chunked`, and returns them with small chunks joined.

    A size line of which not all came is kept back until more comes, or until it has over `longest`
    bytes. `count` is the number of chunks that have begun.
    """

    def __init__(self, longest: int) -> None:
        self.count = 0
        self._longest = longest
        self._left = 0  # bytes of a chunk, with its line end, that are still to come
        self._begun = b""
        self._ended = False  # by the last chunk, or by something odd, which ends the response

    def joined(self, data: bytes) -> bytes:
        """Return what is to be read next, which may be nothing yet."""
        data, self._begun = self._begun + data, b""
        at = min(self._left, len(data))
        self._left -= at
        out = [data[:at]]
        small: list[bytes] = []
        while not self._ended and at < len(data):
            line_end = data.find(_LINE_END, at)
            if line_end < 0 and len(data) - at <= self._longest:
                self._begun, data = data[at:], data[:at]
                break
            line = _LINE.fullmatch(data, at, max(line_end, at))
            size = int(line[1], 16) if line else 0
            if not size:
                self._ended = True
                break
            self.count += 1
            start = line_end + len(_LINE_END)
            end = start + size + len(_LINE_END)
            if end <= len(data) and size < _LARGE and data.endswith(_LINE_END, start, end):
                small.append(data[start : end - len(_LINE_END)])
            else:
                out += [_as_one(small), data[at:end]]
                small = []
                self._left = max(0, end - len(data))
            at = min(end, len(data))
        return b"".join((*out, _as_one(small), data[at:]))

    def rest(self) -> bytes:
        """Return what was kept back, for nothing more comes."""
        return self._begun


def _as_one(chunks: list[bytes]) -> bytes:
    body = b"".join(chunks)
    return b"%x\r\n%b\r\n" % (len(body), body) if body else b""
