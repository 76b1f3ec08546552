"""What an author gets wrong is an error of the case, which it names; a bug of the suite is not."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.cases import ADDRESS, REJECT, binding, make_case, make_get, prepared, refusal
from v2_conformance.engine.discovery import Server
from v2_conformance.engine.engine import Engine
from v2_conformance.engine.target import Target
from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire import encode, encode_inputs
from v2_conformance.wire.encode import prepare

REQUESTS: list[tuple[dict[str, Any], str]] = [
    ({"outputs": {"0": "json"}}, "`outputs`: expected a list, got {'0': 'json'}"),
    ({"outputs": [0]}, "`outputs[0]`: the entry: expected a mapping, got 0"),
    ({"outputs": [{}]}, "`outputs[0]`: `tensor`: expected an integer, got None"),
    ({"outputs": [{"tensor": 1}]}, "`outputs[0]`: `tensor`: expected at most 0, got 1"),
    ({"outputs": [{"tensor": -1}]}, "`outputs[0]`: `tensor`: expected at least 0, got -1"),
    ({"outputs": [{"name": 1}]}, "`outputs[0]`: `name`: expected text, got 1"),
    (
        {"outputs": [{"tensor": 0, "binary": True}]},
        "`outputs[0]`: the entry: unknown member 'binary'; expected tensor, name, binary_data or "
        "parameters",
    ),
    (
        {"outputs": [{"tensor": 0, "parameters": 1}]},
        "`outputs[0]`: `parameters`: expected a mapping, got 1",
    ),
    ({"id": "\udfff"}, r"the JSON: '\udfff' is half of a surrogate pair"),
    ({"parameters": {"when": {1}}}, "the JSON: expected JSON, got {1}"),
    ({"json": "{"}, "`json`: expected a mapping, got '{'"),
    ({"json": {"indent": 2.5}}, "`json.indent`: expected an integer, got 2.5"),
    ({"json": {"before": 1}}, "`json.before`: expected text, got 1"),
    ({"json": {"text": ["{"]}}, "`json.text`: expected text, got ['{']"),
    ({"header_length": 12}, "`header_length`: expected a mapping, got 12"),
    ({"header_length": "none"}, "`header_length`: expected a mapping, got 'none'"),
    ({"header_length": {"name": 1}}, "`header_length.name`: expected text, got 1"),
    ({"header_length": {"value": 1}}, "`header_length`: expected text, got 1"),
    ({"header_length": {"values": "12"}}, "`header_length.values`: expected a list, got '12'"),
    (
        {"header_length": {"value": "${length*2}"}},
        "`header_length`: expected ${length}, ${blobs} or ${body}, with +n or -n or a notation in "
        "it at most, got '${length*2}'",
    ),
    ({"content_type": 1}, "`content_type`: expected text, got 1"),
    ({"headers": ["X-A"]}, "`headers`: expected a mapping, got ['X-A']"),
    ({"headers": {"X-A": 1}}, "`headers`: expected text, got 1"),
    ({"path": 1}, "`path`: expected text, got 1"),
    ({"body": 1}, "`body`: expected a mapping, got 1"),
    ({"body": {"drop": -1}}, "`body.drop`: expected at least 0, got -1"),
    (
        {"body": {"append": "xx"}},
        "`body.append`: expected two hexadecimal digits for each byte, got 'xx'",
    ),
    ({"body": {"append": [1]}}, "`body.append`: expected an integer, got [1]"),
    ({"body": {"append": 2**40}}, "`body.append`: expected at most 1073741824, got 1099511627776"),
    ({"encoding": ["gzip"]}, "`encoding`: expected text, got ['gzip']"),
    ({"encoding": "gzip", "encoded": 1}, "`encoded`: expected a mapping, got 1"),
    (
        {"encoding": "br", "encoded": {"drop": 1}},
        "`encoded`: 'br' is no coding that can be tampered with",
    ),
    (
        {"encoding": "gzip", "encoded": {"cut": 1}},
        "`encoded`: unknown member 'cut'; expected drop, flip, hex, bomb or blanks",
    ),
    ({"encoding": "gzip", "encoded": {"flip": 0}}, "`encoded.flip`: expected at least 1, got 0"),
    (
        {"encoding": "gzip", "encoded": {"hex": "1"}},
        "`encoded.hex`: expected two hexadecimal digits for each byte, got '1'",
    ),
    (
        {"encoding": "gzip", "encoded": {"bomb": 2**50}},
        "`encoded.bomb`: expected at most 4294967296, got 1125899906842624",
    ),
    ({"accept_encoding": 1}, "`accept_encoding`: expected text, got 1"),
    (
        {"accept_encoding": "gzip;q=high"},
        "`accept_encoding`: expected a weight from q=0 to q=1, got 'q=high'",
    ),
    (
        {"delivery": "slices"},
        "`delivery`: expected whole, {slices: …} or {chunks: …}, got 'slices'",
    ),
    ({"delivery": 7}, "`delivery`: expected a mapping, got 7"),
    ({"delivery": {"slice": 7}}, "`delivery`: unknown member 'slice'; expected slices or chunks"),
    ({"delivery": {"slices": 0}}, "`delivery.slices`: expected at least 1, got 0"),
    ({"delivery": {"slices": True}}, "`delivery.slices`: expected an integer, got True"),
    (
        {"delivery": {"chunks": "saem"}},
        "`delivery.chunks`: expected one, seam, a size or a list of offsets, got 'saem'",
    ),
    ({"delivery": {"chunks": {}}}, "`delivery.chunks`: expected a list, got {}"),
    ({"delivery": {"chunks": [7]}}, "`delivery.chunks`: expected a mapping, got 7"),
    (
        {"delivery": {"chunks": [{"blob": 1, "at": 0}]}},
        "`delivery.chunks`: there is no blob 1; the request has 1",
    ),
    (
        {"delivery": {"chunks": [{"blob": 0}]}},
        "`delivery.chunks`: `at`: expected an integer, got None",
    ),
]


@pytest.mark.parametrize(("request_", "words"), REQUESTS, ids=lambda x: str(x)[:60])
def test_a_wrong_request_is_refused(request_: dict[str, Any], words: str) -> None:
    assert refusal(make_case(REJECT, **request_)) == words


def test_more_can_be_dropped_neither_of_a_body_nor_of_its_coding() -> None:
    size = len(b"".join(prepared(make_case()).request.body))
    message = refusal(make_case(body={"drop": size + 1}))
    assert message == f"`body.drop`: expected at most {size}, got {size + 1}"
    encoded = len(b"".join(prepared(make_case(encoding="gzip")).request.body))
    for kind in ("drop", "flip"):
        case = make_case(encoding="gzip", encoded={kind: encoded + 1})
        wanted = f"`encoded.{kind}`: expected at most {encoded}, got {encoded + 1}"
        assert refusal(case) == wanted


def test_a_cut_outside_the_body_is_refused() -> None:
    size = len(b"".join(prepared(make_case()).request.body))
    for at, byte in ((13, size + 1), (11 - size, -1)):
        case = make_case(delivery={"slices": [{"blob": 0, "at": at}]})
        words = f"`delivery.slices`: byte {byte} is outside the body of {size} bytes"
        assert refusal(case) == words


def test_a_path_that_is_no_text_is_refused() -> None:
    words = r"`get`: '\ud800' is half of a surrogate pair"
    assert refusal(make_get("/v2/\ud800")) == words


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        (["0"], "`expect.outputs`: expected a mapping, got ['0']"),
        ({"1": "json"}, "`expect.outputs`: unknown member '1'; expected 0"),
        ({"zero": "json"}, "`expect.outputs`: unknown member 'zero'; expected 0"),
        ({"0": "jsn"}, "`expect.outputs.0`: the form: expected binary, json or any, got 'jsn'"),
        ("jsn", "`expect.outputs.0`: the form: expected binary, json or any, got 'jsn'"),
    ],
)
def test_a_wrong_expectation_is_refused(outputs: object, words: str) -> None:
    assert refusal(make_case({"outcome": "success", "outputs": outputs})) == words


def test_an_output_of_an_input_that_is_not_sent_is_refused() -> None:
    expect = {"outcome": "success", "outputs": {"1": "json"}}
    case = make_case(expect, model="mixed", inputs=[{"shape": [1, 1]}])
    words = "`expect.outputs.1`: the input that it is made of is not sent"
    assert refusal(case) == words


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"values": [1, 2]}, "expected 12 bytes for INT32 [3] (3 x 4), got 8"),
        ({"elements": 4}, "expected 12 bytes for INT32 [3] (3 x 4), got 16"),
        ({"datatype": "FP64"}, "expected 24 bytes for FP64 [3] (3 x 8), got 12"),
        ({"values": {"hex": "00"}}, "expected 12 bytes for INT32 [3] (3 x 4), got 1"),
    ],
)
def test_values_that_do_not_fit_the_shape_cannot_come_back(
    members: dict[str, Any], words: str
) -> None:
    request: dict[str, Any] = {"inputs": [{"shape": [3], **members}]}
    for outcome in ("success", "either", "disputed"):
        case = make_case({"outcome": outcome, "outputs": "any"}, **request)
        assert refusal(case) == f"`expect.outputs.0`: {words}"
    prepared(make_case({"outcome": "reject", "outputs": "any"}, **request))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0, 2.0], "the model needs three elements, but gets 2"),
        ({"hex": "0000"}, "element 0 at byte 0: expected 4 bytes of FP32, got 2"),
    ],
)
def test_a_model_of_the_first_three_elements_needs_them(values: object, words: str) -> None:
    expect = {"outcome": "reject", "outputs": {"0": "any"}}
    case = make_case(expect, model="raw/two_outputs", inputs=[{"shape": [4], "values": values}])
    assert refusal(case) == f"`expect.outputs.0`: {words}"


def broken(*_: object, **__: object) -> Buffer:
    raise KeyError("INT32")


@pytest.mark.parametrize("module", [encode, encode_inputs])
def test_a_bug_of_the_suite_is_not_the_authors_mistake(
    monkeypatch: pytest.MonkeyPatch, module: Any
) -> None:
    name = "compose" if module is encode else "value_pattern"
    monkeypatch.setattr(module, name, broken)
    case = make_case(inputs=[{"shape": [3]}])
    with pytest.raises(KeyError):
        prepared(case)
    server = Server("s", "1", (), {case.model: binding(case.model)})
    result = Engine(Target("http://nowhere.invalid"), server).run(case)
    assert result.outcome == Outcome.ERROR
    assert result.message.startswith("error of the suite: KeyError('INT32') at test_case_data.py:")


def test_a_mistake_is_an_error_in_a_run_and_not_one_of_the_suite() -> None:
    case = make_case(inputs=[{"shape": [3], "form": "binray"}])
    server = Server("s", "1", (), {case.model: binding(case.model)})
    result = Engine(Target("http://nowhere.invalid"), server).run(case)
    assert result.outcome == Outcome.ERROR
    assert result.message.startswith("D1/made-by-hand: `inputs[0]`: `form`: expected ")


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 40),
    st.sampled_from([2**31, 2**64, -(2**63), 1.5, float("nan")]),
    st.sampled_from(
        ["", "0", "ff", "json", "nested", "counting", "seam", "${length}", "é", "\ud800", "plain"]
    ),
)
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(LEAVES.map(str), inner)
)
FULL: dict[str, Any] = {
    "inputs": [
        {"tensor": 0, "shape": [2, 2], "form": "nested", "values": [0.5, 1, 2, 3], "name": "x"},
        {"tensor": 1, "shape": [2, 2], "size": {"add": 1}, "elements": 4, "parameters": {"a": 1}},
        {"tensor": 2, "shape": [4], "values": {"hex": "01000100"}, "blob": "0001"},
    ],
    "outputs": [{"tensor": 0, "binary_data": True, "parameters": {"b": 2}}],
    "json": {"before": " ", "indent": 1},
    "header_length": {"values": ["${length}", "${body-1}"]},
    "headers": {"X-A": "b"},
    "body": {"drop": 1, "append": "00"},
    "delivery": {"chunks": [{"blob": 0, "at": 1}]},
    "encoding": "gzip",
    "encoded": {"flip": 2},
    "accept_encoding": "gzip;q=0.5",
    "path": "/v2",
    "content_type": "text/plain",
    "id": "7",
}


def paths(value: object, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to everything in a document."""
    steps: Any = ()
    if isinstance(value, dict):
        steps = value.items()
    elif isinstance(value, list):
        steps = enumerate(value)
    return [here, *(path for step, item in steps for path in paths(item, (*here, step)))]


def changed(value: Any, path: tuple[Any, ...], new: object) -> Any:
    """`value` with `new` at the end of `path`."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(copy[path[0]], path[1:], new)
    return copy


@given(st.sampled_from(paths(FULL)), JSON, st.sampled_from(["success", "reject"]), st.data())
@settings(max_examples=200)
def test_nothing_in_a_case_makes_encoding_raise_anything_else(
    path: tuple[Any, ...], new: object, outcome: str, data: st.DataObject
) -> None:
    request = changed(FULL, path, new)
    outputs = data.draw(st.just("any") | JSON)
    case = make_case({"outcome": outcome, "outputs": outputs}, model="mixed")
    with contextlib.suppress(CaseFileError):
        prepare(replace(case, request=request), ADDRESS, binding("mixed"))
