"""The compiled check of documents passes nothing that jsonschema, which has the words, refuses."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from support.reports import case, document, exchange, report_of
from v2_conformance.report.tested import Model
from v2_conformance.resources import fits, folder, schema

_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 20),
    st.sampled_from(
        [0.5, 2.0, 1e400, "", "\ud800", 10**30, "INT32", "pass", "MUST", "H6/x", "success", "one"]
    ),
)
_KEYS = st.sampled_from(["name", "shape", "value", "0", "a b"])
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "shape", "value", "0", "a b"]), inner, max_size=3
        )
    ),
    max_leaves=5,
)


@cache
def _documents(name: str) -> list[Any]:
    """Right documents. Nobody may change them: who needs another takes a copy."""
    if name == "case":
        paths = sorted(Path(folder("cases")).glob("*.yaml"))
        texts = [p.read_text(encoding="utf-8") for p in paths if p.stem not in _NOT_CASES]
        # Text keys only, as plan.py hands them to the check.
        return [_text_keys(yaml.load(text, Loader=yaml.CSafeLoader)) for text in texts[:4]]
    if name == "response":
        output = {"name": "O", "shape": [2, 0], "datatype": "INT32"}
        binary = {**output, "parameters": {"binary_data_size": 0}}
        return [{"outputs": [{**output, "data": []}, binary], "id": "1", "parameters": None}]
    if name == "server_metadata":
        return [{"name": "n", "version": "1", "extensions": ["e"]}]
    if name == "error":
        return [{"error": "words"}]
    report = report_of(
        [case("H6/a", "fail", None, exchange(b"GET", b"HTTP"))],
        models={"mixed": Model("m", (), ())},
        absent={"raw/bytes": "no such model"},
    )
    return [document(msgspec.structs.replace(report, requirements=report.requirements[:2]))]


_NOT_CASES = {"models", "requirements"}
_NAMES = ["response", "error", "server_metadata", "report", "case"]


def _text_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _text_keys(item) for key, item in value.items()}
    return [_text_keys(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", _NAMES)
def test_right_documents_fit(name: str) -> None:
    for right in _documents(name):
        assert fits(name, right)
        assert schema(name).is_valid(right)


def _nested(depth: int) -> list[Any]:
    outermost: list[Any] = []
    for _ in range(depth):
        outermost = [outermost]
    return outermost


@pytest.mark.parametrize(
    "document",
    [
        {"name": "n", "version": "1", "extensions": [], "\ud800": 1},
        {"name": "\ud800", "version": "\ud800", "extensions": ["\ud800"]},
        {"name": "n", "version": "1", "extensions": [], "more": _nested(100_000)},
        {"name": "n", "version": "1", "extensions": _nested(100_000)},
        {"name": 10**400, "version": "1", "extensions": []},
        "\ud800",
        1e400,
    ],
    ids=["key", "text", "deep", "deep-and-wrong", "long-number", "only-text", "infinity"],
)
def test_a_hostile_document_is_an_answer_not_an_exception(document: object) -> None:
    if fits("server_metadata", document):
        assert schema("server_metadata").is_valid(document)


@pytest.mark.parametrize("name", _NAMES)
@settings(deadline=None, max_examples=15)
@given(data=st.data())
def test_passes_nothing_that_jsonschema_refuses(name: str, data: st.DataObject) -> None:
    """One place of a right document is replaced, removed or added to."""
    document = copy.deepcopy(data.draw(st.sampled_from(_documents(name))))
    if name == "case":
        document["cases"] = [data.draw(st.sampled_from(document["cases"]))]
    here = document
    while True:
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))
        key = data.draw(st.sampled_from(keys)) if keys else None
        deeper = key is not None and isinstance(here[key], dict | list)
        if not deeper or data.draw(st.integers(0, 3)) == 0:
            break
        here = here[key]
    what = data.draw(st.sampled_from(["replace", "remove", "add"]))
    if what == "add" or key is None:
        value = data.draw(_VALUES)
        if isinstance(here, dict):
            here["added"] = value
        else:
            here.append(value)
    elif what == "remove":
        del here[key]
    else:
        here[key] = data.draw(_VALUES)
    assert schema(name).is_valid(document) or not fits(name, document)
