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

from v2_conformance.errors import CaseFileError
from v2_conformance.resources import folder
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.requirements import catalogue
from v2_conformance.yaml_files import check_yaml, read_yaml

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
    """Return every relation by name, in the order of the file. Raises CaseFileError for a wrong
    file.
    """
    file = read_yaml(folder("cases") / RELATIONS_FILE, CaseFileError, f"cases/{RELATIONS_FILE}")
    check_yaml(file, "relations", CaseFileError, unnamed=2)
    found: dict[str, Relation] = {}
    taken: dict[str, str] = {}
    for index, entry in enumerate(file.document["relations"]):
        line = file.line(("relations", index))
        name = entry["name"]
        for requirement in entry["requirements"]:
            if requirement not in catalogue():
                raise CaseFileError(f"{file.name}:{line}: there is no requirement {requirement}")
            if requirement in taken:
                other = taken[requirement]
                raise CaseFileError(f"{file.name}:{line}: {requirement} already shows {other}")
            taken[requirement] = name
        if name in found:
            raise CaseFileError(f"{file.name}:{line}: {name} occurs twice")
        words = {key: " ".join(entry[key].split()) for key in ("holds", "why")}
        found[name] = msgspec.convert({**entry, **words}, Relation)
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
