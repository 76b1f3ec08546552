"""Mutations of a request's JSON: each changes one place, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from v2_conformance.errors import CaseFileError
from v2_conformance.wire.encode.json_changes import change_json, change_words

DOCUMENT = {"id": "a", "inputs": [{"name": "x", "shape": [2, 3]}, {"name": "y", "shape": [4]}]}


def changed(*changes: dict[str, Any]) -> bytes:
    return change_json(json.dumps(DOCUMENT).encode(), list(changes), indent=None)


def test_later_mutations_see_earlier_ones() -> None:
    twice: list[dict[str, Any]] = [
        {"at": "inputs.0", "repeat": 2},
        {"at": "inputs.1.name", "to": "z"},
    ]
    assert [entry["name"] for entry in json.loads(changed(*twice))["inputs"]] == ["x", "z", "y"]
    nested: list[dict[str, Any]] = [{"at": "id", "text": "0x1"}, {"at": "id", "nest": 1}]
    assert changed(*nested).startswith(b'{"id":[0x1],')


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"at": "outputs.0", "to": 1}, "there is no 'outputs.0'"),
        ({"at": "inputs.name", "to": 1}, "there is no 'inputs.name'"),
        ({"at": "inputs.3", "to": 1}, "there is no 'inputs.3'"),
        ({"at": "id.x", "to": 1}, "there is no 'id.x'"),
        ({"at": "outputs", "remove": True}, "there is no 'outputs'"),
        ({"at": "id", "repeat": 2}, "not an element of an array"),
    ],
)
def test_a_mutation_of_nothing_is_an_error(change: dict[str, Any], words: str) -> None:
    with pytest.raises(CaseFileError, match=words):
        changed(change)


def test_people_read_what_was_changed() -> None:
    changes: list[dict[str, Any]] = [
        {"at": "inputs.0.shape", "remove": True},
        {"at": "", "nest": 1},
        {"at": "id", "to": "a" * 99},
        {"at": "b", "to": [True]},
        {"at": "inputs.0", "repeat": 2},
        {"at": "d", "hex": "ff"},
    ]
    assert change_words(changes) == (
        f'inputs.0.shape removed, the document nested 1 deep, id changed to "{"a" * 39}…, '
        "b changed to [true], inputs.0 2 times, d changed to the bytes ff"
    )
