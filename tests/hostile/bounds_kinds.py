"""Servers that send too much, too little, too slowly, or break off."""

from __future__ import annotations

import gzip
import zlib
from functools import cache

from hostile.kit import (
    HEAD,
    INFER,
    NO_ANSWER,
    UNREAD,
    UNREADABLE,
    Answer,
    add,
    always,
    answering,
    changing,
)
from support.responses import http
from support.servers import Peer, Step, steps

MIB = 1 << 20
DISCOVERY = b"GET /v2 "
MODEL = b"GET /v2/models/"
NOT_ANSWERED = {"H1": "inconclusive", "P2": "inconclusive", "R3": "inconclusive"}
NO_TARGET = "v2-conformance: http"
SILENT = dict.fromkeys(NO_ANSWER, "inconclusive")


def says(*done: Step) -> Answer:
    """Takes these steps, and closes."""
    script = steps(*done)

    def answer(peer: Peer, request: bytes) -> bool:
        script(peer)
        return False

    return answer


def endless(start: bytes, piece: bytes) -> Answer:
    return says(start, lambda peer: peer.forever(piece))


def stalls(start: bytes = b"") -> Answer:
    """Sends `start`, and then nothing."""
    return says(start, Peer.until_closed)


def drips(data: bytes, every_s: float) -> Answer:
    """Sends a byte at a time."""

    def answer(peer: Peer, request: bytes) -> bool:
        for byte in data:
            peer.send(bytes([byte]))
            if peer.left(within_s=every_s):
                break
        return False

    return answer


def resets(start: bytes = b"") -> Answer:
    """Sends `start`, then a TCP reset."""
    return says(start, Peer.reset)


