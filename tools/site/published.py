"""Results of the published reports, requirement by requirement: read from reports/ of a
checkout."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import yaml

from v2_conformance.formats.outcomes_shown import LOOKS
from v2_conformance.report.document import NOT_IMPLEMENTED
from v2_conformance.report.shown.visible_text import short
from v2_conformance.suite.outcomes import Outcome

_MESSAGE = 400
_EXPECTATIONS = ("tests/real/expectations", "tests/real/clients/expectations")


class _Case(msgspec.Struct):
    """Of a case in a report.json, what these pages show."""

    id: str
    requirement: str
    outcome: Outcome
    message: str = ""


class _Report(msgspec.Struct):
    cases: list[_Case]


@dataclass(frozen=True)
class Published:
    """A published report. `outcomes` maps requirements to outcomes, and is empty for a report that
    was not confirmed, `grades` those that failed to their grades; `sentences` says what the server
    does, in words that its bytes prove."""

    id: str
    kind: str
    name: str
    version: str
    verdict: str
    day: str
    page: str
    confirmed: bool
    outcomes: Mapping[str, Outcome]
    grades: Mapping[str, str]
    cases: Sequence[_Case]
    sentences: Mapping[str, str]

    @property
    def label(self) -> str:
        """Name and version."""
        return f"{self.name} {self.version}"

    def said(self, requirement: str) -> str:
        """The outcome of a requirement in words, with its sign."""
        outcome = self.outcomes.get(requirement)
        if not self.confirmed:
            return "≠ outdated"
        if self.verdict == NOT_IMPLEMENTED:
            return "– extension not implemented"
        if outcome is None:
            return "– not claimed"
        grade = f" {self.grades[requirement]}" if requirement in self.grades else ""
        return f"{LOOKS[outcome].sign} {LOOKS[outcome].label}{grade}"

    def tone(self, requirement: str) -> str:
        """The outcome whose color it has."""
        outcome = self.outcomes.get(requirement)
        left_out = outcome is None or not self.confirmed or self.verdict == NOT_IMPLEMENTED
        return "none" if left_out or outcome is None else outcome.value

    def troubles(self, requirement: str) -> list[_Case]:
        """The cases of a requirement that did not pass, and ran."""
        quiet = (Outcome.PASS, Outcome.NOT_RUN, Outcome.UNSUPPORTED)
        found = (case for case in self.cases if case.requirement == requirement)
        return [case for case in found if case.outcome not in quiet]


def published(root: Path) -> list[Published]:
    """Return the reports of reports/, servers before clients, in the order of its index."""
    index: Mapping[str, Any] = msgspec.json.decode((root / "reports/index.json").read_bytes())
    return [_published(root, entry) for entry in index["reports"]]


def _published(root: Path, entry: Mapping[str, Any]) -> Published:
    packed = root / "reports" / entry["report"]
    confirmed = bool(entry["confirmed"])
    cases = msgspec.json.decode(gzip.decompress(packed.read_bytes()), type=_Report).cases
    return Published(
        id=entry["id"],
        kind=entry["kind"],
        name=short(entry["name"], 60),
        version=short(entry["version"], 40),
        verdict=entry["verdict"],
        day=short(entry["started"][:10], 10),
        page=entry["page"],
        confirmed=confirmed,
        outcomes={key: Outcome(value) for key, value in entry["requirements"].items()},
        grades=entry.get("grades", {}),
        cases=cases if confirmed else (),
        sentences=_sentences(root, entry["id"]),
    )


def _sentences(root: Path, name: str) -> dict[str, str]:
    for folder in _EXPECTATIONS:
        path = root / folder / f"{name}.yaml"
        if path.exists():
            loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
            entries = yaml.load(path.read_text("utf-8"), Loader=loader)["requirements"]
            return {
                key: entry["seen"].strip()
                for key, entry in entries.items()
                if isinstance(entry, dict) and "seen" in entry
            }
    return {}
