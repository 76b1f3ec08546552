"""cases/relations.yaml: what must hold between the answers of any model."""

from __future__ import annotations

from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.relations import relation_of, relations


def test_every_entry_that_is_left_out_is_one_of_its_requirements() -> None:
    entries = {case.template for case in suite_cases()}
    for relation in relations().values():
        for left_out in relation.without:
            assert left_out in entries
            assert left_out.partition("/")[0] in relation.requirements


def test_a_case_shows_the_relation_of_its_requirement() -> None:
    cases = {case.id: case for case in suite_cases() if isinstance(case, RequestCase)}
    found = relation_of(
        cases["H4/negative[minus_one]"]
        if "H4/negative[minus_one]" in cases
        else next(case for name, case in cases.items() if name.startswith("H4/"))
    )
    assert found is not None
    assert found.name == "malformed-is-rejected"
    left_out = next(case for name, case in cases.items() if name.startswith("J6/fixed-dimension"))
    assert relation_of(left_out) is None
