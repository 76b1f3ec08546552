"""Mutations of a request's JSON: each changes one place of a well-formed document.

A change has a place, `at`, such as `inputs.1.shape.0` (empty for the whole document), and one of
the members of `_KINDS`. A place that is not there yet can be a new member of an object, or the next
element of an array. Later changes see what earlier ones did.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.message import dump_json
from v2_conformance.wire.encode import from_hex

_KINDS = ("to", "text", "hex", "long", "digits", "remove", "repeat", "nest")
_MOST_COPIES = 1000
# A noncharacter, which no case sends, marks where a literal goes.
_MARK = "\ufdd1"

Changes = Sequence[Mapping[str, Any]]


def change_json(document: bytes, changes: Changes, *, indent: int | None) -> bytes:
    """Return a JSON document with all `changes`, written as `dump_json` does. Raises CaseFileError
    for a place that is not there.
    """
    root = {"": json.loads(document)}
    literals: list[bytes] = []
    for change in changes:
        _change(root, change, literals)
    written = dump_json(root[""], indent)
    # Backwards, because a literal can contain the marks of earlier ones.
    for number, literal in reversed(list(enumerate(literals))):
        written = written.replace(dump_json(_marked(number)), literal)
    return written


def change_words(changes: Changes) -> str:
    """Return the changes for people: which places, and how."""
    return ", ".join(_words(change) for change in changes)


def _words(change: Mapping[str, Any]) -> str:
    kind = next(kind for kind in _KINDS if kind in change)
    where = change["at"] or "the document"
    if kind == "remove":
        return f"{where} removed"
    value = change[kind]
    # A literal is JSON as it is sent, in whatever spelling; the case needs it in that one.
    shown = value if kind in ("text", "hex") else json.dumps(value)
    shown = shown if len(shown) <= 40 else shown[:40] + "…"
    done = {"repeat": "{} times", "nest": "nested {} deep", "hex": "changed to the bytes {}"}
    done |= {"long": "changed to {} characters", "digits": "changed to {} digits"}
    return f"{where} {done.get(kind, 'changed to {}').format(shown)}"


def _change(root: dict[str, Any], change: Mapping[str, Any], literals: list[bytes]) -> None:
    place = change["at"]
    ((kind, value),) = ((kind, value) for kind, value in change.items() if kind != "at")
    holder, key = _find(root, place)
    new = key not in holder if isinstance(holder, dict) else key == len(holder)
    if new and kind in ("remove", "repeat", "nest"):
        raise CaseFileError(f"`json.change.{kind}`: there is no {place!r}")
    if kind == "remove":
        del holder[key]
    elif kind == "repeat":
        if not isinstance(holder, list):
            raise CaseFileError(f"`json.change.{kind}`: {place!r} is not an element of an array")
        # Copies, so that a later change can tell them apart, unless they are too many for that.
        if value <= _MOST_COPIES:
            one = dump_json(holder[key])
            again = [json.loads(one) for _ in range(value - 1)]
        else:
            again = [holder[key]] * (value - 1)
        holder[key + 1 : key + 1] = again
    elif kind == "to":
        _put(holder, key, value)
    elif kind == "long":
        _put(holder, key, "x" * value)
    else:
        if kind == "nest":
            literal = b"[" * value + dump_json(holder[key]) + b"]" * value
        elif kind == "digits":
            literal = b"1" * value
        else:
            literal = from_hex(value) if kind == "hex" else value.encode()
        _put(holder, key, _marked(len(literals)))
        literals.append(literal)


def _find(root: dict[str, Any], place: str) -> tuple[Any, Any]:
    """Return the object or array that has the place, and its name or index there."""
    holder: Any = root
    key: Any = ""
    for step in place.split(".") if place else ():
        if key not in holder if isinstance(holder, dict) else key == len(holder):
            raise CaseFileError(f"`json.change.at`: there is no {place!r}")
        holder = holder[key]
        key = int(step) if isinstance(holder, list) and step.isdecimal() else step
        fits = isinstance(key, int) and isinstance(holder, list) and key <= len(holder)
        if not (fits or isinstance(holder, dict)):
            raise CaseFileError(f"`json.change.at`: there is no {place!r}")
    return holder, key


def _put(holder: Any, key: Any, value: Any) -> None:
    if isinstance(holder, list) and key == len(holder):
        holder.append(value)
    else:
        holder[key] = value


def _marked(number: int) -> str:
    return f"{_MARK}{number}{_MARK}"
