"""The JSON of a request is one document, in whatever way its pieces are written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.cases import REJECT, document, make_case, sent


@pytest.mark.parametrize(
    ("shape", "binary", "written"),
    [
        ([True], 1, b'"shape":[true],"datatype":"INT32","parameters":{"binary_data_size":4}}]'),
        ([1.0], 1.0, b'"shape":[1.0],"datatype":"INT32","parameters":{"binary_data_size":4}}]'),
    ],
)
def test_equal_values_of_other_types(shape: list[Any], binary: Any, written: bytes) -> None:
    def body(shape: list[Any], binary: Any) -> bytes:
        inputs = [{"shape": shape, "values": [1]}]
        outputs = [{"tensor": 0, "binary_data": binary}]
        return sent(make_case(REJECT, inputs=inputs, outputs=outputs))[1]

    assert b'"shape":[1],"datatype":"INT32"' in body([1], True)
    assert written in body(shape, binary)
    assert b'"binary_data":%b}' % json.dumps(binary).encode() in body(shape, binary)


def test_a_tampered_request_leaves_those_alone_that_share_its_tensors() -> None:
    plain: dict[str, Any] = {"outputs": [{"tensor": 0, "binary_data": True}]}
    before = sent(make_case(**plain))
    places = ["inputs.0.shape.0", "inputs.0.parameters.x", "outputs.0.parameters.binary_data"]
    change = [{"at": place, "to": 9} for place in places]
    _, tampered = sent(make_case(REJECT, **plain, json={"change": change}))
    assert tampered.count(b":9") == 2
    assert b'"shape":[9]' in tampered
    assert sent(make_case(**plain)) == before


@pytest.mark.parametrize("form", ["json", "binary"])
def test_spaces_fill_the_json_until_the_whole_body_has_pages(form: str) -> None:
    case = make_case(inputs=[{"shape": [3], "form": form}], json={"fill_to": 512})
    plain = make_case(inputs=[{"shape": [3], "form": form}])
    (_, filled), (_, body) = sent(case), sent(plain)
    assert len(filled) == 512
    assert document(filled) == document(body)
