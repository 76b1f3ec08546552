"""Patterns of causes, which tell one failure from another, and when two causes are the same.

A pattern names the kind of a cause, and may name members: `wrong_status`, or `{kind: wrong_status,
got: 400}`. Numbers must be equal. A text must match as a whole, and `*` in it stands for anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias, Union

import msgspec

from v2_conformance.suite.causes.base import CauseBase, FirstDifference, printable
from v2_conformance.suite.causes.causes import CAUSES, KINDS, Cause
from v2_conformance.terminal_safe_text import did_you_mean

Place: TypeAlias = tuple[str | int, ...]
"""Where something is in a cause: names of members, and indices of lists."""

_STRUCTS = {cause.__struct_config__.tag: cause for cause in CAUSES}
_FEW = 10
# Values that a server makes for each request or process: UUIDs, times, addresses and other long
# numbers, in decimal or hexadecimal.
_MADE_ANEW = re.compile(
    r"\b(?:"
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|0x[0-9a-f]{6,}"
    r"|\d{9,}"
    r"|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,}"
    r")(?![0-9A-Za-z])",
    re.IGNORECASE,
)


class PatternError(ValueError):
    """The text is not a pattern of a cause; `place` leads to the mistake."""

    def __init__(self, place: Place, message: str) -> None:
        super().__init__(message)
        self.place = place


Expected: TypeAlias = Union[bool, int, float, str, tuple["Expected", ...], "CausePattern", None]
"""The value that a member must have; a text is a pattern in which `*` stands for anything."""


@dataclass(frozen=True)
class CausePattern:
    """A pattern of a cause or of a part of one: its `kind` (None for a part), and members."""

    kind: str | None
    members: tuple[tuple[str, Expected], ...] = ()

    def matches(self, cause: object) -> bool:
        """Return True if a cause matches this pattern; None, no cause, never does."""
        return (
            isinstance(cause, msgspec.Struct)
            and self.kind in (None, cause.__struct_config__.tag)
            and all(_equal(expected, getattr(cause, name)) for name, expected in self.members)
        )

    @property
    def document(self) -> str | dict[str, Any]:
        """The pattern as an expectation file has it."""
        if self.kind is not None and not self.members:
            return self.kind
        members = {name: _document(expected) for name, expected in self.members}
        return members if self.kind is None else {"kind": self.kind, **members}

    def __str__(self) -> str:
        members = ", ".join(f"{name}: {_words(expected)}" for name, expected in self.members)
        if self.kind is None:
            return f"({members})"
        return f"{self.kind} ({members})" if members else self.kind


def pattern_of(cause: Cause) -> CausePattern:
    """Return the pattern of every cause that is the same failure as `cause`."""
    members = tuple((name, _stable(getattr(cause, name))) for name in cause.stable)
    return CausePattern(cause.kind, members)


def lasting(text: str) -> str:
    """Return `text` with `*` for what a server makes for each request, such as its id."""
    return _MADE_ANEW.sub("*", text)


def same_failure(one: Cause | None, other: Cause | None) -> bool:
    """Return True if two causes are the same failure, though words and numbers may differ."""
    if one is None or other is None:
        return one is other
    return pattern_of(one) == pattern_of(other)


def read_pattern(written: object) -> CausePattern:
    """Return the pattern in an expectation file: a kind, or a mapping with one. A value of another
    type than its member's never matches. Raises PatternError."""
    if isinstance(written, str):
        return CausePattern(_known(written, KINDS, "kind of cause", ()))
    if isinstance(written, dict) and isinstance(written.get("kind"), str):
        return _read_mapping(written, ())
    raise PatternError((), "expected a kind of cause, or a mapping such as `kind: wrong_status`")


def _stable(value: Any) -> Expected:
    if isinstance(value, CauseBase):
        pattern = pattern_of(value)
        return pattern if pattern.members else pattern.kind
    if isinstance(value, str):
        return lasting(value)
    expected: Expected = value
    return expected


def _equal(expected: Expected, value: object) -> bool:
    if isinstance(expected, CausePattern):
        return expected.matches(value)
    if isinstance(expected, tuple):
        same = isinstance(value, tuple) and len(value) == len(expected)
        return same and all(map(_equal, expected, value))  # type: ignore[call-overload]
    if isinstance(value, str) and expected is not None:  # 200 needs no quotation marks
        return _text_pattern(str(expected)).fullmatch(value) is not None
    if isinstance(value, CauseBase):
        return expected == value.kind
    return value == expected


@cache
def _text_pattern(text: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, text.split("*"))), re.DOTALL)


def _document(expected: Expected) -> Any:
    if isinstance(expected, CausePattern):
        return expected.document
    return [_document(item) for item in expected] if isinstance(expected, tuple) else expected


def _words(expected: Expected) -> str:
    if isinstance(expected, tuple):
        return f"[{', '.join(map(_words, expected))}]"
    return "null" if expected is None else str(expected)


def _read_mapping(written: Mapping[str, object], place: Place) -> CausePattern:
    kind = written.get("kind")
    if kind is not None:
        kind = _known(kind, KINDS, "kind of cause", (*place, "kind"))
    names = _STRUCTS.get(kind, FirstDifference).__struct_fields__
    members: list[tuple[str, Expected]] = []
    for name, value in written.items():
        if name != "kind":
            here = (*place, name)
            _known(name, names, f"member of {kind or 'a difference'}", here)
            members.append((name, _read(value, here)))
    return CausePattern(kind, tuple(members))


def _read(value: Any, place: Place) -> Expected:
    if isinstance(value, dict):
        return _read_mapping(value, place)
    if isinstance(value, list):
        return tuple(_read(item, (*place, number)) for number, item in enumerate(value))
    expected: Expected = value
    return expected


def _known(name: object, names: Sequence[str], what: str, place: Place) -> str:
    if isinstance(name, str) and name in names:
        return name
    otherwise = f"it has {', '.join(names) or 'none'}"
    if len(names) > _FEW:
        otherwise = "schemas/report.schema.json has all of them"
    hint = did_you_mean(str(name), names, otherwise)
    raise PatternError(place, f"unknown {what}: '{printable(name, 60)}'; {hint}")
