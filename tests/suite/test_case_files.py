"""Files of cases and scenarios: expanded as their axes say, refused with file and line if wrong."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.cases import make_case
from support.scenarios import INT32, scenario
from v2_clients.bench.answers import make_answer
from v2_clients.bench.tasks import asked_of, task_of
from v2_clients.run import make_client_plan
from v2_conformance.errors import CaseFileError
from v2_conformance.suite.case_files import load_cases, load_scenarios, own_cases, vary
from v2_conformance.suite.cases import ClientCase, GetCase, ObservedCase, RequestCase
from v2_conformance.suite.library import client_cases, suite_cases
from v2_conformance.suite.models import contract
from v2_conformance.suite.requirements import catalogue

ID = re.compile(r"[A-Z][0-9]{1,2}/[a-z0-9]+(-[a-z0-9]+)*(\[[^\[\]]+\])?")


def write(directory: Path, text: str, name: str = "elements.yaml") -> Path:
    (directory / name).write_text(text, encoding="utf-8")
    return directory


def one(
    *,
    axes: str = "",
    request: str = "{inputs: [{shape: [1]}]}",
    more: str = "",
    case_id: str = "D1/slug",
    model: str = "identity/INT32",
    why: str = "A sentence that is long enough.",
    expect: str = "{outcome: success, outputs: {0: binary}}",
) -> str:
    lines = [f"  - id: {case_id}", f"    why: {why}"]
    lines += [f"    axes: {axes}"] if axes else []
    lines += [f'    model: "{model}"', f"    request: {request}", f"    expect: {expect}"]
    return "\n".join([*lines, *([f"    {more}"] if more else []), ""])


def file(*entries: str, family: str = "D") -> str:
    """A case file: the first entry's id is on line 3."""
    return f"family: {family}\ncases:\n" + "".join(entries)


def load(tmp_path: Path, *entries: str) -> list[RequestCase]:
    """The cases of these entries, all of which send requests to a model."""
    cases = load_cases(write(tmp_path, file(*entries)))
    requests = [case for case in cases if isinstance(case, RequestCase)]
    assert len(requests) == len(cases)
    return requests


def refused(directory: Path) -> str:
    with pytest.raises(CaseFileError) as error:
        load_cases(directory)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_the_suites_own_cases_load_with_unique_well_formed_ids() -> None:
    cases = own_cases()
    assert len({case.id for case in cases}) == len(cases) > 0
    for case in cases:
        assert ID.fullmatch(case.id), case.id
        assert case.requirement in catalogue()
        assert case.id.startswith(case.requirement + "/")
        assert isinstance(case, RequestCase | GetCase | ObservedCase)
        assert not isinstance(case, RequestCase) or case.model in contract()


def values_of(tmp_path: Path, axes: str, value: str) -> dict[str, Any]:
    request = '{inputs: [{shape: [1], parameters: {x: "%s"}}]}' % value  # noqa: UP031
    cases = load(tmp_path, one(axes=axes, request=request))
    return {
        case.id.partition("[")[2].rstrip("]"): case.request["inputs"][0]["parameters"]["x"]
        for case in cases
    }


def test_a_whole_substitution_keeps_the_type_of_the_value(tmp_path: Path) -> None:
    found = values_of(
        tmp_path, "{v: {int: 1, float: 1.5, flag: false, nil: null, text: '1'}}", "${v}"
    )
    assert found == {"int": 1, "float": 1.5, "flag": False, "nil": None, "text": "1"}
    assert [type(value) for value in found.values()] == [int, float, bool, type(None), str]
    found = values_of(tmp_path, "{v: {list: [1, 2], map: {a: 1}}}", "${v}")
    assert found == {"list": [1, 2], "map": {"a": 1}}


def test_a_member_of_a_value_is_substituted(tmp_path: Path) -> None:
    axes = "{v: {one: {a: [1], b: x}, two: {a: 2, b: y}}}"
    assert values_of(tmp_path, axes, "${v.a}") == {"one": [1], "two": 2}
    assert values_of(tmp_path, axes, "${v.b}${v.a}") == {"one": "x[1]", "two": "y2"}


def test_an_exception_has_a_level_a_grade_and_an_outcome_of_its_own(tmp_path: Path) -> None:
    exceptions = """exceptions:
      - {of: {n: 2}, level: MAY}
      - {of: {v: ones}, left_out: true}
      - {of: {n: 3}, blocks: robust, outcome: either}"""
    request = '{inputs: [{shape: ["${n}"], values: "${v}"}]}'
    axes = "{v: [ones, counting], n: [1, 2, 3]}"
    one_, two, three = load(tmp_path, one(axes=axes, request=request, more=exceptions))
    assert [case.id for case in (one_, two)] == ["D1/slug[counting,1]", "D1/slug[counting,2]"]
    assert (one_.level, two.level, three.level) == ("MUST", "MAY", "MUST")
    assert (one_.facts(()).blocks, three.facts(()).blocks) == ("conformant", "robust")
    assert (one_.expects, three.expects) == ("success", "either")
    assert one_.expect["outputs"] == three.expect["outputs"]


