"""The cases of a run of the suite: those of its files, and the one that is generated."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from v2_conformance.suite.case_files import load_cases
from v2_conformance.suite.cases import Case, GeneratedCase
from v2_conformance.suite.requirements import catalogue

EXAMPLES = 50
SEED = 0
GENERATED = "M7/generated"


def suite_cases(*, large: bool = False, thorough: bool = False) -> list[Case]:
    """Every case of a run of the suite; large and thorough ones only if asked for."""
    return [case for case in _cases(thorough=thorough) if large or not case.large]


def every_case() -> Sequence[Case]:
    """Every case that there is, including those that run only when asked for."""
    return _cases(thorough=True)


@cache
def _cases(*, thorough: bool) -> tuple[Case, ...]:
    # Once for each process: a run plans, and asks at its end what there are cases for.
    return (*load_cases(large=True, thorough=thorough), generated_case())


def generated_case() -> GeneratedCase:
    """What stands for all generated requests of a run: in its plan, its report and its blame."""
    requirement = catalogue()["M7"]
    return GeneratedCase(
        id=GENERATED,
        requirement=requirement.id,
        why=f"{EXAMPLES} requests that nobody wrote: any mix of datatypes, shapes, forms, outputs "
        "and deliveries, made from what the server says about itself. All are well-formed, so each "
        "has one right answer.",
        level=requirement.level,
        profile=requirement.profile,
        expect={"outcome": "success"},
        count=EXAMPLES,
        seed=SEED,
    )
