"""What the extension's documents state, and their errata, read from cases/statements.yaml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from v2_conformance.errors import CaseFileError
from v2_conformance.resources import YAML_LOADER, folder, schema

_FILE = "statements.yaml"


@dataclass(frozen=True)
class Statement:
    """One statement of a document, in our words. `name` is DOCUMENT/SECTION KEY/PARAGRAPH.NUMBER.

    It has `requirements`, or a `reason` why it has none. `same_as` is the name of a statement of
    another document from which all of these were taken.
    """

    name: str
    paragraph: int
    says: str
    requirements: tuple[str, ...] = ()
    reason: str = ""
    same_as: str = ""


@dataclass(frozen=True)
class Section:
    """A section of `document`, a key of `catalogue.documents()`, with its statements in order.

    `paragraphs` is how many paragraphs and list items the section has.
    """

    document: str
    title: str
    key: str
    paragraphs: int
    statements: tuple[Statement, ...]


@dataclass(frozen=True)
class Place:
    """A paragraph of a document whose statements are not listed, such as the base protocol's."""

    document: str
    section: str
    paragraph: int


@dataclass(frozen=True)
class Erratum:
    """Something wrong in the documents: in which statements, what is right, and how one knows."""

    where: tuple[str | Place, ...]
    says: str
    right: str
    evidence: str


@cache
def sections() -> tuple[Section, ...]:
    """Every section of the five documents. Raises CaseFileError where the file breaks its rules."""
    data = _data()
    entries = dict(_entries(data["documents"]))
    return tuple(
        Section(document, entry["section"], entry["key"], entry["paragraphs"], statements)
        for document, listed in data["documents"].items()
        for entry in listed
        for statements in [tuple(_statements(document, entry, entries))]
    )


@cache
def errata() -> tuple[Erratum, ...]:
    """The errata, in the order of the file."""
    return tuple(
        Erratum(
            tuple(at if isinstance(at, str) else Place(**at) for at in entry["where"]),
            entry["says"],
            entry["right"],
            entry["evidence"],
        )
        for entry in _data()["errata"]
    )


def _entries(documents: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every statement as it stands in the file, by its name."""
    names: set[str] = set()
    for document, listed in documents.items():
        for section in listed:
            for entry in section["statements"]:
                name = f"{document}/{section['key']}/{entry['at']}"
                if name in names:
                    raise CaseFileError(f"cases/{_FILE}: the statement {name} is there twice")
                names.add(name)
                yield name, entry


def _statements(
    document: str, section: Mapping[str, Any], entries: Mapping[str, Mapping[str, Any]]
) -> Iterator[Statement]:
    for entry in section["statements"]:
        name = f"{document}/{section['key']}/{entry['at']}"
        same_as = entry.get("as", "")
        meant = entries.get(same_as, {}) if same_as else entry
        if "says" not in meant:
            raise CaseFileError(f"cases/{_FILE}: {name} is as {same_as}, which has no words itself")
        yield Statement(
            name,
            int(entry["at"].partition(".")[0]),
            meant["says"],
            tuple(meant.get("requirements", ())),
            meant.get("reason", ""),
            same_as,
        )


@cache
def _data() -> dict[str, Any]:
    with (folder("cases") / _FILE).open(encoding="utf-8") as file:
        data: dict[str, Any] = yaml.load(file, Loader=YAML_LOADER)
    error = next(iter(schema("statements").iter_errors(data)), None)
    if error is not None:
        raise CaseFileError(f"cases/{_FILE}: {error.json_path}: {error.message[:300]}")
    return data
