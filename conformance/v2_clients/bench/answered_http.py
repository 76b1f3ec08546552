"""How the bench writes the HTTP of an answer: its head, its chunks, and what comes before them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from itertools import pairwise
from typing import Any

from v2_conformance.protocol.message import Part
from v2_conformance.wire.case_data import integer, mapping, text
from v2_conformance.wire.encode.delivery import cuts, read_delivery
from v2_conformance.wire.spelling.http import NAMES, chunked

CASES = {**NAMES, "usual": NAMES["given"]}
"""Ways to write the letters of a field's name, by `field_case` of a script."""
_SPACES = {"usual": (" ", ""), "none": ("", ""), "much": (" \t  ", " \t")}
_SIZES = {"usual": "{:x}", "capitals": "{:X}", "padded": "{:08x}"}
_SPELLING = ("chunk_digits", "chunk_extension", "more_fields", "phrase", "space", "trailers")
_CLOSING = ("closes", "resets")


def framed(
    fields: list[tuple[str, str]],
    body: bytes,
    parts: Sequence[Part],
    script: Mapping[str, Any],
    status: int,
) -> tuple[tuple[bytes, ...], bool]:
    """Return head and body in the writes in which they are sent, and whether the connection ends
    then.
    """
    spelling = mapping(script.get("spelling", {}), "`spelling`", _SPELLING)
    delivery = read_delivery(script.get("delivery", "whole"))
    old = script.get("version") == "1.0"
    by_close = script.get("framing") == "close"
    closes = old or by_close or script.get("then") in _CLOSING
    if delivery.chunked:
        fields.append(("Transfer-Encoding", "chunked"))
    elif not by_close:
        claimed = integer(script.get("claims", len(body)), "`claims`", least=0)
        fields.append(("Content-Length", str(claimed)))
    if closes and not old:
        fields.append(("Connection", "close"))
    more = integer(spelling.get("more_fields", 0), "`spelling.more_fields`", least=0, most=100)
    fields = [*((f"X-Gateway-{n}", f"{n:02d}" * 40) for n in range(more)), *fields]
    spell = CASES[script.get("field_case", "usual")]
    before, after = _SPACES[spelling.get("space", "usual")]
    phrase = "" if spelling.get("phrase") == "none" else _phrase(status)
    line = f"HTTP/{'1.0' if old else '1.1'} {status} {phrase}"
    lines = [line, *(f"{spell(name)}:{before}{value}{after}" for name, value in fields), "", ""]
    head = _interim(script) + "\r\n".join(lines).encode("latin-1", "replace")
    pieces = [body]
    if delivery.kind != "whole":
        places = cuts(delivery.how, f"`delivery.{delivery.kind}`", parts, len(body))
        edges = pairwise([0, *places, len(body)])
        pieces = [body[a:b] for a, b in edges if b > a]
    if delivery.chunked:
        size = _SIZES[spelling.get("chunk_digits", "usual")]
        extension = text(spelling.get("chunk_extension", ""), "`spelling.chunk_extension`")
        trailers = mapping(spelling.get("trailers", {}), "`spelling.trailers`")
        pieces = [*chunked(pieces, size, extension, trailers.items())]
    writes = [head + body] if delivery.kind == "whole" else [head, *pieces]
    return _cut(writes, len(head), script), closes


def _cut(writes: list[bytes], head: int, script: Mapping[str, Any]) -> tuple[bytes, ...]:
    """Return the writes cut off after the bytes that the script `sends`, or before those that it
    `lacks`.
    """
    total = sum(map(len, writes))
    sends = script.get("sends", "all")
    if sends == "all":
        left = total
    elif sends == "nothing":
        left = 0
    else:
        left = head + integer(sends, "`sends`", least=-head)
    left = min(left, total - integer(script.get("lacks", 0), "`lacks`", least=0, most=total))
    found = []
    for data in writes:
        if left > 0:
            found.append(data[:left])
        left -= len(data)
    return tuple(found)


def _interim(script: Mapping[str, Any]) -> bytes:
    """Return the interim responses: each a status, or one with its fields."""
    written = []
    for entry in script.get("interim", ()):
        one = entry if isinstance(entry, dict) else {"status": entry}
        fields = "".join(f"{name}: {value}\r\n" for name, value in one.get("headers", {}).items())
        written.append(f"HTTP/1.1 {one['status']} {_phrase(one['status'])}\r\n{fields}\r\n")
    return "".join(written).encode()


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
