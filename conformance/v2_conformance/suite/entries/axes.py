"""The entries of files of cases and of scenarios, and their axes.

Axes make many cases of one entry, in the order in which the file lists them. The id is
REQUIREMENT/slug[labels of the axes' values].
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from v2_conformance.errors import CaseFileError
from v2_conformance.own_files import own_document
from v2_conformance.suite.cases import Case
from v2_conformance.suite.requirements import catalogue
from v2_conformance.yaml_files import as_text, check_yaml, misfit, read_yaml

_AXIS = re.compile(r"\$\{([a-z_]+)(?:\.([a-z_]+))?\}")
# Known only when the request is encoded: the JSON's length, the blobs' and the whole body's.
WIRE_LENGTHS = ("length", "blobs", "body")
# Both are far more than any entry of the suite has, and little enough for every machine.
_MOST_OF_AN_ENTRY = 10_000
_LONGEST_TEXT = 1 << 20

Kind = Literal["case", "scenario"]
Made = TypeVar("Made", bound=Case)
Make = Callable[[str, Mapping[str, Any], str], Made]
"""Makes a case of a requirement, a filled entry, and the labels ("[…]", "" for none)."""

# Changes that the `outcome` of an exception makes to the expectation of an entry.
_MEMBERS: Mapping[Kind, str] = {"case": "outcome", "scenario": "reading"}


def own_entries(names: Iterable[str], kind: Kind, make: Make[Made]) -> list[Made]:
    """Return the cases of all entries of the suite's own files of these names, in their order."""
    entries = (entry for name in names for entry in own_document(name)[f"{kind}s"])
    return [case for entry in entries for case in expand(entry, kind, make)]


def load_entries(
    files: Sequence[Path],
    kind: Kind,
    make: Make[Made],
) -> list[Made]:
    """Return the cases of all entries of `files`, in their order.

    Raises CaseFileError, with file and line, for whatever is not valid and unique.
    """

    def checked(requirement: str, entry: Mapping[str, Any], labels: str) -> Made:
        document = {"family": entry["id"][0], f"{kind}s": [entry]}
        wrong = misfit(kind, document, unnamed=2)
        if wrong is not None:
            raise CaseFileError(f"{entry['id']}{labels}: {wrong[1]}")
        return make(requirement, entry, labels)

    found: dict[str, Made] = {}
    for path in files:
        file = read_yaml(path, CaseFileError, path.name)
        check_yaml(file, kind, CaseFileError, unnamed=2)
        for index, entry in enumerate(file.document[f"{kind}s"]):
            where = f"{path.name}:{file.line((f'{kind}s', index))}"
            try:
                for case in expand(entry, kind, checked):
                    if case.id in found:
                        raise CaseFileError(f"the {kind} id {case.id} occurs twice")
                    found[case.id] = case
            except CaseFileError as error:
                raise CaseFileError(f"{where}: {error}") from None
            if entry["id"][0] != file.document["family"]:
                raise CaseFileError(f"{where}: {entry['id']} is not of this file's family")
    return list(found.values())


def expand(entry: Mapping[str, Any], kind: Kind, make: Make[Made]) -> Iterator[Made]:
    """Yield the cases of an entry. Raises CaseFileError."""
    requirement = entry["id"].split("/")[0]
    if requirement not in catalogue():
        raise CaseFileError(f"{entry['id']}: the catalogue has no requirement {requirement}")
    axes = {name: _labelled(values) for name, values in entry.get("axes", {}).items()}
    exceptions = [_Exception.of(entry["id"], item, axes) for item in entry.get("exceptions", ())]
    template = {key: value for key, value in entry.items() if key not in ("axes", "exceptions")}
    references = _AXIS.findall(repr(template))
    used = {name for name, _ in references}
    unused = [name for name in axes if name not in used]
    if unused:
        raise CaseFileError(f"{entry['id']}: the axis {unused[0]} is not used")
    if math.prod(map(len, axes.values())) > _MOST_OF_AN_ENTRY:
        raise CaseFileError(f"{entry['id']}: its axes make more than {_MOST_OF_AN_ENTRY} cases")
    for combination in itertools.product(*(values.items() for values in axes.values())):
        labels = [label for label, _ in combination]
        differs = [item for item in exceptions if item.is_of(dict(zip(axes, labels, strict=True)))]
        if any(item.left_out for item in differs):
            continue
        filled = template
        if references:
            filled = _fill(template, dict(zip(axes, combination, strict=True)))
        for item in differs:
            filled = item.change(filled, _MEMBERS[kind])
        yield make(requirement, filled, f"[{','.join(labels)}]" if labels else "")


