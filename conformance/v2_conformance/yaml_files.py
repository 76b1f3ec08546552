"""YAML files that people write, read so that each problem has its line.

YAML has more than such a file needs, and readers disagree about it: 010 may be 8 or 10, `no` may be
false. Here a file has what JSON has: mappings whose keys are text, lists, text, decimal numbers,
true, false and null, besides anchors and merged mappings (<<). Anything else is text, which the
schema then refuses in the place of a number. A few hundred bytes can also stand for gigabytes
(aliases of aliases) or end the interpreter (nesting). So the size of a file, its depth and its
number of values, aliases counted, are bounded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

from v2_conformance.bounded_files import read_bounded
from v2_conformance.errors import ConformanceError
from v2_conformance.resources import fits, schema
from v2_conformance.terminal_safe_text import closest, did_you_mean

_MOST_BYTES = 1 << 20
_MOST_VALUES = 300_000
_DEEPEST = 64
_MOST_DIRECTIVES = 8
_LONGEST = 160
_MOST_ERRORS = 1000
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,3999})")
_FLOAT = re.compile(r"[-+]?(0|[1-9][0-9]*)(\.[0-9]*([eE][-+][0-9]+)?)")
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}
_KINDS = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "nothing",
}
_TYPES = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer",
          float: "number", type(None): "null"}  # fmt: skip

# How much a broken rule shows of what was meant: a wrong name more than its absence.
_TELLING = {"pattern": 0, "type": 0, "additionalProperties": 2}
# The C parser reads a file ten times faster; a PyYAML without libyaml lacks it.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class YamlFile:
    """A file's `document`, and the lines of its members; `name` is what messages call the file."""

    name: str
    document: Any
    lines: dict[int, list[int] | dict[str, int]]
    """For each list and mapping, by its `id`, the lines of what is in it."""

    def line(self, where: Sequence[Any]) -> int:
        """Return the line, from 1, of what is at `where`, or of the deepest on the way there."""
        value: Any = self.document
        line = 1
        for step in where:
            if not isinstance(value, dict | list):
                break
            if isinstance(value, dict) and step not in value:
                break
            lines: Any = self.lines[id(value)]
            value, line = value[step], lines[step]
        return line


def read_yaml(path: Path, error: type[ConformanceError], name: str | None = None) -> YamlFile:
    """Read a file (YAML, and so JSON). Raises `error`, with the line, if it cannot be read."""
    name = name or str(path)
    if path.name == "report.json":
        raise error(f"{name}: a report is not a target file, and not a file of known failures")
    data = read_bounded(path, _MOST_BYTES, error)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise error(f"{name}:{line}: not YAML: it is not UTF-8 text") from problem
    try:
        reader = _Reader(text)
        return YamlFile(name, reader.document(), reader.lines)
    except yaml.MarkedYAMLError as problem:
        mark: Any = problem.problem_mark
        # What the end of the file cuts off is said to be on the line after the last.
        line = min(mark.line + 1, max(1, len(text.splitlines()))) if mark else 1
        words = "" if isinstance(problem, _RefusedError) else "not YAML: "
        raise error(f"{name}:{line}: {words}{problem.problem}") from problem
    except yaml.YAMLError as problem:  # characters that YAML does not allow
        raise error(f"{name}:1: not YAML: {str(problem).splitlines()[0]}") from problem


def yaml_document(data: bytes) -> Any:
    """Return the document of one of the suite's own files."""
    return _Reader(data.decode()).document()


