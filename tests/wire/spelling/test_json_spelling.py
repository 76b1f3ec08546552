"""The same JSON document, written in other ways."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.cases import make_case, prepared
from v2_conformance.suite.entries.varied_cases import vary
from v2_conformance.suite.variations import variations

TEXT = 'a/b é🙂 <&> \b\f\n"\\'
MIXED: dict[str, Any] = {
    "id": TEXT,
    "inputs": [
        {"shape": [1, 3], "form": "json", "values": [1, -0.5, 100]},
        {"shape": [1, 3], "form": "json", "values": [0, 7, 3000000000]},
        {"shape": [4]},
    ],
    "outputs": [{"tensor": 0, "binary_data": True}, {"tensor": 1}],
}


def written(*names: str, model: str = "mixed", **request: Any) -> str:
    """The JSON of a request in these variations."""
    made = prepared(vary(make_case(model=model, **{**MIXED, **request}), names))
    (wire,) = made.request.http1
    body = bytes(wire).partition(b"\r\n\r\n")[2]
    return body[: made.parts[0].end].decode()


def data(*names: str, **request: Any) -> list[str]:
    """The digits of the first input's data."""
    text = written(*names, model="identity/FP32", outputs=[], **request)
    return text.partition('"data":[')[2].partition("]")[0].split(",")


SAME = [
    name
    for name, given in variations().items()
    if given.kind == "json" and given.operation not in ("members", "parameters", "nested_data")
]


@pytest.mark.parametrize("name", SAME)
def test_every_other_spelling_is_the_same_document(name: str) -> None:
    assert json.loads(written(name)) == json.loads(written())
    if name not in ("floats-as-integers", "negative-zero-as-integer"):
        assert written(name) != written() or name == "escaped-solidus"


def test_members_in_reverse_order_at_every_level() -> None:
    document = json.loads(written("members-reversed"))
    assert list(document) == ["outputs", "inputs", "id"]
    assert list(document["inputs"][0]) == ["data", "datatype", "shape", "name"]


def test_some_members_first_or_last() -> None:
    assert list(json.loads(written("inputs-last"))) == ["id", "outputs", "inputs"]
    first = json.loads(written("parameters-first"))["inputs"][2]
    assert list(first) == ["parameters", "name", "shape", "datatype"]


def test_the_name_of_the_targets_own_model_is_added() -> None:
    assert json.loads(written("model-name"))["model_name"] == "mixed"


def test_known_parameters_stand_between_unknown_ones() -> None:
    parameters = json.loads(written("unknown-parameters"))["inputs"][2]["parameters"]
    names = list(parameters)
    assert names.index("binary_data_size") not in (0, len(names) - 1)
    assert parameters["binary_data_size"] == 4


def test_empty_parameters_leave_others_as_they_are() -> None:
    document = json.loads(written("empty-parameters"))
    assert document["parameters"] == {}
    assert [entry["parameters"] for entry in document["outputs"]] == [{"binary_data": True}, {}]


def test_unknown_members_never_replace_known_ones() -> None:
    document, plain = json.loads(written("unknown-members")), json.loads(written())
    assert {name: document[name] for name in ("id",)} == {"id": plain["id"]}
    assert document["inputs"][0]["data"] == plain["inputs"][0]["data"]


def test_one_character_of_each_name_is_escaped() -> None:
    text = written("escaped-names")
    assert '"\\u0069nputs"' in text
    assert '"inputs"' not in text


def test_escapes_of_each_kind() -> None:
    assert "\\u00e9\\ud83d\\ude42" in written("ascii-only")
    assert "\\u00E9\\uD83D\\uDE42" in written("ascii-only-upper-case")
    assert "a\\/b" in written("escaped-solidus")
    assert "\\u003c\\u0026\\u003e" in written("html-safe-escapes")
    assert "\\u0008\\u000C\\u000A\\u0022\\u005C" in written("hex-control-characters")
    assert "\\u0046\\u0050\\u0031\\u0036" in written("escaped-values")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("floats-as-integers", ["1", "-0.5", "100", "-0.0"]),
        ("negative-zero-as-integer", ["1", "-0.5", "100", "-0"]),
        ("floats-with-exponent", ["1E0", "-5E-1", "1E2", "-0E0"]),
        ("floats-with-signed-exponent", ["1e+0", "-5e-1", "1e+2", "-0e+0"]),
        ("floats-with-negative-exponent", ["100e-2", "-500e-3", "10000e-2", "-0e-2"]),
        ("floats-with-zeros", ["1.0000", "-0.5000", "100.0000", "-0.0000"]),
    ],
)
def test_digits_of_floats(name: str, expected: list[str]) -> None:
    inputs = [{"shape": [4], "form": "json", "values": [1.0, -0.5, 100.0, -0.0]}]
    assert data(name, inputs=inputs) == expected


def test_numbers_of_more_digits_than_a_parser_must_keep_stay_as_they_are() -> None:
    inputs = [{"shape": [1], "form": "json", "values": [2.0**100]}]
    assert data("floats-with-negative-exponent", inputs=inputs) == [repr(2.0**100)]


def test_white_space_stands_between_all_tokens() -> None:
    text = written("spaced", id="")
    assert text.startswith('{ "id"\t:\r\n""\n,  ')


def test_indented_lines_end_as_on_windows() -> None:
    assert written("indented").startswith('{\r\n\t"id": ')


def test_variations_combine_in_their_order() -> None:
    text = written("model-name", "members-reversed", "escaped-names", "spaced")
    assert list(json.loads(text))[-1] == "model_name"
