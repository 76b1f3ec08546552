"""What a report amounts to, in few words, for the pages and files that name it in passing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from v2_conformance.judging.judge import (
    DISPUTED,
    ERROR,
    FAIL,
    INCONCLUSIVE,
    NOT_RUN,
    PASS,
    UNSUPPORTED,
)
from v2_conformance.report.annotate import visible
from v2_conformance.report.summary import verdict_words

# Shape and word say it too, so that no reader depends on the colour.
SIGNS = {
    PASS: "✓",
    FAIL: "✗",
    ERROR: "!",
    INCONCLUSIVE: "?",
    DISPUTED: "≠",
    NOT_RUN: "○",
    UNSUPPORTED: "–",
}
WORDS = {NOT_RUN: "not run", ERROR: "suite error"}
INCOMPLETE = "incomplete run"
# For each verdict the outcome whose colour it has, and its sign.
TONES = {
    "conformant, robust": (PASS, "✓"),
    "conformant, not robust": (INCONCLUSIVE, "◐"),
    "not conformant": (FAIL, "✗"),
    INCOMPLETE: (NOT_RUN, "○"),
}
_NAME = 80


@dataclass(frozen=True)
class Standing:
    """A verdict in words, the outcome whose colour it takes, and its sign.

    `left_out` counts the cases of a whole run that the report lacks.
    """

    words: str
    tone: str
    sign: str
    left_out: int


def standing(report: Mapping[str, Any]) -> Standing:
    """The standing of a report.json document; a run without all of its cases is only incomplete."""
    left_out = sum(missing(report).values())
    words = verdict_words(report["verdict"])
    if left_out or not report["complete"]:
        words = INCOMPLETE
    return Standing(words, *TONES[words], left_out)


def missing(report: Mapping[str, Any]) -> dict[str, int]:
    """Requirement to the number of its planned cases that are not in the report."""
    there: dict[str, set[str]] = {}
    for case in report["cases"]:
        there.setdefault(case["requirement"], set()).add(case["id"])
    left = {
        requirement: count - len(there.get(requirement, ()))
        for requirement, count in report.get("planned", {}).items()
    }
    return {requirement: count for requirement, count in left.items() if count > 0}


def server_name(report: Mapping[str, Any]) -> str:
    """The server's name and version, printable and short; not escaped for any format."""
    server = report["target"]["server"]
    text = " ".join(visible(f"{server['name']} {server['version']}").split())
    return short(text or "unnamed server", _NAME)


def profiles(report: Mapping[str, Any]) -> str:
    """The claimed profiles, and the datatypes that the server declares unsupported."""
    text = ", ".join(report["target"]["profiles"]) or "none"
    unsupported = report["target"].get("unsupported")
    return text + (f", without {', '.join(unsupported)}" if unsupported else "")


def short(text: str, limit: int) -> str:
    """`text` in at most `limit` characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
