"""Checks of a YAML file, before anything is made of it.

A few hundred bytes can stand for gigabytes (aliases of aliases), end the interpreter (nesting), or
mean different things to different readers. Each of these is an error with its line.
"""

from __future__ import annotations

import math
import re
from typing import Any

import yaml

# The suite's own files have a tenth of each.
_DEEPEST = 64
_MOST_VALUES = 300_000
_LONGEST_SCALAR = 1 << 20
_LONGEST_NUMBER = 4000
_LONGEST_NUMBER_AS_KEY = 18
_MOST_DIRECTIVES = 8
_TAGS = frozenset({"!", *(f"tag:yaml.org,2002:{name}" for name in ("str", "seq", "map"))})
_WORDS = {"tag:yaml.org,2002:bool": "true or false", "tag:yaml.org,2002:null": "null"}
_INTEGER, _FLOAT = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"
# YAML 1.1 reads these as numbers to the bases 60 and 8, YAML 1.2 and JSON do not.
_NOT_DECIMAL = re.compile(r"[-+]?0[xob].*|.*_.*", re.IGNORECASE)
_OF_OLD = re.compile(r"[-+]?(?:[0-9_]+(?::[0-9_.]+)+|0[0-9_]+)")


class YamlBoundsError(yaml.MarkedYAMLError):
    """A file that is YAML, and is not read."""

    def __init__(self, problem: str, mark: Any) -> None:
        super().__init__(problem=problem, problem_mark=mark)


def is_decimal(written: str) -> bool:
    """Return True if a number is written as everybody writes it, so that its text can be told from
    it."""
    return _NOT_DECIMAL.fullmatch(written) is None


def check_events(loader: Any, text: str) -> None:
    """Raise YamlBoundsError if the file would take too much; `loader` reads `text`.

    It looks at one event after the other, without recursion, and stops at the first that is wrong.
    """
    if text.startswith("%") + text.count("\n%") > _MOST_DIRECTIVES:
        raise YamlBoundsError("it has too many directives", None)
    open_at: list[tuple[str | None, int]] = []  # anchor, and values before it
    sizes: dict[str, int | None] = {}  # None while the value is still open
    values = 0
    while loader.check_event():
        event = loader.get_event()
        mark = event.start_mark
        if isinstance(event, yaml.AliasEvent):
            size = sizes.get(str(event.anchor), 1)
            if size is None:
                raise YamlBoundsError(f"*{event.anchor} is a part of itself", mark)
            values += size
        elif isinstance(event, yaml.NodeEvent):
            values += 1
            tag = event.tag  # type: ignore[attr-defined]
            if tag not in (None, *_TAGS):
                name = str(tag).replace("tag:yaml.org,2002:", "!!")[:80]
                raise YamlBoundsError(f"the tag {name} is not allowed; remove it", mark)
            if isinstance(event, yaml.ScalarEvent):
                if len(event.value) > _LONGEST_SCALAR:
                    raise YamlBoundsError("a value has more than 1 MiB", mark)
                if event.anchor is not None:
                    sizes[event.anchor] = 1
            else:
                open_at.append((event.anchor, values))
                if event.anchor is not None:
                    sizes[event.anchor] = None
                if len(open_at) > _DEEPEST:
                    raise YamlBoundsError(f"it is nested more than {_DEEPEST} levels deep", mark)
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_at.pop()
            if anchor is not None:
                sizes[anchor] = values - before + 1
        if values > _MOST_VALUES:
            raise YamlBoundsError(f"it has more than {_MOST_VALUES} values, aliases counted", mark)


def check_nodes(root: Any) -> None:
    """Raise YamlBoundsError for keys that are there twice, and for numbers that are no good."""
    seen: set[int] = set()
    waiting = [("", root)]
    while waiting:
        name, node = waiting.pop()
        if id(node) in seen:  # an alias
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            _check_keys(node)
            waiting += ((f"{key.value[:80]}: ", value) for key, value in node.value)
        elif isinstance(node, yaml.SequenceNode):
            waiting += ((name, item) for item in node.value)
        elif node.tag in (_INTEGER, _FLOAT):
            _check_number(name, node)


def _check_keys(node: yaml.MappingNode) -> None:
    keys: set[str] = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise YamlBoundsError("a key is not plain text", key.start_mark)
        if key.value in keys:
            raise YamlBoundsError(f"the key {key.value[:80]!r} occurs twice", key.start_mark)
        keys.add(key.value)
        if key.tag in _WORDS and key.value not in ("true", "false", "null"):
            raise YamlBoundsError(
                f"the key {key.value!r} is read as {_WORDS[key.tag]}; put it in quotes",
                key.start_mark,
            )
        if key.tag in (_INTEGER, _FLOAT):
            _check_number("", key)
            if not is_decimal(key.value):
                raise YamlBoundsError(
                    f"the key {key.value[:40]} is read as another number; put it in quotes",
                    key.start_mark,
                )
            if len(key.value) > _LONGEST_NUMBER_AS_KEY:  # they can be made to have the same hash
                raise YamlBoundsError("a key is a huge number; put it in quotes", key.start_mark)


def _check_number(name: str, node: yaml.ScalarNode) -> None:
    written = node.value
    if len(written) > _LONGEST_NUMBER:
        raise YamlBoundsError(f"{name}a number has {len(written)} digits", node.start_mark)
    if _OF_OLD.fullmatch(written):
        raise YamlBoundsError(
            f"{name}{written[:40]} means different numbers to different readers of YAML; put text "
            "in quotes, and write numbers in decimal without leading zeros",
            node.start_mark,
        )
    if node.tag == _FLOAT and not _is_finite(written):
        raise YamlBoundsError(f"{name}{written[:40]} is not a finite number", node.start_mark)


def _is_finite(written: str) -> bool:
    try:
        return math.isfinite(float(written.replace("_", "")))
    except ValueError:  # .inf and .nan, as YAML writes them
        return False