@dataclass(frozen=True)
class _Exception:
    """Cases whose axes have one of these labels: they are graded or run otherwise, or left out."""

    labels: Mapping[str, Collection[str]]
    level: str | None
    blocks: str | None
    outcome: str | None
    exact: str | None
    left_out: bool

    @classmethod
    def of(
        cls, id: str, item: Mapping[str, Any], axes: Mapping[str, Mapping[str, Any]]
    ) -> _Exception:
        """An entry of `exceptions`. Raises CaseFileError for an axis or label that is not there."""
        labels = {}
        for axis, given in item["of"].items():
            labels[axis] = list(map(as_text, given if isinstance(given, list) else [given]))
            unknown = [label for label in labels[axis] if label not in axes.get(axis, {})]
            if unknown:
                raise CaseFileError(f"{id}: the axis {axis} has no value {unknown[0]}")
        left_out = item.get("left_out", False)
        names = ("level", "blocks", "outcome", "exact")
        return cls(labels=labels, left_out=left_out, **{name: item.get(name) for name in names})

    def is_of(self, labels: Mapping[str, str]) -> bool:
        """Return True if it applies to the case with these labels."""
        return all(labels[axis] in some for axis, some in self.labels.items())

    def change(self, entry: Mapping[str, Any], member: str) -> dict[str, Any]:
        """The entry of such a case."""
        own: dict[str, Any] = {"level": self.level, "blocks": self.blocks}
        expected = _given({member: self.outcome, "exact": self.exact})
        if expected:
            own["expect"] = {**entry.get("expect", {}), **expected}
        return {**entry, **_given(own)}


def _given(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _labelled(values: list[Any] | dict[str, Any]) -> dict[str, Any]:
    if isinstance(values, dict):
        return values
    labelled = {as_text(value): value for value in values}
    if len(labelled) != len(values):
        raise CaseFileError(f"two values of the axis {values} have the same label")
    return labelled


def _fill(value: Any, axes: Mapping[str, tuple[str, Any]]) -> Any:
    """`value` with every ${axis} replaced; a string that is nothing else becomes the value."""
    if isinstance(value, str):
        return _fill_text(value, axes) if "${" in value else value
    if isinstance(value, dict):
        filled = {as_text(_fill(key, axes)): _fill(item, axes) for key, item in value.items()}
        if len(filled) != len(value):
            raise CaseFileError(f"two members of {list(value)} are the same for a value of an axis")
        return filled
    return [_fill(item, axes) for item in value] if isinstance(value, list) else value


def _fill_text(value: str, axes: Mapping[str, tuple[str, Any]]) -> Any:
    whole = _AXIS.fullmatch(value)
    if whole:
        return _axis_value(axes, whole, text=False)
    parts = [str(_axis_value(axes, match, text=True)) for match in _AXIS.finditer(value)]
    if sum(map(len, parts)) > _LONGEST_TEXT:
        raise CaseFileError("the values of axes make a text of more than 1 MiB")
    texts = iter(parts)
    return _AXIS.sub(lambda match: next(texts), value)


def _axis_value(axes: Mapping[str, tuple[str, Any]], match: re.Match[str], *, text: bool) -> Any:
    name, member = match.groups()
    if name not in axes:
        if name in WIRE_LENGTHS and member is None:
            return match.group()
        raise CaseFileError(f"the axis ${{{name}}} is not defined")
    label, value = axes[name]
    if member is not None:
        if not isinstance(value, dict) or member not in value:
            raise CaseFileError(f"the value {label} of the axis {name} has no {member}")
        return value[member]
    return label if text and isinstance(value, dict | list) else value
