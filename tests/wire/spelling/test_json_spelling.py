"""The same JSON document, written in other ways."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.cases import make_case, prepared
from v2_conformance.suite.case_files import vary
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


def test_the_name_of_the_targets_own_model_is_added() -> None:
    assert json.loads(written("model-name"))["model_name"] == "mixed"


def test_numbers_of_more_digits_than_a_parser_must_keep_stay_as_they_are() -> None:
    inputs = [{"shape": [1], "form": "json", "values": [2.0**100]}]
    assert data("floats-with-negative-exponent", inputs=inputs) == [repr(2.0**100)]


def test_variations_combine_in_their_order() -> None:
    text = written("model-name", "members-reversed", "escaped-names", "spaced")
    assert list(json.loads(text))[-1] == "model_name"
