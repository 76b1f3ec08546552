"""Relations between a model's own answers, read from cases/relations.yaml.

A model need not be known to be tested: whatever it computes, two requests that say the same must
get the same answer, and a malformed one an error. A relation says what must hold so, and which
requirements' cases show it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

import msgspec

from v2_conformance.own_files import own_document
from v2_conformance.suite.cases import RequestCase

RELATIONS_FILE = "relations.yaml"


@dataclass(frozen=True)
class Relation:
    """A relation that must hold between a model's answers: what `holds`, and `why` it may not.

    Cases of `requirements` show it, except for the entries in `without`, which are about what only
    a known model can show. If it is `about_outputs`, it does not matter how many inputs the model
    has, nor their dimensions. `own_tensors` says whether cases go with theirs before the model's
    sample is tried, or only so; else the sample comes first.
    """

    name: str
    holds: str
    why: str
    requirements: tuple[str, ...]
    without: tuple[str, ...] = ()
    about_outputs: bool = False
    own_tensors: Literal["first", "only"] | None = None


@cache
def relations() -> dict[str, Relation]:
    """Return every relation by name, in the order of the file."""
    found = {}
    for entry in own_document(RELATIONS_FILE)["relations"]:
        words = {key: " ".join(entry[key].split()) for key in ("holds", "why")}
        found[entry["name"]] = msgspec.convert({**entry, **words}, Relation)
    return found


def relation_of(case: RequestCase) -> Relation | None:
    """Return the relation that a case shows if it is sent to an arbitrary model, None if it shows
    none.
    """
    return next(
        (
            relation
            for relation in relations().values()
            if case.requirement in relation.requirements and case.template not in relation.without
        ),
        None,
    )