def test_level_grade_and_profile_are_those_of_a_case(tmp_path: Path) -> None:
    (case,) = load(tmp_path, one(more="blocks: robust"))
    assert case.grade == "MUST (blocks robust)"
    (case,) = load(tmp_path, one(more="blocks: robust\n    level: SHOULD\n    profile: raw"))
    assert (case.grade, case.facts(()).blocks, case.profile) == ("SHOULD", None, "raw")
    (case,) = load(tmp_path, one(model="identity/BF16"))
    assert case.profile == "bf16"


def test_lengths_of_the_wire_stay_for_the_encoder(tmp_path: Path) -> None:
    for text in ("${length}", "${length+1}", "${blobs}", "${body-2}"):
        assert values_of(tmp_path, f'{{v: {{it: "{text}"}}}}', "${v}") == {"it": text}


def test_an_empty_directory_is_an_error_that_names_it(tmp_path: Path) -> None:
    assert str(tmp_path) in refused(tmp_path)
    write(tmp_path, "requirements: []", "requirements.yaml")
    assert "no files of cases" in refused(tmp_path)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("family: D\ncases:\n  - id: [\n", 3, "not YAML: "),
        ("family: D\ncases:\n\t- id: x\n", 3, "not YAML: "),
        ("a: &x 1\nb: *y\n", 2, "not YAML: "),
        ("a: 1\nb: !!timestamp 2024-99-99\n", 2, "the tag !!timestamp is not allowed; remove it"),
        ("", 1, "mapping"),
        ("- a\n", 1, "mapping"),
        ("family: D\n", 1, "'cases' is a required property"),
        ("family: D\ncases: []\n", 2, ""),
        ("family: D\ncases:\n", 2, "list"),
        ("family: d\ncases:\n" + one(), 1, "does not match"),
    ],
)
def test_a_file_without_cases_is_an_error(tmp_path: Path, text: str, line: int, words: str) -> None:
    message = refused(write(tmp_path, text))
    assert message.startswith(f"elements.yaml:{line}: ")
    assert words in message


OF_N = '{inputs: [{shape: ["${n}"]}]}'
GOOD = one(case_id="D1/first")  # lines 3 to 7; the next entry's id is on line 8


@pytest.mark.parametrize(
    ("entry", "line", "words"),
    [
        (one(more="surprise: 1"), 13, "there is no member 'surprise'"),
        (one(request="{inputs: [{shape: [1], shap: 2}]}"), 11, "there is no member 'shap'"),
        (one(case_id="D99/slug"), 8, "no requirement D99"),
        (one(case_id="D1/first"), 8, "D1/first occurs twice"),
        (one(case_id="B1/slug"), 8, "not of this file's family"),
        (one(why="short"), 9, "why: "),
        (one(model="identity/INT33"), 8, "no model role 'identity/INT33'"),
        (one(request='{inputs: [{shape: ["${n}"]}]}'), 8, "axis ${n} is not defined"),
        (one(axes="{n: [1, 2]}"), 8, "axis n is not used"),
        (one(axes="{n: [1], n_more: [2]}", request='{inputs: [{shape: ["${n_more}"]}]}'), 8,
         "axis n is not used"),
        (one(axes="{n: []}", request=OF_N), 10, "axes.n"),
        (one(axes="{n: {}}", request=OF_N), 10, "axes.n"),
        (one(axes="{}"), 10, "axes"),
        (one(axes="{n: [1, '1']}", request='{inputs: [{shape: ["${n}"]}]}'), 8, "same label"),
        (one(axes="{n: {a: {x: 1}}}", request='{inputs: [{shape: ["${n.y}"]}]}'), 8, "has no y"),
        (one(expect="{outcome: sucess}"), 12, "expect.outcome"),
        (one(expect="{outcome: either}"), 12, "'outputs' is a required property"),
        (one(axes="{v: [1]}", expect='{outcome: success, outputs: {1: json, "${v}": binary}}'), 8,
         "two members"),
        *(
            (one(axes="{n: [1]}", request=OF_N, more=f"exceptions: [{x}]"),
             line, words)
            for x, line, words in (
                ("{of: {n: 4}, level: MAY}", 8, "the axis n has no value 4"),
                ("{of: {n: 1}}", 14, "properties"),
                ("{of: {}, level: MAY}", 14, "non-empty"),
            )
        ),
    ],
)  # fmt: skip
def test_wrong_entry_has_its_line(tmp_path: Path, entry: str, line: int, words: str) -> None:
    text = file(GOOD, entry)
    assert text.splitlines()[line - 1].strip()
    message = refused(write(tmp_path, text))
    assert message.startswith(f"elements.yaml:{line}: "), message
    assert words in message


