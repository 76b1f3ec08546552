"""Patterns of causes, which tell one failure from another, and when two causes are the same.

A pattern names the kind of a cause, and may name members: `wrong_status`, or `{kind: wrong_status,
got: 400}`. Numbers must be equal. A text must match as a whole, and `*` in it stands for anything.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias, Union

import msgspec
from msgspec import inspect

from v2_conformance.suite.causes.base import CauseBase, FirstDifference, printable
from v2_conformance.suite.causes.causes import CAUSES, KINDS, Cause

Place: TypeAlias = tuple[str | int, ...]
"""Where something is in a cause: names of members, and indices of lists."""

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
    """A pattern of a cause, or of a part of one: its `kind` (None for a part that has none), and
    members by name.
    """

    kind: str | None
    members: tuple[tuple[str, Expected], ...] = ()

    def matches(self, cause: object) -> bool:
        """Return True if a cause matches this pattern; None, no cause, never does."""
        if not isinstance(cause, msgspec.Struct):
            return False
        if self.kind is not None and self.kind != cause.__struct_config__.tag:
            return False
        return all(_equal(expected, getattr(cause, name)) for name, expected in self.members)

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
    """Return the pattern in an expectation file: a kind, or a mapping with one.

    Raises PatternError with what may have been meant.
    """
    return _cause_pattern(written, ())


def _stable(value: Any) -> Expected:
    if isinstance(value, CauseBase):
        return pattern_of(value)
    if isinstance(value, str):
        return lasting(value)
    expected: Expected = value
    return expected


def _equal(expected: Expected, value: object) -> bool:
    if isinstance(expected, CausePattern):
        return expected.matches(value)
    if isinstance(expected, tuple):
        return (
            isinstance(value, tuple)
            and len(value) == len(expected)
            and all(map(_equal, expected, value))
        )
    if isinstance(expected, str):
        return isinstance(value, str) and _text_pattern(expected).fullmatch(value) is not None
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


@cache
def _members_of(kind: str | None) -> Mapping[str, inspect.Type]:
    """Return the members of a cause of this kind; None for those of a FirstDifference."""
    types = {cause.__struct_config__.tag: cause for cause in CAUSES}
    info = inspect.type_info(types.get(kind, FirstDifference))
    assert isinstance(info, inspect.StructType)
    return {field.encode_name: field.type for field in info.fields}


def _cause_pattern(written: object, place: Place) -> CausePattern:
    if isinstance(written, str):
        return CausePattern(_known(written, KINDS, "kind of cause", place))
    if not isinstance(written, dict):
        raise PatternError(place, f"expected a kind of cause, or a mapping, got {_shown(written)}")
    kind = written.get("kind")
    if not isinstance(kind, str):
        raise PatternError(place, "a mapping needs the member `kind`, such as `kind: wrong_status`")
    _known(kind, KINDS, "kind of cause", (*place, "kind"))
    rest = {name: value for name, value in written.items() if name != "kind"}
    return CausePattern(kind, _read_members(rest, kind, place))


def _read_members(
    written: Mapping[str, object], kind: str | None, place: Place
) -> tuple[tuple[str, Expected], ...]:
    types = _members_of(kind)
    found = []
    for name, value in written.items():
        here = (*place, name)
        _known(name, tuple(types), f"member of {kind or 'a difference'}", here)
        found.append((name, _read(value, types[name], here)))
    return tuple(found)


def _known(name: str, names: Sequence[str], what: str, place: Place) -> str:
    if name in names:
        return name
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    if close:
        hint = f"did you mean {' or '.join(close)}?"
    elif len(names) > _FEW:
        hint = "schemas/report.schema.json has all of them"
    else:
        hint = f"it has {', '.join(names) or 'none'}"
    raise PatternError(place, f"unknown {what}: {_shown(name)}; {hint}")


def _read(value: object, of: inspect.Type, place: Place) -> Expected:
    """Return the value of a member whose type is `of`."""
    if isinstance(of, inspect.UnionType):
        if value is None and any(isinstance(t, inspect.NoneType) for t in of.types):
            return None
        others = [t for t in of.types if not isinstance(t, inspect.NoneType)]
        if len(others) > 1:  # any cause
            return _cause_pattern(value, place)
        return _read(value, others[0], place)
    if isinstance(of, inspect.StructType):
        if not isinstance(value, dict):
            raise PatternError(place, f"expected a mapping, got {_shown(value)}")
        return CausePattern(None, _read_members(value, None, place))
    if isinstance(of, inspect.VarTupleType):
        if not isinstance(value, list):
            raise PatternError(place, f"expected a list, got {_shown(value)}")
        return tuple(_read(item, of.item_type, (*place, n)) for n, item in enumerate(value))
    if isinstance(of, inspect.BoolType):
        if isinstance(value, bool):
            return value
        raise PatternError(place, f"expected true or false, got {_shown(value)}")
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(of, inspect.IntType | inspect.FloatType):
        if number:
            return value  # type: ignore[return-value]
        raise PatternError(place, f"expected a number, got {_shown(value)}")
    if isinstance(value, str) or number:  # a status such as "200" needs no quotation marks
        return str(value)
    raise PatternError(place, f"expected text, got {_shown(value)}")


def _shown(value: object) -> str:
    text = printable(value, 60)
    return f"'{text}'" if isinstance(value, str) else text
