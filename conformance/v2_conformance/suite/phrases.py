"""Pieces of the sentences in which causes are told."""

from __future__ import annotations

from collections.abc import Sequence


def body_words(text: str) -> str:
    """What is shown of a body, which may be empty."""
    return text or "(empty body)"


def listed(items: Sequence[object]) -> str:
    """Names as a list in quotation marks, "none" for no name."""
    return ", ".join(f"'{item}'" for item in items) or "none"


def counted(number: int, noun: str) -> str:
    """A number with its noun in the singular or the plural."""
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"
