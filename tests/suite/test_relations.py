"""cases/relations.yaml: what must hold between the answers of any model."""

from __future__ import annotations

from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.relations import relations


def test_every_entry_that_is_left_out_is_one_of_its_requirements() -> None:
    entries = {case.template for case in suite_cases()}
    for relation in relations().values():
        for left_out in relation.without:
            assert left_out in entries
            assert left_out.partition("/")[0] in relation.requirements
