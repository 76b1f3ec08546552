"""YAML files that people write, read so that each problem has its line."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from v2_conformance.errors import ConformanceError
from v2_conformance.resources import YAML_LOADER, fits, schema

_LONGEST = 160


def _without_dates() -> Any:
    """A loader to which a date is text, as it is in JSON."""
    resolvers = {
        first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
        for first, pairs in YAML_LOADER.yaml_implicit_resolvers.items()
    }
    return type("Loader", (YAML_LOADER,), {"yaml_implicit_resolvers": resolvers})


_LOADER = _without_dates()


@dataclass(frozen=True)
class YamlFile:
    """A file's `document`, with every key of a mapping as text, and the node that it was made of.

    `name` is what messages call the file.
    """

    name: str
    document: Any
    node: Any

    def line(self, where: tuple[str | int, ...]) -> int:
        """The line, from 1, of what is at `where`, or of the deepest on the way that exists."""
        node = self.node
        line = node.start_mark.line + 1 if node else 1
        for step in where:
            if isinstance(node, yaml.MappingNode):
                pair = next(((k, v) for k, v in node.value if k.value == str(step)), None)
                if pair is None:
                    return int(line)
                line, node = pair[0].start_mark.line + 1, pair[1]
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
                node = node.value[step]
                line = node.start_mark.line + 1
        return int(line)


def read_yaml(path: Path, error: type[ConformanceError], name: str | None = None) -> YamlFile:
    """Read a file (YAML, and so JSON). Raises `error`, with the line, if it cannot be read."""
    name = name or str(path)
    try:
        with path.open(encoding="utf-8") as file:
            loader = _LOADER(file)
            try:
                node = loader.get_single_node()
                document = _text_keys(loader.construct_document(node)) if node else None
            finally:
                loader.dispose()
    except OSError as problem:
        raise error(f"cannot read {path}: {problem.strerror}") from problem
    except (yaml.YAMLError, ValueError, RecursionError) as problem:
        mark = getattr(problem, "problem_mark", None)
        # What the end of the file cuts off is said to be on the line after the last.
        line = min(mark.line + 1, len(path.read_bytes().splitlines())) if mark else 1
        words = getattr(problem, "problem", None) or str(problem).splitlines()[0]
        raise error(f"{name}:{line}: not YAML: {words}") from problem
    return YamlFile(name, document, node)


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
    errors = sorted(schema(name).iter_errors(file.document), key=lambda e: len(e.absolute_path))
    if not errors:
        return
    wrong = errors[0]
    while wrong.context:  # the branch that came furthest says what is really wrong
        wrong = max(wrong.context, key=lambda e: len(e.absolute_path))
    where = tuple(wrong.absolute_path)
    member = ".".join(str(step) for step in where[unnamed:]) or "the file"
    words = wrong.message if len(wrong.message) < _LONGEST else wrong.message[:_LONGEST] + "…"
    if where and where[0] in private:
        words = f"does not fit the schema ({wrong.validator})"
    raise error(f"{file.name}:{file.line(where)}: {member}: {words}")


def _text_keys(value: Any) -> Any:
    """`value` with every mapping's keys as text: YAML reads 0 as a number, JSON Schema cannot."""
    if isinstance(value, dict):
        return {as_text(key): _text_keys(item) for key, item in value.items()}
    return [_text_keys(item) for item in value] if isinstance(value, list) else value


def as_text(value: object) -> str:
    """A scalar as the file has it, or close to it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
