"""How the bench writes the HTTP of an answer: its head, its chunks, and what comes before them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.message import Part
from v2_conformance.reference.response_writer import reason_phrase
from v2_conformance.wire.encode.delivery import cut_body, read_delivery
from v2_conformance.wire.spelling.http import NAMES, chunked

CASES = {**NAMES, "usual": NAMES["given"]}
"""Ways to write the letters of a field's name, by `field_case` of a script."""
_SPACES = {"usual": (" ", ""), "none": ("", ""), "much": (" \t  ", " \t")}
_SIZES = {"usual": "{:x}", "capitals": "{:X}", "padded": "{:08x}"}
_CLOSING = ("closes", "resets")
_CUTS = {"bytes": rb"(?s).", "lines": rb"[^\r\n]*[\r\n]|[^\r\n]+"}


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
    spelling = script.get("spelling", {})
    kind, how = read_delivery(script.get("delivery", "whole"))
    old = script.get("version") == "1.0"
    by_close = script.get("framing") == "close"
    closes = old or by_close or script.get("then") in _CLOSING
    if kind == "chunks":
        fields.append(("Transfer-Encoding", "chunked"))
    if "claims" in script or (kind != "chunks" and not by_close):
        fields.append(("Content-Length", str(script.get("claims", len(body)))))
    if closes and not old:
        fields.append(("Connection", "close"))
    more = spelling.get("more_fields", 0)
    fields = [*((f"X-Gateway-{n}", f"{n:02d}" * 40) for n in range(more)), *fields]
    spell = CASES[script.get("field_case", "usual")]
    before, after = _SPACES[spelling.get("space", "usual")]
    phrase = "" if spelling.get("phrase") == "none" else reason_phrase(status)
    line = f"HTTP/{'1.0' if old else '1.1'} {status} {phrase}"
    lines = [line, *(f"{spell(name)}:{before}{value}{after}" for name, value in fields), "", ""]
    head = _interim(script) + "\r\n".join(lines).encode("latin-1", "replace")
    pieces: Sequence[Buffer] = () if kind == "whole" else cut_body(body, how, parts)
    if kind == "chunks":
        size = _SIZES[spelling.get("chunk_digits", "usual")]
        extension = spelling.get("chunk_extension", "")
        trailers = spelling.get("trailers", {})
        pieces = chunked(pieces, size, extension, trailers.items())
    writes = [head + body] if kind == "whole" else [head, *map(bytes, pieces)]
    sent = _sent(writes, len(head), script)
    if "cut" in script:
        sent = tuple(re.findall(_CUTS[script["cut"]], b"".join(sent)))
    return sent, closes


def _sent(writes: list[bytes], head: int, script: Mapping[str, Any]) -> tuple[bytes, ...]:
    """Return the writes up to the bytes that the script `sends`, or to those that it `lacks`."""
    total = sum(map(len, writes))
    sends = script.get("sends", total)
    left = 0 if sends == "nothing" else min(head + sends, total - script.get("lacks", 0))
    results = []
    for data in writes:
        if left > 0:
            results.append(data[:left])
        left -= len(data)
    return tuple(results)


def _interim(script: Mapping[str, Any]) -> bytes:
    """Return the interim responses: each a status, or one with its fields."""
    written = []
    for entry in script.get("interim", ()):
        one = entry if isinstance(entry, dict) else {"status": entry}
        fields = "".join(f"{name}: {value}\r\n" for name, value in one.get("headers", {}).items())
        written.append(f"HTTP/1.1 {one['status']} {reason_phrase(one['status'])}\r\n{fields}\r\n")
    return "".join(written).encode()
