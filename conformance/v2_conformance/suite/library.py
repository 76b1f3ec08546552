"""The cases of a run of the suite: those of its files, and the one that is generated."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any

import msgspec

from v2_conformance.own_files import own_document
from v2_conformance.resources import schema_document
from v2_conformance.suite.case_files import load_scenarios, own_cases
from v2_conformance.suite.cases import Case, GeneratedCase
from v2_conformance.suite.choosing import asked_for
from v2_conformance.suite.models import contract
from v2_conformance.suite.relations import any_model_cases, value_sets
from v2_conformance.suite.requirements import catalogue
from v2_conformance.suite.variations import Variation, variations

GENERATED = "M7/generated"

# What decides if a case is sent, and its verdict; the other members are words for people.
_OF_REQUIREMENTS = (
    *("id", "level", "basis", "profile", "blocks"),
    *("level_in", "superseded_by", "datatypes", "ordinary"),
)
_WORDS = ("cite", "does", "why")
_SCHEMAS = ("error", "response", "server_metadata")


def suite_cases(*, large: bool = False) -> list[Case]:
    """Return every case of a run of the suite; large ones only if asked for."""
    return asked_for(_cases(), large=large)


@cache
def client_cases() -> Sequence[Case]:
    """Return every scenario of a run that tests a client."""
    return tuple(load_scenarios())


def every_case() -> Sequence[Case]:
    """Return every case that there is, including large ones, and scenarios."""
    return (*_cases(), *client_cases())


@cache
def digest() -> str:
    """Return the digest of what the catalogue asks and expects; it has no words for people.

    A report that has it was asked exactly what this installation asks, at the same levels.
    """
    deciding = [member.name for member in fields(Variation) if member.name not in _WORDS]
    asked = [
        [{name: getattr(one, name) for name in _OF_REQUIREMENTS} for one in catalogue().values()],
        [[case.id, case.content] for case in every_case()],
        list(contract().values()),
        [{name: getattr(one, name) for name in deciding} for one in variations().values()],
        [[one.labels, {**one.entry, "why": ""}] for one in any_model_cases()],
        list(value_sets().values()),
        [schema_document(name) for name in _SCHEMAS],
    ]
    text = json.dumps(msgspec.to_builtins(asked), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def _cases() -> tuple[Case, ...]:
    # Once for each process: a run plans, and asks at its end what there are cases for.
    return (*own_cases(), generated_case())


@cache
def generated_case() -> GeneratedCase:
    """Return the case that stands for all generated requests of a run."""
    requirement = catalogue()["M7"]
    requests = own_document("generated_requests.yaml")["requests"]
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
