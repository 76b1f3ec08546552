"""Each input becomes its JSON and its blob, tampered with exactly as its case says."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from support.cases import REJECT, document, lines, make_case, prepared, refusal, sent
from support.responses import BLOB
from v2_conformance.protocol.names import HEADER_LENGTH


@pytest.mark.parametrize(
    ("size", "wanted"),
    [
        ({"add": 0}, 12),
        ({"add": -1}, 11),
        ({"add": 2**32}, 2**32 + 12),
        ({"times": -1}, -12),
        ({"times": 2}, 24),
        ({"value": None}, None),
        ({"value": "12"}, "12"),
        ({"value": True}, True),
        ({"value": 16.5}, 16.5),
        ({"value": [12]}, [12]),
        ({"value": 0}, 0),
    ],
)
def test_a_size_is_tampered_with_and_the_blob_is_not(size: dict[str, Any], wanted: object) -> None:
    _, body = sent(make_case(inputs=[{"shape": [3], "values": [1, 2, 3], "size": size}]))
    came = document(body)["inputs"][0]["parameters"]["binary_data_size"]
    assert came == wanted
    assert type(came) is type(wanted)
    assert body.endswith(b"}" + BLOB)


def test_several_inputs_are_in_the_order_of_the_case_with_their_own_blobs() -> None:
    inputs = [
        {"tensor": 2, "shape": [2], "values": [True, False]},
        {"tensor": 0, "shape": [1, 1], "values": [1.0], "form": "nested"},
        {"tensor": 1, "shape": [1, 2], "values": [7, 8]},
    ]
    expect = {"outcome": "success", "outputs": {"0": "json", "1": "binary", "2": "any"}}
    case = make_case(expect, model="mixed", inputs=inputs)
    head, body = sent(case)
    assert body[int(lines(head)[HEADER_LENGTH]) :] == b"\x01\x00" + struct.pack("<2I", 7, 8)
    entries = document(body)["inputs"]
    assert [entry["name"] for entry in entries] == ["INPUT2", "INPUT0", "INPUT1"]
    assert entries[1] == {"name": "INPUT0", "shape": [1, 1], "datatype": "FP16", "data": [[1.0]]}
    came = {e.tensor.name: (e.form, bytes(e.tensor.blob)) for e in prepared(case).expected}
    assert came == {
        "OUTPUT0": ("json", b"\x00\x3c"),
        "OUTPUT1": ("binary", struct.pack("<2I", 7, 8)),
        "OUTPUT2": ("any", b"\x01\x00"),
    }


def test_both_and_neither_are_what_they_say() -> None:
    _, body = sent(make_case(inputs=[{"shape": [3], "values": [1, 2, 3], "form": "both"}]))
    entry = document(body)["inputs"][0]
    assert entry["data"] == [1, 2, 3]
    assert entry["parameters"] == {"binary_data_size": 12}
    assert body.endswith(BLOB)
    head, body = sent(make_case(inputs=[{"shape": [3], "form": "neither"}]))
    assert document(body)["inputs"][0].keys() == {"name", "shape", "datatype"}
    assert lines(head)["Content-Length"] == str(len(body))


def test_a_tensor_can_lie_about_its_name_datatype_shape_and_blob() -> None:
    entry = {"shape": [2**62 + 4], "name": "n", "datatype": "FP64", "elements": 1, "blob": "0aff"}
    _, body = sent(make_case({"outcome": "reject"}, inputs=[entry]))
    came = document(body)["inputs"][0]
    assert (came["name"], came["datatype"], came["shape"]) == ("n", "FP64", [2**62 + 4])
    assert came["parameters"] == {"binary_data_size": 2}
    assert body.endswith(b"}\x0a\xff")


def one_input(**members: Any) -> dict[str, Any]:
    return {"inputs": [{"shape": [3], **members}]}


def several(**members: Any) -> dict[str, Any]:
    return {"inputs": {"tensors": [2, 0], "each": {"shape": [2, 2]}, **members}}


INPUTS: list[tuple[dict[str, Any], str]] = [
    ({"inputs": None}, "`inputs`: expected a list, got None"),
    ({"inputs": "counting"}, "`inputs`: expected a list, got 'counting'"),
    ({"inputs": [7]}, "`inputs[0]`: the entry: expected a mapping, got 7"),
    ({"inputs": [{}]}, "`inputs[0]`: `shape`: expected a list, got None"),
    (one_input(shape="[3]"), "`inputs[0]`: `shape`: expected a list, got '[3]'"),
    (
        one_input(fom="json"),
        "`inputs[0]`: the entry: unknown member 'fom'; expected tensor, name, datatype, shape, "
        "values, form, size, blob, parameters, elements or special",
    ),
    (one_input(tensor=1), "`inputs[0]`: `tensor`: expected at most 0, got 1"),
    (one_input(tensor=-1), "`inputs[0]`: `tensor`: expected at least 0, got -1"),
    (one_input(tensor="0"), "`inputs[0]`: `tensor`: expected an integer, got '0'"),
    (
        {"inputs": [{"shape": [3]}, {"shape": [3]}]},
        "`inputs[1]`: `tensor`: expected at most 0, got 1",
    ),
    (one_input(name=7), "`inputs[0]`: `name`: expected text, got 7"),
    (
        one_input(name="\ud800"),
        r"`inputs[0]`: `name`: '\ud800' is half of a surrogate pair",
    ),
    (one_input(datatype=["INT32"]), "`inputs[0]`: `datatype`: expected text, got ['INT32']"),
    (
        one_input(form="binray"),
        "`inputs[0]`: `form`: expected binary, json, nested, both or neither, got 'binray'",
    ),
    (
        one_input(shape=["3"]),
        "`inputs[0]`: `shape`: expected a shape that can be filled, or else `elements`, got ['3']",
    ),
    (
        one_input(shape=[-1]),
        "`inputs[0]`: `shape`: expected a shape that can be filled, or else `elements`, got [-1]",
    ),
    (
        one_input(shape=[2**62]),
        "`inputs[0]`: `shape`: expected a shape that can be filled, or else `elements`, got "
        "[4611686018427387904]",
    ),
    (one_input(elements=-1), "`inputs[0]`: `elements`: expected at least 0, got -1"),
    (
        one_input(elements=2**40),
        "`inputs[0]`: `elements`: expected at most 268435456, got 1099511627776",
    ),
    (one_input(elements="3"), "`inputs[0]`: `elements`: expected an integer, got '3'"),
    (one_input(values=3), "`inputs[0]`: `values`: expected text, got 3"),
    (one_input(values={}), "`inputs[0]`: `values.hex`: expected text, got None"),
    (
        one_input(values={"hex": "0"}),
        "`inputs[0]`: `values.hex`: expected two hexadecimal digits for each byte, got '0'",
    ),
    (one_input(values={"hex": 12}), "`inputs[0]`: `values.hex`: expected text, got 12"),
    (
        one_input(values=[1, 2, 2**31]),
        "`inputs[0]`: `values`: element 2 is 2147483648, out of the range of INT32 "
        "(-2147483648 to 2147483647)",
    ),
    (
        one_input(values=["1", 2, 3]),
        "`inputs[0]`: `values`: element 0 is '1'; expected INT32",
    ),
    (
        one_input(blob="xy"),
        "`inputs[0]`: `blob`: expected two hexadecimal digits for each byte, got 'xy'",
    ),
    (one_input(size=12), "`inputs[0]`: `size`: expected a mapping, got 12"),
    (
        one_input(size={"add": 1, "times": 2}),
        "`inputs[0]`: `size`: expected only add, times or value, got ['add', 'times']",
    ),
    (one_input(size={"times": "2"}), "`inputs[0]`: `size.times`: expected an integer, got '2'"),
    (one_input(parameters=[1]), "`inputs[0]`: `parameters`: expected a mapping, got [1]"),
    (
        one_input(parameters={"name": b"x"}),
        "the JSON: expected JSON, got b'x'",
    ),
    (
        one_input(form="json", datatype="INT7"),
        "`inputs[0]`: `datatype`: expected one that the protocol has, got 'INT7'",
    ),
    (
        one_input(form="nested", values=[1, 2]),
        "`inputs[0]`: it has no JSON form: expected 12 bytes for INT32 [3] (3 x 4), got 8",
    ),
    (
        one_input(form="nested", shape=["3"], elements=3),
        "`inputs[0]`: `shape`: expected a list of sizes, got ['3']",
    ),
]


SEVERAL: list[tuple[dict[str, Any], str]] = [
    (several(tensors=3), "`inputs.tensors`: expected a list, got 3"),
    (several(each=[2, 2]), "`inputs.each`: expected a mapping, got [2, 2]"),
    (several(all={}), "`inputs`: unknown member 'all'; expected tensors, each or except"),
    (several(tensors=[3]), "`inputs[0]`: `tensor`: expected at most 2, got 3"),
    ({"inputs": {"tensors": [0]}}, "`inputs.each`: expected a mapping, got None"),
    (
        several(**{"except": {"1": {}}}),
        "`inputs.except`: unknown member '1'; expected 2 or 0",
    ),
    (several(**{"except": {"0": 1}}), "`inputs.except`: expected a mapping, got 1"),
    (
        several(**{"except": {"0": {"vlaues": "ones"}}}),
        "`inputs[1]`: the entry: unknown member 'vlaues'; expected tensor, name, datatype, "
        "shape, values, form, size, blob, parameters, elements or special",
    ),
]


@pytest.mark.parametrize(("request_", "words"), INPUTS, ids=lambda x: str(x)[:60])
def test_a_wrong_input_is_refused(request_: dict[str, Any], words: str) -> None:
    assert refusal(make_case(REJECT, **request_)) == words


@pytest.mark.parametrize(("request_", "words"), SEVERAL, ids=lambda x: str(x)[:60])
def test_a_wrong_list_of_inputs_is_refused(request_: dict[str, Any], words: str) -> None:
    assert refusal(make_case(REJECT, model="mixed", **request_)) == words


def test_an_unknown_value_pattern_is_refused() -> None:
    message = refusal(make_case(**one_input(values="no_such_pattern")))
    assert message.startswith(
        "`inputs[0]`: unknown value pattern 'no_such_pattern': the patterns are "
    )


def test_a_value_pattern_for_another_datatype_is_refused() -> None:
    message = refusal(make_case(**one_input(values="unicode")))
    assert message == "`inputs[0]`: this value pattern is only for BYTES, not for INT32"


def test_a_value_without_a_json_form_is_refused() -> None:
    inputs = [{"shape": [1], "values": "quiet_nans", "form": "json"}]
    message = refusal(make_case(model="identity/FP32", inputs=inputs))
    assert message == "`inputs[0]`: it has no JSON form: element 0 is nan, which has no JSON form"
