"""The compiled check of documents answers, whatever a document has in it."""

from __future__ import annotations

from typing import Any

import pytest

from v2_conformance.resources import fits, schema


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