class _Reader:
    """Makes a document of the events of a parser."""

    def __init__(self, text: str) -> None:
        if text.startswith("%") + text.count("\n%") > _MOST_DIRECTIVES:
            raise _RefusedError(problem="it has too many directives")
        self.lines: dict[int, list[int] | dict[str, int]] = {}
        self._events: Iterator[Any] = yaml.parse(text, _LOADER)
        self._anchors: dict[str, tuple[Any, int]] = {}  # what they stand for, and its values
        self._values = 0

    def document(self) -> Any:
        """Return the only document, None if there is none."""
        next(self._events)  # the stream's start
        if isinstance(next(self._events), yaml.StreamEndEvent):
            return None
        document = self._value(next(self._events), 0)
        next(self._events)  # the document's end
        event = next(self._events)
        if not isinstance(event, yaml.StreamEndEvent):
            raise _problem("it has more than one document", event)
        return document

    def _value(self, event: Any, depth: int) -> Any:
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise _problem(f"not YAML: *{event.anchor} has no value before it", event)
            value, count = self._anchors[event.anchor]
            self._count(count, event)
            return value
        if event.tag is not None and event.tag != "!":
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")[:80]
            raise _problem(f"the tag {tag} is not allowed; remove it", event)
        if depth > _DEEPEST:
            raise _problem(f"it is nested more than {_DEEPEST} levels deep", event)
        before = self._values
        self._count(1, event)
        if isinstance(event, yaml.ScalarEvent):
            value = _scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = self._list(depth)
        else:
            value = self._mapping(depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, self._values - before)
        return value

    def _list(self, depth: int) -> list[Any]:
        values: list[Any] = []
        lines = self.lines[id(values)] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            lines.append(event.start_mark.line + 1)
            values.append(self._value(event, depth + 1))
        return values

    def _mapping(self, depth: int) -> dict[str, Any]:
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        lines = self.lines[id(own)] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = getattr(event, "value", None)
            if key is None:
                raise _problem("a key is not plain text", event)
            if key in lines:
                raise _problem(f"the key {key[:80]!r} occurs twice", event)
            lines[key] = event.start_mark.line + 1
            value = self._value(next(self._events), depth + 1)
            if key != "<<" or not event.implicit[0]:
                own[key] = value
                continue
            for one in reversed(value if isinstance(value, list) else [value]):
                if not isinstance(one, dict):
                    raise _problem("<< merges mappings alone", event)
                merged.update(one)
        for key, value in merged.items():
            lines.setdefault(key, lines["<<"])
            own.setdefault(key, value)
        return own

    def _count(self, count: int, event: Any) -> None:
        self._values += count
        if self._values > _MOST_VALUES:
            raise _problem(f"it has more than {_MOST_VALUES} values, aliases counted", event)


class _RefusedError(yaml.MarkedYAMLError):
    """A file that is valid YAML, but is refused."""


def _problem(words: str, event: Any) -> _RefusedError:
    return _RefusedError(problem=words, problem_mark=event.start_mark)


def _scalar(event: Any) -> Any:
    text: str = event.value
    if not event.implicit[0]:  # in quotes, or a block
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        if math.isinf(float(text)):
            raise _problem(f"{text[:40]} is too large a number", event)
        return float(text)
    return text


def check_yaml(
    file: YamlFile,
    name: str,
    error: type[ConformanceError],
    *,
    unnamed: int = 0,
    private: Collection[str] = (),
) -> None:
    """Raise `error` if the document does not fit schemas/NAME.schema.json.

    Its message names the member that is wrong, without the first `unnamed` steps to it. It quotes
    nothing in a `private` member, which may be a secret, nor, if there are any, a key that is like
    no member.
    """
    problem = misfit(name, file.document, unnamed, private)
    if problem is not None:
        where, words = problem
        raise error(f"{file.name}:{file.line(where)}: {words}")


def misfit(
    name: str, document: Any, unnamed: int = 0, private: Collection[str] = ()
) -> tuple[Sequence[str | int], str] | None:
    """Return what does not fit schemas/NAME.schema.json, and why in words, None if all fits."""
    if fits(name, document):
        return None
    problem = islice(schema(name).iter_errors(document), _MOST_ERRORS)
    errors = sorted(problem, key=lambda e: len(e.absolute_path))
    if not errors:
        return None
    wrong = errors[0]
    while wrong.context:  # the branch that came furthest says what is really wrong
        wrong = max(
            wrong.context, key=lambda e: (len(e.absolute_path), _TELLING.get(e.validator, 1))
        )
    where = tuple(wrong.absolute_path)
    hidden = bool(where) and where[0] in private
    member = ".".join(str(step) for step in where[unnamed : 1 if hidden else None]) or "the file"
    words = wrong.message if len(wrong.message) < _LONGEST else wrong.message[:_LONGEST] + "…"
    if wrong.validator == "type":
        given: str | Sequence[str] = wrong.validator_value
        types = [given] if isinstance(given, str) else given
        expected = " or ".join(_KINDS[type_name] for type_name in types)
        words = f"expected {expected}, got {_KINDS[_TYPES[type(wrong.instance)]]}"
    elif hidden:
        words = f"does not fit the schema ({wrong.validator})"
    elif wrong.validator == "pattern" and "title" in wrong.schema:
        words = f"expected {wrong.schema['title']}, got {wrong.instance[:_LONGEST]!r}"
    elif wrong.validator == "additionalProperties":
        known = wrong.schema.get("properties", {})
        extra = next((name for name in wrong.instance if name not in known), None)
        if known and extra is not None:
            where = (*where, extra)
            quoted = not private or closest(extra, known)
            which = f"member {extra[:_LONGEST]!r}" if quoted else "such member"
            words = f"there is no {which}: " + did_you_mean(
                extra, known, f"there are {', '.join(known)}"
            )
    return where, f"{member}: {words}"


def as_text(value: object) -> str:
    """Return a scalar as the file has it, or close to it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
