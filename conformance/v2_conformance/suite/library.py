"""The cases of a run of the suite: those of its files, and the one that is generated."""

from __future__ import annotations

from functools import cache

from v2_conformance.suite.cases import Case, load_cases, make_case

EXAMPLES = 50
GENERATED = "M7/generated"


def suite_cases(*, large: bool = False) -> list[Case]:
    """Every case of a run of the suite; large ones only if asked for."""
    return [case for case in _every_case() if large or not case.large]


@cache
def _every_case() -> tuple[Case, ...]:
    # Once for each process: a run plans, and asks at its end what there are cases for.
    cases = load_cases(large=True)
    return (*cases, generated_case())


def generated_case() -> Case:
    """What stands for all generated requests of a run: in its plan, its report and its blame."""
    return make_case(
        {
            "id": GENERATED,
            "why": f"{EXAMPLES} requests that nobody wrote: any mix of datatypes, shapes, forms, "
            "outputs and deliveries, made from what the server says of itself. All are "
            "well-formed, so each has one right answer.",
            "model": "",
            "request": {},
            "expect": {"outcome": "success"},
        }
    )
