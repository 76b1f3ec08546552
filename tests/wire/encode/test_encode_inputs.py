"""Each input becomes its JSON and its blob, tampered with exactly as its case says."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from support.cases import document, lines, make_case, prepared, sent
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
