"""The cases of a run of the suite: those of its files, and the one that is generated."""

from __future__ import annotations

import gc
import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from v2_conformance.own_files import own_document
from v2_conformance.suite.cases import Case, GeneratedCase
from v2_conformance.suite.choosing.selection import asked_for
from v2_conformance.suite.entries.case_files import load_cases
from v2_conformance.suite.models import contract
from v2_conformance.suite.requirements import Requirement, catalogue
from v2_conformance.suite.variations import Variation, variations

if TYPE_CHECKING:
    from v2_conformance.suite.relations import Relation

GENERATED = "M7/generated"
REQUESTS_FILE = "generated_requests.yaml"

# Members that only people read: they decide neither what is sent nor the verdict.
_WORDS_OF_REQUIREMENTS = frozenset(
    {
        "blobs",
        "cite",
        "combines",
        "findings",
        "follows",
        "harm",
        "layer",
        "note",
        "prerequisite_of",
        "since",
        "statement",
        "title",
        "untested",
    }
)
_WORDS_OF_VARIATIONS = frozenset({"cite", "does", "why"})
_WORDS_OF_RELATIONS = frozenset({"holds", "why"})


def suite_cases(*, large: bool = False) -> list[Case]:
    """Every case of a run of the suite; large ones only if asked for."""
    return asked_for(_cases(), large=large)


def client_cases() -> Sequence[Case]:
    """Every scenario of a run that tests a client."""
    return _scenarios()


def every_case() -> Sequence[Case]:
    """Every case that there is, including those that run only when asked for, and scenarios."""
    return (*_cases(), *_scenarios())


@cache
def digest() -> str:
    """Return the digest of what the catalogue asks and expects; it has no words for people.

    A report that has it was asked exactly what this installation asks, at the same levels.
    """
    from v2_conformance.suite.relations import relations

    asked = [
        [_without(requirement, _WORDS_OF_REQUIREMENTS) for requirement in catalogue().values()],
        [[case.id, case.content] for case in every_case()],
        list(contract().values()),
        [_without(variation, _WORDS_OF_VARIATIONS) for variation in variations().values()],
        [_without(relation, _WORDS_OF_RELATIONS) for relation in relations().values()],
    ]
    text = json.dumps(msgspec.to_builtins(asked), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _without(entry: Requirement | Variation | Relation, words: Collection[str]) -> dict[str, Any]:
    return {f.name: getattr(entry, f.name) for f in fields(entry) if f.name not in words}


@contextmanager
def _all_stays() -> Iterator[None]:
    """Collect no garbage while what is made stays anyway; that takes a quarter of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@cache
@_all_stays()
def _scenarios() -> tuple[Case, ...]:
    from v2_conformance.suite.entries.scenario_files import load_scenarios

    return tuple(load_scenarios())


@cache
@_all_stays()
def _cases() -> tuple[Case, ...]:
    # Once for each process: a run plans, and asks at its end what there are cases for.
    return (*load_cases(large=True), generated_case())


@cache
def generated_case() -> GeneratedCase:
    """Return what stands for all generated requests of a run: in its plan, its report and its
    blame.
    """
    requirement = catalogue()["M7"]
    requests = own_document(REQUESTS_FILE)["requests"]
    return GeneratedCase(
        id=GENERATED,
        requirement=requirement.id,
        why=f"{len(requests)} requests that nobody wrote: any mix of datatypes, shapes, forms, "
        "outputs and deliveries. All are well-formed, so each has one right answer.",
        level=requirement.level,
        profile=requirement.profile,
        expect={"outcome": "success"},
        requests=tuple(map(generated_entry, requests)),
    )


def generated_entry(written: Mapping[str, Any]) -> dict[str, Any]:
    """Return a generated request as an entry of a case file."""
    role = written["model"]
    return {
        "id": GENERATED,
        "why": f"Generated: a well-formed request to {role}, which every server must answer.",
        "model": role,
        "request": written["request"],
        "expect": {"outcome": "success", "outputs": written["answer"]},
    }
