"""Servers that break HTTP in one way in all of their responses, and servers that only look so."""

from __future__ import annotations

from hostile.kit import (
    Change,
    add,
    always,
    changing,
    closing,
    faulty,
    in_chunks,
    length_changed,
    line,
    some,
)

INFER = b"/infer "
UNREAD = "no answer that can be read"
# What strict clients cannot read at all: no case passes that needs an answer.
NO_ANSWER = ("R2", "R7", "C5", *(f"C{number}" for number in range(9, 19)))
UNREADABLE = {"H1": "fail", "P2": "fail", "R3": "fail"}


def _version(version: bytes) -> Change:
    return lambda good: good.replace(b"HTTP/1.1", version, 1)


def _reason(end: bytes) -> Change:
    """Writes the end of the status line, from the space after the status on."""
    return lambda good: good[:12] + end + good[good.index(b"\r\n") :]


def _code(code: bytes) -> Change:
    return lambda good: good[:9] + code + good[12:]


def _first(data: bytes) -> Change:
    return lambda good: data + good


def _line_ends(good: bytes) -> bytes:
    head, _, body = good.partition(b"\r\n\r\n")
    return head.replace(b"\r\n", b"\n") + b"\n\n" + body


LEGIBLE: dict[str, tuple[str, Change]] = {
    "a length beside chunks": (
        "C9", in_chunks(coding=b"Content-Length: 1\r\nTransfer-Encoding: chunked")),
    "chunks beside a length": (
        "C9", in_chunks(coding=b"Transfer-Encoding: chunked\r\nContent-Length: 99999")),
    "a length in the trailer": ("C9", in_chunks(last=b"0\r\nContent-Length: 3\r\n\r\n")),
    "a transfer coding in the trailer": (
        "C9", in_chunks(last=b"0\r\nTransfer-Encoding: x\r\n\r\n")),
    "Content-Length: N, N": (
        "C10", length_changed(lambda n: b"Content-Length: %d, %d" % (n, n))),
    "Content-Length twice": (
        "C10", length_changed(lambda n: b"Content-Length: %d\r\ncontent-length: %d" % (n, n))),
    "chunked, chunked": ("C11", in_chunks(coding=b"Transfer-Encoding: chunked, chunked")),
    "Transfer-Encoding twice": (
        "C11", in_chunks(coding=b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked")),
    "identity, chunked": ("C11", in_chunks(coding=b"Transfer-Encoding: identity, chunked")),
    "HTTP/2.0": ("C12", _version(b"HTTP/2.0")),
    "HTTP/9.9": ("C12", _version(b"HTTP/9.9")),
    "HTTP/1.2": ("C12", _version(b"HTTP/1.2")),
    "HTTP/2": ("C12", _version(b"HTTP/2")),
    "HTTP/1.10": ("C12", _version(b"HTTP/1.10")),
    "no space after the status": ("C12", _reason(b"")),
    "two spaces before the status": ("C12", _version(b"HTTP/1.1 ")),
    "a NUL in the reason": ("C12", _reason(b" O\0K")),
    "an escape in the reason": ("C12", _reason(b" \x1b[31mOK")),
    "a CR in the reason": ("C12", _reason(b" O\rK")),
    "a space before the colon": ("C13", line(b"X-Trace : a")),
    "a tab before the colon": (
        "C13", length_changed(lambda n: b"Content-Length\t: %d" % n)),
    "a name of two words": ("C13", line(b"X Trace: a")),
    "no name": ("C13", line(b": a")),
    "a name in another alphabet": ("C13", line("Überschrift: a".encode())),
    "a NUL in a name": ("C13", line(b"X-Tr\0ace: a")),
    "a name in quotes": ("C13", line(b'"X-Trace": a')),
    "a control character in a value": ("C14", line(b"X-Trace: a\x01b")),
    "a NUL in a value": ("C14", line(b"X-Trace: a\0b")),
    "a CR in a value": ("C14", line(b"X-Trace: a\rContent-Length: 1")),
    "DEL in a value": ("C14", line(b"X-Trace: a\x7fb")),
    "an escape sequence in a value": ("C14", line(b"Server: \x1b]0;title\x07")),
    "a folded line": ("C15", line(b"X-Trace: a\r\n b")),
    "a line folded by a tab": ("C15", line(b"X-Trace: a\r\n\tb")),
    "a folded length": ("C15", length_changed(lambda n: b"Content-Length:\r\n %d" % n)),
    "lines that end with LF": ("C16", _line_ends),
    "one line that ends with LF": (
        "C16", lambda good: good.replace(b"\r\nContent-Type", b"\nContent-Type", 1)),
    "a head that ends with LF": ("C16", lambda good: good.replace(b"\r\n\r\n", b"\r\n\n", 1)),
    "a trailer that ends with LF": ("C16", in_chunks(last=b"0\r\nX-Sum: 1\n\r\n")),
    "padded chunk sizes": ("C17", in_chunks(lambda n: b"%-8x\r\n" % n)),
    "a control character in a chunk extension": (
        "C17", in_chunks(lambda n: b"%x;a=\x01\r\n" % n)),
    "a CR in a chunk extension": ("C17", in_chunks(lambda n: b"%x;a=\r;b\r\n" % n)),
    "a length in an interim response": (
        "C18", _first(b"HTTP/1.1 103 Early Hints\r\nContent-Length: 3\r\n\r\n")),
    "chunks in an interim response": (
        "C18", _first(b"HTTP/1.1 102 Processing\r\nTransfer-Encoding: chunked\r\n\r\n")),
    "Content-Type twice": (
        "R7", lambda good: good.replace(b"\nContent-Type", b"\ncontent-type: a/b\r\nContent-Type")),
}  # fmt: skip

ILLEGIBLE: dict[str, tuple[str, Change]] = {
    "two lengths that differ": (
        "C10", length_changed(lambda n: b"Content-Length: 7\r\nContent-Length: 8")),
    "a list of lengths that differ": ("C10", length_changed(lambda n: b"Content-Length: 7, 8")),
    "a length with a plus": ("C10", length_changed(lambda n: b"Content-Length: +%d" % n)),
    "a negative length": ("C10", length_changed(lambda n: b"Content-Length: -%d" % n)),
    "a length in hexadecimal": ("C10", length_changed(lambda n: b"Content-Length: 0x%x" % n)),
    "an empty length": ("C10", length_changed(lambda n: b"Content-Length:")),
    "a length in words": ("C10", length_changed(lambda n: b"Content-Length: seven")),
    "a length with a fraction": ("C10", length_changed(lambda n: b"Content-Length: %d.0" % n)),
    "gzip, chunked": ("C11", in_chunks(coding=b"Transfer-Encoding: gzip, chunked")),
    "xchunked": ("C11", in_chunks(coding=b"Transfer-Encoding: xchunked")),
    "chunked, gzip": ("C11", in_chunks(coding=b"Transfer-Encoding: chunked, gzip")),
    "http/1.1 in lower case": ("C12", _version(b"http/1.1")),
    "an empty line before the status line": ("C12", _first(b"\r\n")),
    "junk before the status line": ("C12", _first(b"junk")),
    "NULs before the status line": ("C12", _first(bytes(8))),
    "a byte order mark before the status line": ("C12", _first(b"\xef\xbb\xbf")),
    "ICY": ("C12", _version(b"ICY")),
    "a status of two digits": ("C12", _code(b"20")),
    "a status of four digits": ("C12", _code(b"2000")),
    "a status in words": ("C12", _code(b"two")),
    "status 099": ("C12", _code(b"099")),
    "a line without a colon": ("C13", line(b"X-Trace")),
    "a chunk size in other letters": ("C17", in_chunks(lambda n: b"zz\r\n")),
    "a negative chunk size": ("C17", in_chunks(lambda n: b"-%x\r\n" % n)),
    "a chunk size with 0x": ("C17", in_chunks(lambda n: b"0x%x\r\n" % n)),
    "a space before a chunk extension": ("C17", in_chunks(lambda n: b"%x ;a\r\n" % n)),
    "an empty chunk size": ("C17", in_chunks(lambda n: b"\r\n")),
    "a chunk size that ends with LF": ("C17", in_chunks(lambda n: b"%x\n" % n)),
    "a chunk that is longer than its size": ("C17", in_chunks(lambda n: b"%x\r\n" % (n - 3))),
    "a switch of protocols": (
        "C18", _first(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n")),
    "a body of an interim response": ("C18", _first(b"HTTP/1.1 100 Continue\r\n\r\nbody")),
}  # fmt: skip

# Nothing of this breaks a rule, and nothing may fail.
LEGAL: dict[str, Change] = {
    "names in lower case": lambda good: good.replace(b"Content-", b"content-"),
    "no reason": _reason(b" "),
    "a reason in Latin-1": _reason(b" gew\xf6hnlich"),
    "no white space after colons": length_changed(lambda n: b"Content-Length:%d" % n),
    "white space around values": length_changed(lambda n: b"Content-Length: \t %d \t " % n),
    "empty values": line(b"X-Empty:\r\nVary:"),
    "obs-text in a value": line(b"X-Name: caf\xe9 \xff"),
    "a length with leading zeros": length_changed(lambda n: b"Content-Length: %012d" % n),
    "list fields repeated": line(b"Vary: a\r\nVary: b\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d"),
    "Connection: keep-alive": line(b"Connection: keep-alive\r\nKeep-Alive: timeout=5"),
    "chunks": in_chunks(),
    "chunked in upper case": in_chunks(coding=b"TRANSFER-ENCODING: CHUNKED"),
    "chunk sizes in upper case with leading zeros": in_chunks(lambda n: b"0000%X\r\n" % n),
    "chunk extensions": in_chunks(lambda n: b'%x;a="b, \xe9" ;c\r\n' % n),
    "trailers": in_chunks(last=b"0;last\r\nX-Sum: 1\r\nX-Empty:\r\n\r\n"),
    "100 before each response": _first(b"HTTP/1.1 100 Continue\r\n\r\n"),
    "hints before each response": _first(
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nLink: </b>\r\n\r\n" * 5),
    "an offer to upgrade": line(b"Upgrade: h2c\r\nConnection: Upgrade"),
    "status line in HTTP/1.1 and 200 fields": line(b"\r\n".join([b"X-A: b"] * 200)),
}  # fmt: skip
LEGAL_AND_CLOSES: dict[str, Change] = {
    "Connection: close": line(b"Connection: close"),
    "HTTP/1.0": _version(b"HTTP/1.0"),
    "HTTP/1.0 without a length": lambda good: _version(b"HTTP/1.0")(
        length_changed(lambda n: b"X-Length: none")(good)),
    "a body that the end of the connection ends": length_changed(lambda n: b"Connection: close"),
}  # fmt: skip

for name, (requirement, change) in LEGIBLE.items():
    add(name, changing(change), outcomes={requirement: "fail"})
for name, (requirement, change) in ILLEGIBLE.items():
    add(name, changing(change, INFER), outcomes=UNREADABLE | {requirement: "fail"})
for name, (_, change) in some(ILLEGIBLE):
    add(f"{name}, from the start", changing(change), code=3, says=UNREAD, slow=True)
for name, change in LEGAL.items():
    add(f"legal: {name}", changing(change))
for name, change in LEGAL_AND_CLOSES.items():
    add(f"legal: {name}", closing(change))

# Bytes that belong to no response. They are seen if they come at once.
for name, change in {
    "a byte after each response": lambda good: good + b"\n",
    "each response twice": lambda good: good * 2,
    "an empty line after each response": lambda good: good + b"\r\n",
    "64 KiB after each response": lambda good: good + bytes(1 << 16),
}.items():
    add(name, changing(change, INFER), outcomes={"C5": "fail"})
for text in ("204 No Content", "304 Not Modified"):
    add(f"a body after {text}", changing(always(f"HTTP/1.1 {text}\r\n\r\n{{}}".encode()), INFER),
        outcomes={"H1": "fail", "P2": "fail", "C5": "fail"})  # fmt: skip
add("a length of 204", changing(always(b"HTTP/1.1 204 \r\nContent-Length: 0\r\n\r\n"), INFER),
    outcomes={"H1": "fail", "P2": "fail", "C9": "fail"})  # fmt: skip
add("chunks that have no end", closing(in_chunks(last=b"0\r\n"), INFER),
    outcomes=dict.fromkeys(NO_ANSWER, "inconclusive") | UNREADABLE | {"C17": "fail"})  # fmt: skip

add("identity beside a length",
    changing(length_changed(lambda n: b"Transfer-Encoding: identity\r\nContent-Length: %d" % n)),
    outcomes={"C9": "fail", "C11": "fail"})  # fmt: skip

# The whole suite, with a server that is right but for this.
for fault, *broken in (
    ("chunks-beside-content-length", "C9"),
    ("header-field-folded", "C15"),
    ("status-line-of-http-2", "C12"),
    ("lines-end-with-lf", "C16"),
    ("control-character-in-field", "C14"),
    ("content-length-joined", "C10"),
):
    add(f"whole run: {fault}", faulty(fault), cases=(), timeout=30, seconds=120, mib=300, slow=True,
        outcomes=dict.fromkeys(broken, "fail"), says="NOT CONFORMANT")  # fmt: skip
