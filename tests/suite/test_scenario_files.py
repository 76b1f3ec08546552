"""Files of scenarios: what they become, and one clear line for each mistake of an author."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from support.scenarios import INT32, scenario
from v2_clients.bench.answers import make_answer
from v2_clients.bench.tasks import asked_of, task_of
from v2_clients.run import make_client_plan
from v2_conformance.errors import CaseFileError
from v2_conformance.suite.case_files import load_scenarios
from v2_conformance.suite.cases import ClientCase
from v2_conformance.suite.library import client_cases, suite_cases


def entry(**members: Any) -> dict[str, Any]:
    found = {"id": "K2/x", "why": "Made by hand for a test.", "request": INT32}
    return {**found, "expect": {"reading": "exact"}, **members}


def problem(folder: Path, *entries: dict[str, Any], family: str = "K") -> str:
    path = folder / "bad.yaml"
    path.write_text(yaml.safe_dump({"family": family, "scenarios": list(entries)}))
    with pytest.raises(CaseFileError) as found:
        make_client_plan(files=path)
    return str(found.value)


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"id": "K99/x"}, "the catalogue has no requirement K99"),
        ({"why": "short"}, "too short"),
        ({"unknown": 1}, "there is no member 'unknown'"),
        ({"expect": {"reading": "any"}}, "needs something else that is judged"),
        ({"expect": {"reading": "wrong"}}, "wrong"),
        ({"expect": {"request": ["no_such_check"]}}, "no_such_check"),
        ({"expect": {"reading": "exact", "error": {"says": "x"}}}, "needs `reading: error`"),
        ({"axes": {"unused": [1]}}, "the axis unused is not used"),
        ({"request": {"model": "other", "inputs": [{"shape": [1]}]}}, "has no role 'other'"),
        ({"request": {"model": "mixed"}}, "'inputs' is a required property"),
        ({"request": "${x}", "axes": {"x": [1]}}, "request: "),
        ({"request": {**INT32, "inputs": [{"shape": [-1]}]}}, "it cannot be filled"),
        ({"request": {**INT32, "inputs": [{"shape": [2], "values": "none"}]}}, "value pattern"),
        ({"request": {**INT32, "inputs": [{"shape": [2], "from": "float32"}]}}, "only for BF16"),
        ({"request": {**INT32, "inputs": [{"tensor": 3, "shape": [2]}]}}, "has no input 3"),
        ({"answer": {"outputs": [{"tensor": 5}]}}, "it needs `name`, `datatype`, `shape`"),
        ({"answer": {"outputs": [{"tensor": 0, "shape": [9]}]}}, "x: no tensor in `answer`"),
        ({"answer": {"body": {"drop": 99999}}}, "the body has"),
        ({"answer": {"delivery": "parts"}}, "delivery: 'whole' was expected"),
        ({"answer": {"encoded": {"drop": 1}}}, "encoding"),
        ({"answer": {"header_length": {"value": "${nothing}"}}}, "nothing"),
        ({"answer": {"json": {"change": [{"at": "no.such", "to": 1}]}}}, "there is no"),
        ({"requests": [INT32, INT32], "expect": {}}, "expect"),
    ],
)
def test_authors_mistake_is_a_line(members: dict[str, Any], words: str, tmp_path: Path) -> None:
    text = problem(tmp_path, entry(**members))
    assert words in text
    assert "\n" not in text


def test_ids_are_there_once_and_of_the_family(tmp_path: Path) -> None:
    assert "K2/x occurs twice" in problem(tmp_path, entry(), entry())
    assert "is not of this file's family" in problem(tmp_path, entry(), family="P")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(CaseFileError, match="no files of scenarios"):
        load_scenarios(empty)


def test_the_suites_own_scenarios_can_all_be_asked_for_and_answered() -> None:
    assert client_cases()
    for case in client_cases():
        assert case.of_clients
        if isinstance(case, ClientCase):
            asked = asked_of(case)
            task = task_of(case, "http://h", asked=asked)
            assert len(task.requests) == len(case.requests)
            for number, one in enumerate(asked):
                assert make_answer(one, case.answer(number, 0)).status
    assert not any(case.of_clients for case in suite_cases(large=True))


def test_what_a_scenario_asks_for_is_part_of_its_digest(tmp_path: Path) -> None:
    plain = scenario(tmp_path)
    assert scenario(tmp_path).content == plain.content
    assert scenario(tmp_path, why="Made by hand for another test.").content == plain.content
    for other in ({"answer": {"status": 201}}, {"expect": {"reading": "error"}}, {"timeout_s": 2}):
        assert scenario(tmp_path, **other).content != plain.content


def test_a_request_that_comes_again_is_answered_as_the_script_says(tmp_path: Path) -> None:
    made = scenario(tmp_path, answer={"status": 503, "error": "no", "again": {"status": 200}})
    assert [made.answer(0, attempt)["status"] for attempt in range(3)] == [503, 200, 200]
