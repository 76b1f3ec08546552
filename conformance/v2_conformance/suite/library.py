"""The cases of a run of the suite: those of its files, and the one that is generated."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import msgspec

from v2_conformance.derived import derived
from v2_conformance.errors import CaseFileError
from v2_conformance.resources import folder
from v2_conformance.suite.cases import (
    Case,
    ClientCase,
    GeneratedCase,
    GetCase,
    ObservedCase,
    RequestCase,
)
from v2_conformance.suite.requirements import catalogue
from v2_conformance.suite.selection import asked_for

GENERATED = "M7/generated"
REQUESTS_FILE = "generated_requests.yaml"


def suite_cases(*, large: bool = False, huge: bool = False, thorough: bool = False) -> list[Case]:
    """Every case of a run of the suite; large, huge and thorough ones only if asked for."""
    return asked_for(_cases(thorough=thorough), large=large, huge=huge, thorough=thorough)


def client_cases() -> Sequence[Case]:
    """Every scenario of a run that tests a client."""
    return _scenarios()


def every_case() -> Sequence[Case]:
    """Every case that there is, including those that run only when asked for, and scenarios."""
    return (*_cases(thorough=True), *_scenarios())


@cache
def _scenarios() -> tuple[Case, ...]:
    return tuple(one.case for one in derived("scenarios", list[_OneCase], _read_scenarios))


def _read_scenarios() -> list[_OneCase]:
    from v2_conformance.suite.scenario_files import load_scenarios

    return list(map(_one_case, load_scenarios()))


@cache
def _cases(*, thorough: bool) -> tuple[Case, ...]:
    # Once for each process: a run plans, and asks at its end what there are cases for.
    if not thorough:
        return tuple(case for case in _cases(thorough=True) if not case.thorough)
    with _without_garbage_collection():
        made = derived("cases", list[_OneCase], _read_cases)
        return (*(one.case for one in made), generated_case())


def _read_cases() -> list[_OneCase]:
    from v2_conformance.suite.case_files import load_cases

    return list(map(_one_case, load_cases(large=True, huge=True, thorough=True)))


class _OneCase(msgspec.Struct, omit_defaults=True):
    """A case in a file, which has to say of which kind it is, and its `content`."""

    content: str
    request: RequestCase | None = None
    get: GetCase | None = None
    observed: ObservedCase | None = None
    client: ClientCase | None = None

    @property
    def case(self) -> Case:
        kinds = (self.request, self.get, self.observed, self.client)
        found = next(case for case in kinds if case is not None)
        vars(found)["content"] = self.content  # so that it is not made again
        return found


def _one_case(case: Case) -> _OneCase:
    if isinstance(case, RequestCase):
        return _OneCase(case.content, request=case)
    if isinstance(case, GetCase):
        return _OneCase(case.content, get=case)
    if isinstance(case, ObservedCase):
        return _OneCase(case.content, observed=case)
    if isinstance(case, ClientCase):
        return _OneCase(case.content, client=case)
    raise TypeError("the generated case is in no file of cases")


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Cases are many small objects, all of which stay: a third of the time to make them would go
    into looking for garbage among them."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@cache
def generated_case() -> GeneratedCase:
    """What stands for all generated requests of a run: in its plan, its report and its blame.

    Raises CaseFileError if their file cannot be read.
    """
    return derived("generated", GeneratedCase, _read_generated)


def _read_generated() -> GeneratedCase:
    from v2_conformance.yaml_files import read_yaml

    requirement = catalogue()["M7"]
    requests = read_yaml(folder("cases") / REQUESTS_FILE, CaseFileError).document["requests"]
    return GeneratedCase(
        id=GENERATED,
        requirement=requirement.id,
        why=f"{len(requests)} requests that nobody wrote: any mix of datatypes, shapes, forms, "
        "outputs and deliveries. All are well-formed, so each has one right answer.",
        level=requirement.level,
        profile=requirement.profile,
        expect={"outcome": "success"},
        requests=tuple(map(_generated_entry, requests)),
    )


def _generated_entry(written: Mapping[str, Any]) -> dict[str, Any]:
    """A generated request as an entry of a case file."""
    role = written["model"]
    return {
        "id": GENERATED,
        "why": f"Generated: a well-formed request to {role}, which every server must answer.",
        "model": role,
        "request": written["request"],
        "expect": {"outcome": "success", "outputs": written["answer"]},
    }