def test_the_same_id_in_two_files_is_an_error_in_the_second(tmp_path: Path) -> None:
    write(tmp_path, file(one()), "a.yaml")
    write(tmp_path, "# one line more\n" + file(one()), "b.yaml")
    assert refused(tmp_path).startswith("b.yaml:4: the case id D1/slug occurs twice")


def test_the_last_negative_case_of_a_requirement_knows_it(tmp_path: Path) -> None:
    request = '{inputs: [{shape: ["${n}"]}]}'
    expect = "{outcome: reject, outputs: {0: any}}"
    cases = load(tmp_path, one(axes="{n: [1, 2, 3]}", request=request, expect=expect))
    assert [case.id for case in cases if case.last_negative] == ["D1/slug[3]"]


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
        ({"expect": {"request": ["no_such_check"]}}, "no_such_check"),
        ({"expect": {"reading": "exact", "error": {"says": "x"}}}, "needs `reading: error`"),
        ({"axes": {"unused": [1]}}, "the axis unused is not used"),
        ({"request": {"model": "other", "inputs": [{"shape": [1]}]}}, "has no role 'other'"),
        ({"request": {**INT32, "inputs": [{"shape": [-1]}]}}, "it cannot be filled"),
        ({"request": {**INT32, "inputs": [{"shape": [2], "values": "none"}]}}, "value pattern"),
        ({"request": {**INT32, "inputs": [{"shape": [2], "from": "float32"}]}}, "only for BF16"),
        ({"request": {**INT32, "inputs": [{"tensor": 3, "shape": [2]}]}}, "has no input 3"),
        ({"answer": {"outputs": [{"tensor": 5}]}}, "it needs `name`, `datatype`, `shape`"),
        ({"answer": {"outputs": [{"tensor": 0, "shape": [9]}]}}, "x: no tensor in `answer`"),
        ({"answer": {"body": {"drop": 99999}}}, "the body has"),
        ({"answer": {"encoded": {"drop": 1}}}, "encoding"),
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
    scenarios = [case for case in client_cases() if isinstance(case, ClientCase)]
    assert scenarios
    for case in scenarios:
        asked = asked_of(case)
        assert len(task_of(case, "http://h", asked=asked).requests) == len(case.requests)
        assert all(make_answer(one, case.answer(n, 0)).status for n, one in enumerate(asked))
    assert not any(case.of_clients for case in suite_cases(large=True))


def test_a_request_that_comes_again_is_answered_as_the_script_says(tmp_path: Path) -> None:
    made = scenario(tmp_path, answer={"status": 503, "error": "no", "again": {"status": 200}})
    assert [made.answer(0, attempt)["status"] for attempt in range(3)] == [503, 200, 200]


JSON: dict[str, Any] = {"shape": [3], "values": [1, 2, 3], "form": "json"}


def of(model: str = "identity/INT32", **request: Any) -> RequestCase:
    return make_case(model=model, **request)


def refusal(case: RequestCase, *names: str) -> str:
    with pytest.raises(CaseFileError) as error:
        vary(case, names)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_the_request_keeps_its_id_and_names_its_variations() -> None:
    varied = vary(of(inputs=[JSON]), ["members-reversed", "escaped-names"])
    assert varied.variations == ("members-reversed", "escaped-names")
    assert varied.id == of().id


def test_what_is_unknown_or_does_not_combine_is_an_error() -> None:
    assert "did you mean members-reversed" in refusal(of(), "member-reversed")
    message = refusal(of(), "members-reversed", "parameters-first")
    assert message.endswith("it cannot be combined with members-reversed")


@pytest.mark.parametrize(
    ("case", "name", "lacks"),
    [
        (of(raw=True), "members-reversed", "json"),
        (of(), "data-first", "data"),
        (of(), "integers-with-fraction", "integer-data"),
        (of(inputs=[JSON]), "nested-data", "rank-2-data"),
    ],
)
def test_unfit_variation_says_what_it_needs(case: RequestCase, name: str, lacks: str) -> None:
    assert refusal(case, name) == f"the variation {name} does not fit: it needs {lacks}"


def test_level_and_outcome_are_those_of_the_variation() -> None:
    floats = of("identity/FP32", inputs=[JSON])
    assert vary(floats, ["negative-zero-as-integer"]).level == "MAY"
    assert vary(floats, ["floats-as-integers"]).level == "MUST"
    names = ("unknown-members", "model-name", "members-sorted")
    assert [vary(of(), [name]).expects for name in names] == ["either", "either", "success"]
