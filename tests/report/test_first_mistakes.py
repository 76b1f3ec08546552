"""The cause that is named first to an author whose only model is no identity."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.first_mistakes import FIRST_MISTAKES, FirstMistake, Small
from support.servers import Start
from v2_conformance.certifying.relations import Asked, start_relations
from v2_conformance.report.document import Report
from v2_conformance.report.words import shown_causes
from v2_conformance.runs.targets.making import make_target

BY_NAME = {f"{row.behaviour.__name__}-{row.model}": row for row in FIRST_MISTAKES}


def report_on(start: Start, row: FirstMistake, directory: Path) -> Report:
    target = make_target(start(row.behaviour).url, timeout=5)
    return start_relations(target, Asked([row.model]), directory).finish(workers=1)


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.long
def test_mistake_of_a_first_server_is_named_first(name: str, start: Start, tmp_path: Path) -> None:
    row = BY_NAME[name]
    causes = shown_causes(report_on(start, row, tmp_path))
    assert causes[0].group.requirement in row.explained_by


@pytest.mark.parametrize("model", ["matrix_product", "reverser", "widener"])
@pytest.mark.long
def test_small_server_without_mistakes_has_no_cause(
    model: str, start: Start, tmp_path: Path
) -> None:
    report = report_on(start, FirstMistake(Small, (), model), tmp_path)
    assert report.verdict.consistent
    assert not shown_causes(report)
