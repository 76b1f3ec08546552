"""A request's JSON written as the variations of a case say (kind json of cases/variations.yaml).

Some operations change the document: the order of members, meaningless members, the digits of
numbers. The others decide how the document becomes text: escapes and white space.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache, partial
from itertools import cycle
from typing import Any

from v2_conformance.protocol.datatypes import FLOATS
from v2_conformance.protocol.message import COMPACT
from v2_conformance.protocol.names import BINARY_DATA_SIZE
from v2_conformance.suite.variations import Variation

_MODEL = "${model}"
_EXACT = 2**53
# A parser may set a limit to the precision of numbers (RFC 8259, section 6).
_MOST_DIGITS = 17
_ZERO = {"upper": "E0", "lower": "e+0", "negative": "e-2"}
_SPACE = " \t\r\n"
_NUMBERS = frozenset({int, float, bool})
_SIMPLE = _NUMBERS | {str}
_CONTROL = "".join(map(chr, range(0x20)))
_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r",
                  "\t": "\\t"}  # fmt: skip


class _Digits(str):
    """A number with the digits in which to write it."""

    __slots__ = ()


def write_spelled(document: Mapping[str, Any], given: Sequence[Variation], model: str) -> bytes:
    """Return the JSON of a request to `model`, in UTF-8, in these variations. Raises
    CaseFileError.
    """
    spelled: Any = document
    style = _Style()
    for variation in given:
        change = _CHANGES.get(variation.operation)
        if change is not None:
            spelled = change(spelled, variation.parameters, model)
        elif variation.operation == "escape":
            style = style.with_escapes(variation.parameters)
        elif variation.operation == "white_space":
            style = replace(style, between=tuple(variation.parameters["between"]))
        elif variation.operation == "indent":
            style = replace(style, indent=variation.parameters)
    return _write(spelled, style).encode()


# --- the document ---------------------------------------------------------------------------


def _order(value: Any, how: Mapping[str, Any], model: str) -> Any:
    if isinstance(value, list):
        if _SIMPLE.issuperset(map(type, value)):
            return value
        return [_order(item, how, model) for item in value]
    if not isinstance(value, dict):
        return value
    names = list(value)
    if how.get("reversed"):
        names.reverse()
    elif how.get("sorted"):
        names.sort()
    first = [name for name in how.get("first", ()) if name in value]
    last = [name for name in how.get("last", ()) if name in value]
    names = [*first, *(name for name in names if name not in (*first, *last)), *last]
    return {name: _order(value[name], how, model) for name in names}


def _add(document: dict[str, Any], how: Mapping[str, Any], model: str) -> dict[str, Any]:
    """Return the document with members that no document defines, or that servers need not read."""
    added = {name: model if value == _MODEL else value for name, value in how["members"].items()}
    if "long" in how:
        added |= dict.fromkeys(how["long"]["names"], "x" * how["long"]["length"])

    def add(level: dict[str, Any]) -> dict[str, Any]:
        free = {name: value for name, value in added.items() if name not in level}
        return {**free, **level} if how.get("before") else {**level, **free}

    return _at(document, how["at"], add)


def _add_parameters(document: dict[str, Any], how: Mapping[str, Any], model: str) -> dict[str, Any]:
    """Return the document with more parameters at these levels, or with an object that has none."""
    before, after = how.get("before", {}), how.get("after", {})

    def add(level: dict[str, Any]) -> dict[str, Any]:
        return {**level, "parameters": {**before, **level.get("parameters", {}), **after}}

    return _at(document, how["at"], add)


def _at(
    document: dict[str, Any],
    levels: Sequence[str],
    change: Callable[[dict[str, Any]], dict[str, Any]],
) -> dict[str, Any]:
    """Return the document with `change` applied to the request itself, its inputs or
    its outputs.
    """
    for level in levels:
        if level == "request":
            document = change(document)
        elif level in document:
            document = {**document, level: [change(entry) for entry in document[level]]}
    return document


def _respell_numbers(
    document: dict[str, Any], how: Mapping[str, Any], model: str
) -> dict[str, Any]:
    """Return the document with other digits for the same numbers, at the places in `of`."""
    spell = _SPELLINGS[how["as"]]

    def change(entry: dict[str, Any]) -> dict[str, Any]:
        if how["of"] == "sizes":
            sized = {**entry, "shape": [spell(size) for size in entry["shape"]]}
            parameters = entry.get("parameters", {})
            if BINARY_DATA_SIZE in parameters:
                size = spell(parameters[BINARY_DATA_SIZE])
                sized["parameters"] = {**parameters, BINARY_DATA_SIZE: size}
            return sized
        floats = entry["datatype"] in FLOATS
        if "data" not in entry or floats != (how["of"] == "floats"):
            return entry
        return {**entry, "data": _each(entry["data"], spell)}

    return _at(document, ["inputs"], change)


def _each(value: Any, spell: Callable[[Any], Any]) -> Any:
    if isinstance(value, list):
        return [_each(item, spell) for item in value]
    return spell(value) if type(value) in (int, float) else value


def _plain(value: float) -> Any:
    """Return a number without a fraction if it has none: 1, and 1e+300 for very many digits."""
    whole = float(value).is_integer() and abs(value) < _EXACT
    return _Digits("-0" if str(value) == "-0.0" else int(value)) if whole else value


def _exponent(form: str, value: float) -> _Digits:
    """Return the same number as digits and a power of ten: 1.5E2, 1.5e+2 or 15000e-2."""
    sign, digits, power = Decimal(repr(value)).as_tuple()
    if not isinstance(power, int):
        raise TypeError(f"{value} is not a JSON number")
    minus, written = "-" * sign, "".join(map(str, digits))
    text = written.strip("0")
    if not text:
        return _Digits(f"{minus}0{_ZERO[form]}")
    power += len(written) - len(written.rstrip("0"))
    if form == "negative":
        zeros = max(power, 0) + 2
        if len(text) + zeros > _MOST_DIGITS:
            return _Digits(repr(value))
        return _Digits(f"{minus}{text}{'0' * zeros}e{min(power, 0) - 2}")
    power += len(text) - 1
    fraction = f".{text[1:]}" if text[1:] else ""
    mark = "E" if form == "upper" else "e+" if power >= 0 else "e"
    return _Digits(f"{minus}{text[0]}{fraction}{mark}{power}")


def _zeros(value: float) -> Any:
    """Return a number with a fraction that ends in zeros: 1.000 and 2.5000."""
    text = repr(value)
    if "e" in text or "E" in text:
        return value
    return _Digits(f"{text}000" if "." in text else f"{text}.000")


_SPELLINGS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda value: value if value == 0 else _plain(value),
    "plain-zero": _plain,
    "exponent-upper": partial(_exponent, "upper"),
    "exponent-lower": partial(_exponent, "lower"),
    "exponent-negative": partial(_exponent, "negative"),
    "fraction": _zeros,
}
_CHANGES: dict[str, Callable[[Any, Mapping[str, Any], str], Any]] = {
    "order": _order,
    "members": _add,
    "parameters": _add_parameters,
    "numbers": _respell_numbers,
}


# --- the text -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Style:
    """Style of the text: its escapes, and the white space between two tokens."""

    in_names: Callable[[str], str] = COMPACT.encode
    in_values: Callable[[str], str] = COMPACT.encode
    between: tuple[str, ...] = ("",)
    indent: Mapping[str, str] | None = None

    @property
    def dense(self) -> bool:
        """True if nothing stands between two tokens."""
        return self.indent is None and not any(self.between)

    def as_usual(self, values: Sequence[Any]) -> bool:
        """Return True if these are spelled as usual, except for the white space between them."""
        usual = _SIMPLE if self.in_values == COMPACT.encode else _NUMBERS
        return usual.issuperset(map(type, values))

    def with_escapes(self, how: Mapping[str, Any]) -> _Style:
        """Return this style with the escapes of one variation added, in names, in values or in
        both.
        """
        which = re.compile(how["which"], re.DOTALL)
        hex = "X" if how.get("upper") else "x"
        short: Mapping[str, str] = how.get("short", {})
        once = how.get("once", False)

        @cache  # for one document, whose names come again and again
        def write(text: str) -> str:
            return _escaped(text, which, hex, short, once=once)

        where = how.get("where", ["names", "values"])
        return replace(
            self,
            in_names=write if "names" in where else self.in_names,
            in_values=write if "values" in where else self.in_values,
        )


def _escaped(
    text: str, which: re.Pattern[str], hex: str, short: Mapping[str, str], *, once: bool
) -> str:
    """`text` in quotes. Characters that `which` matches become a `short` escape or \\uXXXX.

    With `once` only the first match is escaped; whatever JSON wants escaped always is.
    """
    written = []
    done = False
    for character in text:
        if not done and which.fullmatch(character):
            written.append(short.get(character) or _units(character, hex))
            done = once
        elif character in _SHORT_ESCAPES:
            written.append(_SHORT_ESCAPES[character])
        else:
            written.append(_units(character, "x") if character in _CONTROL else character)
    return f'"{"".join(written)}"'


def _units(character: str, hex: str) -> str:
    data = character.encode("utf-16-be", "surrogatepass")
    units = (data[at : at + 2].hex() for at in range(0, len(data), 2))
    return "".join("\\u" + (unit.upper() if hex == "X" else unit) for unit in units)


def _write(document: Any, style: _Style) -> str:
    tokens: list[str] = []
    _add_tokens(tokens, document, style, 0)
    if style.indent is not None or style.dense:
        return "".join(tokens)
    # White space around the object is P11's concern.
    spaces = cycle(style.between)
    return "".join(token + next(spaces) for token in tokens).strip(_SPACE)


def _add_tokens(tokens: list[str], value: Any, style: _Style, depth: int) -> None:
    if not isinstance(value, dict | list):
        tokens.append(_scalar(value, style))
        return
    if isinstance(value, list) and style.dense and style.as_usual(value):
        tokens.append(COMPACT.encode(value))
        return
    start, end = "{}" if isinstance(value, dict) else "[]"
    tokens.append(start)
    for position, item in enumerate(value):
        if position:
            tokens.append(",")
        if style.indent is not None:
            tokens.append(style.indent["line"] + style.indent["step"] * (depth + 1))
        if isinstance(value, dict):
            tokens += (style.in_names(item), ":" if style.indent is None else ": ")
            item = value[item]
        _add_tokens(tokens, item, style, depth + 1)
    if style.indent is not None and value:
        tokens.append(style.indent["line"] + style.indent["step"] * depth)
    tokens.append(end)


def _scalar(value: Any, style: _Style) -> str:
    if isinstance(value, _Digits):
        return str(value)
    if isinstance(value, str):
        return style.in_values(value)
    return str(value) if type(value) is int else COMPACT.encode(value)
