"""Servers that send too much, too little, too slowly, break off, die, or make everybody wait."""

from __future__ import annotations

import contextlib
import gzip
import socket
import zlib
from collections.abc import Iterator
from functools import cache, partial
from types import SimpleNamespace

from hostile.kit import (
    HEAD,
    INFER,
    MARK,
    NO_ANSWER,
    UNREADABLE,
    Answer,
    Start,
    add,
    always,
    answering,
    changing,
)
from support.responses import http, v2
from support.servers import Peer, Scripted, Step, served, serving, steps
from v2_mutants.servers import MutantServer

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
    # Millions of chunks take time and memory to read, and more beside other work.
    many = "of one byte" in name
    add(name, answering(answer, INFER), outcomes=SILENT | UNREADABLE,
        seconds=60 if many else 20, mib=300 if many else 200, slow=many)  # fmt: skip
for name, answer in NO_HTTP.items():
    add(name, answering(answer, INFER), outcomes=UNREADABLE | {"C12": "fail"})
# In a whole run, such a server would keep it busy for hours.
add("chunks of one byte without end, in many cases",
    answering(endless(CHUNKED, chunk(b" ") * 1000), INFER), outcomes=None,
    cases=("P2/*", "H1/*"), seconds=240, mib=300, says="far longer than they can need",
    slow=True)  # fmt: skip
for name, answer in {
    "never answers": stalls(),
    "a head and then nothing": stalls(HEAD + b"Content-Length: 100\r\n\r\n"),
    "only 100 Continue": stalls(b"HTTP/1.1 100 Continue\r\n\r\n"),
}.items():
    add(name, answering(answer, INFER), outcomes=SILENT | NOT_ANSWERED, timeout=0.5)

for coding in ("gzip", "deflate"):
    add(f"a bomb in {coding}", answering(bombs(coding), INFER), outcomes=UNREADABLE, mib=300,
        slow=True)  # fmt: skip
    add(f"a bomb in {coding} for metadata",
        answering(bombs(coding, 200, b'{"name":"'), DISCOVERY), code=3,
        says="cannot be read", mib=300, slow=True)  # fmt: skip
add("a bomb in gzip, in many cases", answering(bombs("gzip"), INFER), outcomes=None,
    cases=("P*", "D*"), seconds=60, says="far longer than they can need", slow=True)  # fmt: skip
add("a bomb for a model's metadata", answering(bombs("gzip", 200, b'{"name":"'), MODEL), code=4,
    says="cannot be read", mib=300, slow=True)  # fmt: skip
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


# Servers that die, or make everybody wait.

READY = b"GET /v2/health/ready "
GONE = dict.fromkeys(("H1", "P2", "R3", *NO_ANSWER), "inconclusive")


def _dying(at: bytes) -> Start:
    """A server that is gone, its port too, once it gets a request with `at`."""

    @contextlib.contextmanager
    def start() -> Iterator[Scripted]:
        running: list[Scripted] = []

        def talk(peer: Peer) -> None:
            while True:
                request = peer.request()
                if at in request:
                    running[0].die()
                    return
                peer.send(served(request))

        with serving(talk) as server:
            running.append(server)
            yield server

    return start


@contextlib.contextmanager
def _never_accepts() -> Iterator[SimpleNamespace]:
    with socket.create_server(("127.0.0.1", 0), backlog=1) as listener:
        yield SimpleNamespace(url=f"http://127.0.0.1:{listener.getsockname()[1]}")


HANGS = ("wrong-sizes-never-answered",)
MODELS = v2({"name": "x", "version": "1", "extensions": [], "models": ["model"] * MIB})
EXTENSIONS = v2({"name": "x", "version": "1", "extensions": [f"e{n}" for n in range(10_000)]})


# Death

add("dies at the first request", _dying(b""), code=3, says=NO_TARGET)
add("dies at the first model", _dying(MODEL), code=3, says=NO_TARGET)
add("dies at the first inference", _dying(INFER), outcomes=GONE)
add("dies at the request of one case", _dying(MARK),
    outcomes={"H1": "fail", "R3": "not_run"})  # fmt: skip

# Availability

add("never ready", changing(always(http(b"", 503)), READY), options=("--wait-ready", "1"),
    code=3, says="is not ready")  # fmt: skip
for value in ("0", str(10**30), "Fri, 31 Dec 9999 23:59:59 GMT", "soon"):
    wait = always(http(b"", 503, ("Retry-After", value)))
    add(f"503 with Retry-After: {value}", changing(wait, INFER),
        outcomes=GONE, timeout=0.5)  # fmt: skip
add("never accepts", _never_accepts, timeout=0.5, code=3, says=NO_TARGET)

# Metadata

add("a million models", changing(always(MODELS), DISCOVERY), code=3,
    says="longer than 1048576 bytes")  # fmt: skip
add("10^4 extensions", changing(always(EXTENSIONS), DISCOVERY))
add("no models", changing(always(http(b"{}", 404)), MODEL), code=4)

# What a server serves, and what it lets hang

add("stalls on a request that it should reject", answering(stalls(), b'"shape":[4]'),
    code=0, outcomes={"R3": "fail"}, timeout=1, slow=True)  # fmt: skip
# Long before the time limit of a run: a hang for each of hundreds of cases would take an hour.
add("whole run: wrong sizes never answered", partial(MutantServer, HANGS), cases=(), code=1,
    outcomes=None, timeout=10, seconds=240, mib=300, slow=True)  # fmt: skip
