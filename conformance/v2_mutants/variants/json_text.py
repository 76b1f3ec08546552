"""Variants of how the same JSON is written (RFC 8259)."""

from __future__ import annotations

import json
import re

from v2_conformance.reference.behaviour import Behaviour
from v2_mutants.registry import Right, variant

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


@variant("json-indented", "RFC 8259, section 2", Behaviour.json_text)
def _(right: Right[bytes], value: object) -> bytes:
    """JSON is indented, with white space around every colon and comma."""
    separators = (" \t,", "  :\r\n")
    text = json.dumps(value, indent=3, ensure_ascii=False, separators=separators)
    return text.encode()


@variant("json-in-ascii", "RFC 8259, section 7", Behaviour.json_text)
def _(right: Right[bytes], value: object) -> bytes:
    """Characters other than ASCII are escaped in JSON, and so is the solidus."""
    text = right().decode()
    compact = json.dumps(json.loads(text), separators=(",", ":")) if not text.isascii() else text
    return compact.replace("/", r"\/").encode()


variant("json-all-escaped", "RFC 8259, section 7", Behaviour.json_text)(
    "Every character of every string is escaped in JSON, names of members too.",
    lambda right, value: _STRING.sub(_escaped, right().decode()).encode(),
)


def _escaped(string: re.Match[str]) -> str:
    units = json.loads(string[0]).encode("utf-16-be")
    codes = (int.from_bytes(units[n : n + 2], "big") for n in range(0, len(units), 2))
    return '"' + "".join(f"\\u{code:04X}" for code in codes) + '"'


variant(
    "json-members-reversed", "RFC 8259, section 4: an object is unordered", Behaviour.json_text
)(
    "The members of every JSON object are in reverse order.",
    lambda right, value: right(_reversed(value)),
)


def _reversed(value: object) -> object:
    if isinstance(value, dict):
        return {name: _reversed(value[name]) for name in reversed(value)}
    if isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        return [_reversed(item) for item in value]
    return value
