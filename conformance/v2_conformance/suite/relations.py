"""cases/relations.yaml: what must hold between the answers of any model, and its cases.

A model need not be known to be tested: whatever it computes, two requests that say the same must
get the same answer, and a malformed one an error. So these cases say nothing of tensors: they are
filled in for each model (`wire.relations`), with values that it answered when asked plainly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec

from v2_conformance.own_files import own_document
from v2_conformance.suite.case_files import expand

RELATIONS_FILE = "relations.yaml"


@dataclass(frozen=True)
class Relation:
    """A relation of a model's answers: what `holds`, `why` it may not, its cases' entries."""

    name: str
    holds: str
    why: str
    cases: tuple[Mapping[str, Any], ...]

    @property
    def requirements(self) -> tuple[str, ...]:
        """The requirements that its cases show."""
        return tuple(dict.fromkeys(entry["id"].partition("/")[0] for entry in self.cases))


@dataclass(frozen=True)
class AnyModelCase:
    """A case for any model: an entry with its axes filled in, not yet the model's tensors."""

    requirement: str
    entry: Mapping[str, Any]
    labels: str


@dataclass(frozen=True, kw_only=True)
class ValueSet:
    """Values that models are asked about plainly before cases send them.

    The first input of a `datatype` gets them: `values` are a list, the bytes of a blob as `hex`, or
    a pattern of `elements`. Otherwise the sample gets this number of `rows`, of `more_rows`, or as
    many rows as fill this number of `bytes`.
    """

    name: str
    datatypes: tuple[str, ...] = ()
    values: str | tuple[Any, ...] | dict[str, str] = ()
    elements: int = 0
    rows: int | None = None
    more_rows: int = 0
    bytes: int = 0


@cache
def relations() -> dict[str, Relation]:
    """Return every relation by name, in the order of the file."""
    by_name = {}
    for entry in own_document(RELATIONS_FILE)["relations"]:
        words = {key: " ".join(entry[key].split()) for key in ("holds", "why")}
        by_name[entry["name"]] = msgspec.convert({**entry, **words}, Relation)
    return by_name


@cache
def value_sets() -> dict[str, ValueSet]:
    """Return every set of values by name."""
    entries = own_document(RELATIONS_FILE)["values"]
    return {entry["name"]: msgspec.convert(entry, ValueSet) for entry in entries}


@cache
def any_model_cases() -> tuple[AnyModelCase, ...]:
    """Return the cases of all relations, in the order of the file."""
    return tuple(
        case
        for relation in relations().values()
        for entry in relation.cases
        for case in expand({"why": relation.why, **entry}, "case", AnyModelCase)
    )
