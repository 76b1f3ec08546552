"""The schemas of what a client is asked for and says are those of the types."""

from __future__ import annotations

import msgspec
import pytest

from v2_conformance.maintenance.client_schemas import schema_texts
from v2_conformance.resources import fits, folder
from v2_conformance.suite.cases import ClientCase
from v2_conformance.suite.library import client_cases
from v2_conformance.suite.tasks import Line, checked_line, read_lines
from v2_conformance.wire.client_tasks import task_of

LINES: list[dict[str, object]] = [
    {"error": "no"},
    {"error": "no", "status": 503, "client": {"name": "x"}},
    {"unsupported": "no API"},
    {"outputs": []},
    {"outputs": [{"name": "a", "datatype": "INT32", "shape": [1], "data": "AAAAAA=="}], "id": None},
    {},
    {"error": "no", "unsupported": "no API"},
    {"error": None},
    {"error": 3},
    {"error": "no", "more": 1},
    {"outputs": [{"name": "a", "datatype": "INT32", "shape": [-1], "data": ""}]},
    {"outputs": [{"name": "a", "datatype": "INT32", "shape": [1], "data": "A"}]},
    {"outputs": [{"name": "a"}]},
]


def test_the_files_are_what_the_types_make() -> None:
    for name, text in schema_texts().items():
        assert (folder("schemas") / name).read_text() == text, name


def test_every_task_of_the_suite_fits_its_schema() -> None:
    for case in client_cases():
        if isinstance(case, ClientCase):
            document = msgspec.json.decode(msgspec.json.encode(task_of(case, "http://h")))
            assert fits("client-task", document), case.id


@pytest.mark.parametrize("line", LINES, ids=str)
def test_the_schema_and_the_types_take_the_same_lines(line: dict[str, object]) -> None:
    lines, problem = read_lines(msgspec.json.encode(line), 1)
    if not line:
        assert (lines, problem) == ((), None)  # it does not begin as a line does
        assert not fits("client-line", line)
        return
    assert fits("client-line", line) is (problem is None)
    assert len(lines) == (problem is None)


def test_a_line_says_exactly_one_thing() -> None:
    with pytest.raises(ValueError, match="exactly one"):
        checked_line(Line())