@cache
def bomb(coding: str, size: int = 128 * MIB, start: bytes = b'{"outputs":[') -> bytes:
    """So many spaces behind `start`, in a coding, without ever holding them."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31 if coding == "gzip" else 15)
    pieces = [packer.compress(start)]
    pieces += [packer.compress(b" " * MIB) for _ in range(size // MIB)]
    return b"".join([*pieces, packer.flush()])


def bombs(coding: str, status: int = 200, start: bytes = b'{"outputs":[') -> Answer:
    def answer(peer: Peer, request: bytes) -> None:
        body = bomb(coding, start=start)
        peer.send(http(body, status, ("Content-Encoding", coding)))

    return answer


def nested(times: int) -> bytes:
    body = b"{}"
    for _ in range(times):
        body = gzip.compress(body)
    return http(body, 200, ("Content-Encoding", ", ".join(["gzip"] * times)))


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
PACKED = HEAD + b"Content-Encoding: %b\r\n\r\n"
TLS_ALERT = b"\x15\x03\x01\x00\x02\x02\x28"
TLS_HELLO = b"\x16\x03\x03\x00\x7a\x02\x00\x00\x76" + bytes(range(118))

# To inference only: what is sent fails, because no answer is whole.
TO_INFERENCE: dict[str, Answer] = {
    "a header without end": endless(HEAD + b"A: ", b"b" * 1000),
    "a status line without end": endless(b"HTTP/1.1 200 ", b"O" * 1000),
    "interim responses without end": endless(b"", b"HTTP/1.1 103 Hint\r\n\r\n"),
    "closes in the head": says(HEAD + b"Content-Le"),
    "resets at once": resets(),
}
NO_HTTP: dict[str, Answer] = {
    "garbage": says(bytes(range(256))),
    "a TLS alert": says(TLS_ALERT),
    "a TLS handshake": says(TLS_HELLO),
    "HTTP/2 frames": says(bytes.fromhex("000006040000000000000300000064")),
}
BODIES: dict[str, Answer] = {
    "a chunk size of zeros without end": endless(CHUNKED, b"0" * 1000),
    "empty members of gzip without end": endless(PACKED % b"gzip", gzip.compress(b"") * 50),
    "empty blocks of deflate without end": endless(
        PACKED % b"deflate" + b"\x78\xda", b"\0\0\0\xff\xff" * 200
    ),
    "chunks without end": endless(CHUNKED, chunk(bytes(1 << 16))),
    "chunks of one byte without end": endless(CHUNKED, chunk(b" ") * 1000),
    "a trailer without end": endless(CHUNKED + b"0\r\n", b"A: b\r\n" * 1000),
    "closes in the body": says(HEAD + b"Content-Length: 100\r\n\r\n{"),
    "resets in the body": resets(HEAD + b"Content-Length: 100\r\n\r\n{"),
    "a length of 10^18": says(HEAD + b"Content-Length: %d\r\n\r\n{" % 10**18),
    "a chunk of 2^63 bytes": says(CHUNKED + b"8000000000000000\r\n{"),
}

# The head of an error is a rejection, and nothing else.
add("resets in an error", answering(resets(b"HTTP/1.1 400 Bad Request\r\n\r\n"), INFER),
    outcomes=SILENT | {"H1": "fail", "P2": "fail"})  # fmt: skip
for name, answer in (TO_INFERENCE | BODIES).items():
    # A million chunks take their time to read, and more beside other work.
    add(name, answering(answer, INFER), outcomes=SILENT | UNREADABLE,
        seconds=60 if "of one byte" in name else 20)  # fmt: skip
for name, answer in NO_HTTP.items():
    add(name, answering(answer, INFER), outcomes=UNREADABLE | {"C12": "fail"})
    spoken = [protocol for protocol in ("TLS", "HTTP/2") if protocol in name]
    told = f"this port speaks {spoken[0]}" if spoken else UNREAD
    add(f"{name}, from the start", answering(answer), code=3, says=told, slow=True)
# In a whole run, such a server would keep it busy for hours.
add("chunks of one byte without end, in many cases",
    answering(endless(CHUNKED, chunk(b" ") * 1000), INFER), outcomes=None,
    cases=("P2/*", "H1/*"), seconds=240, says="far longer than they can need",
    slow=True)  # fmt: skip
for name, answer in {
    "never answers": stalls(),
    "a head and then nothing": stalls(HEAD + b"Content-Length: 100\r\n\r\n"),
    "one byte a second": drips(HEAD * 10, 1),
    "only 100 Continue": stalls(b"HTTP/1.1 100 Continue\r\n\r\n"),
}.items():
    add(name, answering(answer, INFER), outcomes=SILENT | NOT_ANSWERED, timeout=0.5)

for coding in ("gzip", "deflate"):
    add(f"a bomb in {coding}", answering(bombs(coding), INFER), outcomes=UNREADABLE, mib=300,
        slow=True)  # fmt: skip
    add(f"a bomb in {coding} for metadata",
        answering(bombs(coding, 200, b'{"name":"'), DISCOVERY), code=3,
        says="cannot be read", mib=300)  # fmt: skip
add("a bomb for a model's metadata", answering(bombs("gzip", 200, b'{"name":"'), MODEL), code=4,
    says="cannot be read", mib=300)  # fmt: skip
add("a bomb for an error", answering(bombs("gzip", 400, b'{"error":"'), INFER),
    outcomes=UNREADABLE, mib=300, seconds=90, slow=True)  # fmt: skip
for times in (2, 100):
    add(f"gzip {times} times", changing(always(nested(times)), INFER), outcomes=UNREADABLE)
add("a coding that is none", answering(says(http(b"{}", 200, ("Content-Encoding", "gzip"))), INFER),
    outcomes=UNREADABLE)  # fmt: skip

# Bytes that belong to no response. They are seen if they come at once.
add("each response twice", changing(lambda good: good * 2, INFER), outcomes={"C5": "fail"})
add("64 KiB after each response", changing(lambda good: good + bytes(1 << 16), INFER),
    outcomes={"C5": "fail"})  # fmt: skip
