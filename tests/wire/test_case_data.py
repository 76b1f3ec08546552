"""What an author gets wrong is an error of the case, which it names; a bug of the suite is not."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.cases import ADDRESS, binding, make_case, prepared
from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.runs.discovery import Server
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.encode import inputs as encode_inputs
from v2_conformance.wire.encode import requests as encode
from v2_conformance.wire.encode.requests import prepare


def broken(*_: object, **__: object) -> Buffer:
    raise KeyError("INT32")


@pytest.mark.parametrize("module", [encode, encode_inputs])
def test_bug_is_not_the_authors_mistake(monkeypatch: pytest.MonkeyPatch, module: Any) -> None:
    name = "compose" if module is encode else "value_pattern"
    monkeypatch.setattr(module, name, broken)
    case = make_case(inputs=[{"shape": [3]}])
    with pytest.raises(KeyError):
        prepared(case)
    server = Server("s", "1", (), {case.model: binding(case.model)})
    result = Engine(Target("http://nowhere.invalid"), server).run(case)
    assert result.outcome == Outcome.ERROR
    assert result.message.startswith("error in the suite: KeyError('INT32') at test_case_data.py:")


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
