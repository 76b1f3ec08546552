"""YAML files that people write, read so that each problem has its line."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

from v2_conformance.bounded_files import read_bounded
from v2_conformance.errors import ConformanceError
from v2_conformance.resources import fits, schema
from v2_conformance.suggestions import did_you_mean
from v2_conformance.yaml_bounds import YamlBoundsError, check_events, check_nodes

_LONGEST = 160
_MOST_BYTES = 8 << 20
_MOST_ERRORS = 1000
_KINDS = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "nothing",
}
_TYPES = (  # a boolean is an int, too
    (dict, "object"),
    (list, "array"),
    (str, "string"),
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (type(None), "null"),
)

# The C parser reads a file ten times faster; a PyYAML without libyaml lacks it.
_YAML_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _without_dates() -> Any:
    """A loader to which a date is text, as it is in JSON."""
    resolvers = {
        first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
        for first, pairs in _YAML_LOADER.yaml_implicit_resolvers.items()
    }
    return type("Loader", (_YAML_LOADER,), {"yaml_implicit_resolvers": resolvers})


_LOADER = _without_dates()
_TEXT, _SEQUENCE, _MAPPING = (f"tag:yaml.org,2002:{name}" for name in ("str", "seq", "map"))


@dataclass(frozen=True)
class YamlFile:
    """A file's `document`, with every key of a mapping as text, and the node that it was made of.

    `name` is what messages call the file.
    """

    name: str
    document: Any
    node: Any

    def written(self, where: tuple[str | int, ...]) -> str:
        """The scalar at `where` as the file has it; "" if there is none."""
        node, _ = self._found(where)
        return str(node.value) if isinstance(node, yaml.ScalarNode) else ""

    def line(self, where: tuple[str | int, ...]) -> int:
        """The line, from 1, of what is at `where`, or of the deepest on the way that exists."""
        return self._found(where)[1]

    def _found(self, where: tuple[str | int, ...]) -> tuple[Any, int]:
        """Return the node at `where`, None if it is absent, and the line that `line` returns."""
        node = self.node
        line = node.start_mark.line + 1 if node else 1
        for step in where:
            if isinstance(node, yaml.MappingNode):
                key, node = next(
                    ((k, v) for k, v in node.value if k.value == str(step)), (None, None)
                )
                if key is None:
                    return None, line
                line = key.start_mark.line + 1
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
                node = node.value[step]
                line = node.start_mark.line + 1
        return node, line


def read_yaml(path: Path, error: type[ConformanceError], name: str | None = None) -> YamlFile:
    """Read a file (YAML, and so JSON). Raises `error`, with the line, if it cannot be read.

    So does what would take too much memory or time, or is read in different ways: see yaml_bounds.
    """
    name = name or str(path)
    data = read_bounded(path, _MOST_BYTES, error)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise error(f"{name}:{line}: not YAML: it is not UTF-8 text") from problem
    try:
        _check_events(text)
        loader = _LOADER(text)
        try:
            node = loader.get_single_node()
            if node is not None:
                check_nodes(node)
            document = _document(loader, node) if node else None
        finally:
            loader.dispose()
    except (yaml.YAMLError, ValueError) as problem:
        mark = getattr(problem, "problem_mark", None)
        # What the end of the file cuts off is said to be on the line after the last.
        line = min(mark.line + 1, max(1, len(text.splitlines()))) if mark else 1
        words = getattr(problem, "problem", None) or str(problem).splitlines()[0]
        if not isinstance(problem, YamlBoundsError):
            words = f"not YAML: {words}"
        raise error(f"{name}:{line}: {words}") from problem
    return YamlFile(name, document, node)


def yaml_document(data: bytes) -> Any:
    """Return the document of a file that is known to be right."""
    loader = _LOADER(data)
    return _document(loader, loader.get_single_node())


def _check_events(text: str) -> None:
    loader = _LOADER(text)
    try:
        check_events(loader, text)
    finally:
        loader.dispose()


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
    no value of a `private` member, which may be a secret.
    """
    if fits(name, file.document):
        return
    found = islice(schema(name).iter_errors(file.document), _MOST_ERRORS)
    errors = sorted(found, key=lambda e: len(e.absolute_path))
    if not errors:
        return
    wrong = errors[0]
    while wrong.context:  # the branch that came furthest says what is really wrong
        wrong = max(wrong.context, key=lambda e: (len(e.absolute_path), _telling(e.validator)))
    where = tuple(wrong.absolute_path)
    member = ".".join(str(step) for step in where[unnamed:]) or "the file"
    words = wrong.message if len(wrong.message) < _LONGEST else wrong.message[:_LONGEST] + "…"
    if wrong.validator == "type":
        words = f"expected {_expected(wrong.validator_value)}, got {_kind(wrong.instance)}"
    elif where and where[0] in private:
        words = f"does not fit the schema ({wrong.validator})"
    elif wrong.validator == "additionalProperties":
        known = wrong.schema.get("properties", {})
        extra = next((name for name in wrong.instance if name not in known), None)
        if known and extra is not None:
            where = (*where, extra)
            words = f"there is no member {extra[:_LONGEST]!r}: " + did_you_mean(
                extra, known, f"there are {', '.join(known)}"
            )
    raise error(f"{file.name}:{file.line(where)}: {member}: {words}")


def _expected(types: str | Sequence[str]) -> str:
    """JSON types of a schema in words; they are no secret, and neither is that of a value."""
    return " or ".join(_KINDS[name] for name in ([types] if isinstance(types, str) else types))


def _kind(value: object) -> str:
    for kind, name in _TYPES:
        if isinstance(value, kind):
            return _KINDS[name]
    return "something else"


def _telling(validator: str) -> int:
    """Return how much a broken rule says of what was meant: a wrong name says more than its
    absence."""
    return {"type": 0, "additionalProperties": 2}.get(validator, 1)


def _document(loader: Any, node: Any) -> Any:
    """Return the value of a node, with every mapping's keys as text: YAML reads 0 as a number, JSON
    Schema cannot.

    PyYAML's constructor does the same for a single value. For whole files it takes twice the time.
    """
    tag, value = node.tag, node.value
    if tag == _TEXT and isinstance(value, str):
        return value
    if tag == _MAPPING and isinstance(node, yaml.MappingNode):
        if any(key.tag != _TEXT for key, _ in value):
            loader.flatten_mapping(node)  # <<
        keys = [_document(loader, key) for key, _ in node.value]
        items = (_document(loader, item) for _, item in node.value)
        keyed = dict(zip(map(as_text, keys), items, strict=True))
        if len(keyed) != len(set(keys)):
            raise ValueError("two keys of a mapping are the same as text")
        return keyed
    if tag == _SEQUENCE and isinstance(node, yaml.SequenceNode):
        return [_document(loader, item) for item in value]
    return loader.construct_object(node, deep=True)


def as_text(value: object) -> str:
    """A scalar as the file has it, or close to it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
