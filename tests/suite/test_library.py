"""The digest of what the catalogue asks and expects: words do not change it, anything else does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from v2_conformance.suite import library
from v2_conformance.suite.library import digest, every_case
from v2_conformance.suite.models import contract
from v2_conformance.suite.requirements import catalogue
from v2_conformance.suite.variations import variations


def first(found: Mapping[str, Any], **changed: object) -> dict[str, Any]:
    """The entries, the first of them changed."""
    name, entry = next(iter(found.items()))
    return {**found, name: replace(entry, **changed)}


CHANGED: Mapping[str, Callable[..., Any]] = {
    "catalogue": lambda **changed: first(catalogue(), **changed),
    "contract": lambda **changed: first(contract(), **changed),
    "variations": lambda **changed: first(variations(), **changed),
    "every_case": lambda **changed: (replace(every_case()[0], **changed), *every_case()[1:]),
}


def digest_with(monkeypatch: pytest.MonkeyPatch, where: str, changed: Mapping[str, Any]) -> str:
    made = CHANGED[where](**changed)
    monkeypatch.setattr(library, where, lambda: made)
    found: str = digest.__wrapped__()
    return found


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("catalogue", {"title": "Other words", "note": "Noted.", "harm": "hygiene"}),
        ("catalogue", {"cite": ()}),
        ("variations", {"why": "Other words.", "does": "Other words."}),
        ("every_case", {"why": "Other words."}),
    ],
)
def test_words_do_not_change_it(
    monkeypatch: pytest.MonkeyPatch, where: str, words: Mapping[str, Any]
) -> None:
    assert digest_with(monkeypatch, where, words) == digest()


@pytest.mark.parametrize(
    ("where", "asked"),
    [
        ("catalogue", {"level": "DISPUTED"}),
        ("catalogue", {"profile": "bf16"}),
        ("contract", {"optional": True}),
        ("variations", {"needs": ("small",)}),
        ("every_case", {"id": "R9/another"}),
        ("every_case", {"expect": {"outcome": "either"}}),
        ("every_case", {"level": "MAY"}),
    ],
)
def test_what_is_asked_or_expected_changes_it(
    monkeypatch: pytest.MonkeyPatch, where: str, asked: Mapping[str, Any]
) -> None:
    assert digest_with(monkeypatch, where, asked) != digest()
