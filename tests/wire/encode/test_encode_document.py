"""The JSON of a request is one document, in whatever way its pieces are written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.cases import REJECT, document, make_case, prepared, sent
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.library import suite_cases


def is_plain(case: RequestCase) -> bool:
    """Whether the JSON is neither tampered with nor spelled otherwise, nor in a content coding."""
    other = {"json", "raw", "encoding", "body", "client", "delivery", "version"}
    return not case.variations and other.isdisjoint(case.request)


PLAIN = [c for c in suite_cases() if isinstance(c, RequestCase) and is_plain(c)]


def test_the_suites_plain_requests_have_the_json_that_one_encoder_writes() -> None:
    assert len(PLAIN) > 500
    for case in PLAIN:
        made = prepared(case)
        (wire,) = made.request.http1
        body = bytes(wire).partition(b"\r\n\r\n")[2]
        written = body[: made.parts[0].end]
        again = json.dumps(json.loads(written), ensure_ascii=False, separators=(",", ":"))
        assert written == again.encode(), case.id


@pytest.mark.parametrize("indent", [None, 1])
def test_members_and_inputs_come_in_their_order(indent: int | None) -> None:
    inputs = [
        {"tensor": 1, "shape": [1, 2], "values": [7, 8], "form": "json"},
        {"tensor": 0, "shape": [1, 1], "values": [-0.0], "form": "both"},
        {"tensor": 2, "shape": [2], "values": [True, False]},
    ]
    outputs = [{"tensor": 0}]
    parameters = {"x": 1e16, "inputs": None}
    case = make_case(
        {"outcome": "success"},
        model="mixed",
        inputs=inputs,
        outputs=outputs,
        id='a"',
        parameters=parameters,
        json={} if indent is None else {"indent": indent},
    )
    _, body = sent(case)
    written = json.dumps(document(body), ensure_ascii=False)
    assert written == (
        '{"id": "a\\"", "parameters": {"x": 1e+16, "inputs": null}, "inputs": ['
        '{"name": "INPUT1", "shape": [1, 2], "datatype": "UINT32", "data": [7, 8]}, '
        '{"name": "INPUT0", "shape": [1, 1], "datatype": "FP16", '
        '"parameters": {"binary_data_size": 2}, "data": [-0.0]}, '
        '{"name": "INPUT2", "shape": [2], "datatype": "BOOL", '
        '"parameters": {"binary_data_size": 2}}], "outputs": [{"name": "OUTPUT0"}]}'
    )
    if indent is None:
        assert body.startswith(written.replace(": ", ":").replace(", ", ",").encode())


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
