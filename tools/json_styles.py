"""JSON as the documents print it: the same members and numbers in different white space."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class _Style:
    """`step` indents a line, `colon` stands between name and value, `inside` beside a bracket."""

    step: str
    colon: str
    inside: str


STYLES: Mapping[str, _Style | None] = {
    "spaced": _Style("  ", " : ", " "),
    "plain": _Style("  ", ": ", ""),
    "flush": _Style("", " : ", " "),
    "compact": None,
}
"""By name; None is JSON without any white space."""


def styled_json(value: Any, style: str) -> str:
    """`value` in one of the STYLES. Arrays of numbers, nested ones too, stay on one line."""
    chosen = STYLES[style]
    if chosen is None:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _styled(value, chosen, "\n")


def _styled(value: Any, style: _Style, line: str) -> str:
    """`line` is the line break, with the indentation of what comes after it."""
    inner = line + style.step
    if isinstance(value, dict):
        members = (
            json.dumps(name, ensure_ascii=False) + style.colon + _styled(item, style, inner)
            for name, item in value.items()
        )
        return _lines("{", members, "}", inner, line)
    if not isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    if any(isinstance(item, dict) for item in value):
        return _lines("[", (_styled(item, style, inner) for item in value), "]", inner, line)
    nested = any(isinstance(item, list) for item in value)
    inside = "" if nested else style.inside
    return f"[{inside}{', '.join(_styled(item, style, line) for item in value)}{inside}]"


def _lines(opening: str, items: Iterable[str], closing: str, inner: str, line: str) -> str:
    return opening + inner + ("," + inner).join(items) + line + closing
