"""Case files: expanded as their axes say, and refused with file and line if they are wrong."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from v2_conformance.errors import CaseFileError
from v2_conformance.suite.case_files import load_cases, own_cases
from v2_conformance.suite.cases import Case, GetCase, ObservedCase, RequestCase
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


# The suite's own cases.


@pytest.fixture(scope="module")
def own() -> list[Case]:
    return own_cases()


def test_the_suites_own_cases_load_with_unique_well_formed_ids(own: list[Case]) -> None:
    cases = own
    assert cases
    counts = Counter(case.id for case in cases)
    assert not [case_id for case_id, count in counts.items() if count > 1]
    for case in cases:
        assert ID.fullmatch(case.id), case.id
        assert case.requirement in catalogue()
        assert case.id.startswith(case.requirement + "/")
        if isinstance(case, RequestCase):
            assert case.model in contract()
        elif isinstance(case, GetCase):
            assert case.path.startswith("/")
        else:
            assert isinstance(case, ObservedCase)
        assert len(case.why) >= 20
        assert "\n" not in case.why


# Expansion.


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


def test_an_axis_that_repeats_a_member_is_an_error(tmp_path: Path) -> None:
    expect = '{outcome: success, outputs: {1: json, "${v}": binary}}'
    with pytest.raises(CaseFileError, match="two members"):
        load(tmp_path, one(axes="{v: [1]}", expect=expect))


def with_exceptions(tmp_path: Path, exceptions: str) -> dict[str, str]:
    """From label to level, for six cases without exceptions."""
    request = '{inputs: [{shape: ["${n}"], values: "${v}"}]}'
    axes = "{v: [ones, counting], n: [1, 2, 3]}"
    cases = load(tmp_path, one(axes=axes, request=request, more=f"exceptions: {exceptions}"))
    return {case.id.partition("[")[2].rstrip("]"): case.level for case in cases}


def test_an_exception_and_a_case_block_what_they_say(tmp_path: Path) -> None:
    request = '{inputs: [{shape: ["${n}"]}]}'
    exceptions = "exceptions: [{of: {n: 2}, blocks: robust}]"
    first, second = load(tmp_path, one(axes="{n: [1, 2]}", request=request, more=exceptions))
    assert [case.facts(()).blocks for case in (first, second)] == ["conformant", "robust"]
    (case,) = load(tmp_path, one(more="blocks: robust"))
    assert case.grade == "MUST (blocks robust)"
    (case,) = load(tmp_path, one(more="blocks: robust\n    level: SHOULD"))
    assert (case.grade, case.facts(()).blocks) == ("SHOULD", None)


def test_an_exception_has_an_outcome_of_its_own(tmp_path: Path) -> None:
    request = '{inputs: [{shape: ["${n}"]}]}'
    exceptions = "exceptions: [{of: {n: 2}, outcome: either}]"
    first, second = load(tmp_path, one(axes="{n: [1, 2]}", request=request, more=exceptions))
    assert (first.expects, second.expects) == ("success", "either")
    assert first.expect["outputs"] == second.expect["outputs"]


def test_axes_that_an_exception_does_not_name_do_not_matter(tmp_path: Path) -> None:
    found = with_exceptions(tmp_path, "[{of: {n: 2}, level: MAY}, {of: {v: ones}, left_out: true}]")
    assert found == {"counting,1": "MUST", "counting,2": "MAY", "counting,3": "MUST"}


@pytest.mark.parametrize(
    ("exceptions", "words"),
    [
        ("[{of: {n: 4}, level: MAY}]", "the axis n has no value 4"),
        ("[{of: {m: 1}, level: MAY}]", "the axis m has no value 1"),
        ("[{of: {n: [1, 9]}, left_out: true}]", "the axis n has no value 9"),
        ("[{of: {n: 1}}]", "properties"),
        ("[{of: {}, level: MAY}]", "non-empty"),
        ("[{of: {n: 1}, level: MAY, left_out: true}]", "properties"),
    ],
)
def test_an_exception_of_nothing_is_an_error(tmp_path: Path, exceptions: str, words: str) -> None:
    with pytest.raises(CaseFileError, match=words) as error:
        with_exceptions(tmp_path, exceptions)
    assert str(error.value).startswith("elements.yaml:")


def test_lengths_of_the_wire_stay_for_the_encoder(tmp_path: Path) -> None:
    for text in ("${length}", "${length+1}", "${blobs}", "${body-2}"):
        (case,) = load(
            tmp_path,
            one(request=f'{{inputs: [{{shape: [1]}}], header_length: {{value: "{text}"}}}}'),
        )
        assert case.request["header_length"]["value"] == text
    assert values_of(tmp_path, '{v: {over: "${length+1}"}}', "${v}") == {"over": "${length+1}"}


def test_profile_and_level_follow_requirement_model_and_case(tmp_path: Path) -> None:
    (case,) = load(tmp_path, one(model="identity/BF16"))
    assert case.profile == "bf16"
    (case,) = load(tmp_path, one(more="level: MAY\n    profile: raw"))
    assert (case.level, case.profile) == ("MAY", "raw")


def test_a_get_needs_no_model(tmp_path: Path) -> None:
    text = "  - {id: P1/metadata, why: A sentence that is long enough., get: /v2, expect: "
    text += "{outcome: success, checks: [lists_extension]}}\n"
    (case,) = load_cases(write(tmp_path, file(text, family="P")))
    assert isinstance(case, GetCase)
    assert (case.path, case.role, case.datatypes) == ("/v2", None, frozenset())


# Errors, with file and line.


def test_an_empty_directory_is_an_error_that_names_it(tmp_path: Path) -> None:
    assert str(tmp_path) in refused(tmp_path)
    write(tmp_path, "requirements: []", "requirements.yaml")
    assert "no files of cases" in refused(tmp_path)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("family: D\ncases:\n  - id: [\n", 3),
        ("family: D\ncases:\n\t- id: x\n", 3),
        ("family: D\n  cases: 1: 2\n", 2),
        ("a: &x 1\nb: *y\n", 2),
    ],
)
def test_bad_yaml_is_an_error_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    assert refused(write(tmp_path, text)).startswith(f"elements.yaml:{line}: not YAML: ")


def test_a_tag_is_an_error_with_its_line(tmp_path: Path) -> None:
    problem = refused(write(tmp_path, "family: D\nabout: !!timestamp 2024-99-99\n"))
    assert problem == "elements.yaml:2: the tag !!timestamp is not allowed; remove it"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "mapping"),
        ("# nothing\n", 1, "mapping"),
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


GOOD = one(case_id="D1/first")  # lines 3 to 7; the next entry's id is on line 8


@pytest.mark.parametrize(
    ("entry", "line", "words"),
    [
        (one(more="surprise: 1"), 13, "there is no member 'surprise'"),
        (one(request="{inputs: [{shape: [1], shap: 2}]}"), 11, "there is no member 'shap'"),
        (one(case_id="D99/slug"), 8, "no requirement D99"),
        (one(case_id="D1/first"), 8, "D1/first occurs twice"),
        (one(case_id="D1/Slug"), 8, "does not match"),
        (one(case_id="B1/slug"), 8, "not of this file's family"),
        (one(why="short"), 9, "why: "),
        (one(model="identity/INT33"), 8, "no model role 'identity/INT33'"),
        (one(request='{inputs: [{shape: ["${n}"]}]}'), 8, "axis ${n} is not defined"),
        (one(axes="{n: [1, 2]}"), 8, "axis n is not used"),
        (one(axes="{n: [1], n_more: [2]}", request='{inputs: [{shape: ["${n_more}"]}]}'), 8,
         "axis n is not used"),
        (one(axes="{n: []}", request='{inputs: [{shape: ["${n}"]}]}'), 10, "axes.n"),
        (one(axes="{n: {}}", request='{inputs: [{shape: ["${n}"]}]}'), 10, "axes.n"),
        (one(axes="{}"), 10, "axes"),
        (one(axes="{n: 3}", request='{inputs: [{shape: ["${n}"]}]}'), 10, "axes.n"),
        (one(axes="{n: [1, '1']}", request='{inputs: [{shape: ["${n}"]}]}'), 8, "same label"),
        (one(axes="{n: {a: {x: 1}}}", request='{inputs: [{shape: ["${n.y}"]}]}'), 8, "has no y"),
        (one(axes="{n: [1]}", request='{inputs: [{shape: ["${n.y}"]}]}'), 8, "has no y"),
        (one(expect="{outcome: sucess}"), 12, "expect.outcome"),
        (one(expect="{outcome: either}"), 12, "'outputs' is a required property"),
        (one(expect="{outcome: success, outputs: {0: binray}}"), 12, "expect.outputs"),
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
    entry = {
        "id": "P2/some",
        "why": "Because it is a case of a test.",
        "model": "identity/INT32",
        "axes": {"count": [1, 2, 3]},
        "request": {"inputs": [{"shape": ["${count}"]}]},
        "expect": {"outcome": "reject", "outputs": {"0": "any"}},
    }
    path = tmp_path / "some.yaml"
    path.write_text(json.dumps({"family": "P", "about": "Some.", "cases": [entry]}))
    requests = [case for case in load_cases(path) if isinstance(case, RequestCase)]
    assert [case.id for case in requests if case.last_negative] == ["P2/some[3]"]
