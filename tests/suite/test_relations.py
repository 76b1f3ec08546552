"""cases/relations.yaml: what must hold between the answers of any model."""

from __future__ import annotations

from v2_conformance.suite.relations import any_model_cases, relations, value_sets
from v2_conformance.suite.requirements import LEVELS, catalogue
from v2_conformance.wire.encode.inputs import SAMPLE


def test_every_set_of_values_is_sent_and_every_set_that_is_sent_is_there() -> None:
    used = set()
    for case in any_model_cases():
        others = [*case.entry.get("members", ()), *case.entry.get("next", ())]
        used |= {one.get("values", SAMPLE) for one in (case.entry, *others)}
    assert used == {*value_sets(), SAMPLE}


def test_no_case_is_stricter_than_its_requirement() -> None:
    for case in any_model_cases():
        of = catalogue()[case.requirement].level
        assert LEVELS.index(case.entry.get("level", of)) >= LEVELS.index(of)


def test_a_relation_names_the_requirements_that_its_cases_show() -> None:
    assert relations()["order-of-inputs"].requirements == ("M2",)
