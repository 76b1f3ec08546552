"""The rules of cases/requirements.yaml beyond those of its schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from v2_conformance.errors import CaseFileError
from v2_conformance.resources import folder, schema
from v2_conformance.suite.causes.causes import KINDS
from v2_conformance.terminal_safe_text import did_you_mean
from v2_conformance.yaml_files import YamlFile, read_yaml

FINDINGS = {*KINDS, "did_not_survive_on_same_connection", "wrong_error_status"}


def check_catalogue() -> None:
    """Raise CaseFileError, with file and line, where cases/requirements.yaml breaks its rules.

    Beyond its schema: ids are unique and in the order of families and numbers, no requirement is
    newer than the catalogue, every citation, every successor and every finding is known, and no
    requirement is a prerequisite of itself, directly or by way of others.
    """
    data: dict[str, Any] = catalogue_file().document
    errors = sorted(schema("requirements").iter_errors(data), key=lambda error: list(error.path))
    if errors:
        first = errors[0]
        here = [error.message for error in errors if error.json_path == first.json_path]
        raise _bad(f"{first.json_path}: {'; '.join(here)}", list(first.absolute_path))
    order = list(data["families"])
    known = {entry["id"] for entry in data["requirements"]}
    previous = (-1, 0)
    for index, entry in enumerate(data["requirements"]):
        where: list[str | int] = ["requirements", index, "id"]
        letter, number = entry["id"][0], int(entry["id"][1:])
        if letter not in order:
            raise _bad(f"{entry['id']}: family {letter} is not in families", where)
        place = (order.index(letter), number)
        if place == previous:
            raise _bad(f"{entry['id']} occurs twice", where)
        if place < previous:
            raise _bad(f"{entry['id']} is out of order: sort by family, then by number", where)
        previous = place
        if _numbers(entry["since"]) > _numbers(data["version"]):
            message = f"{entry['id']} is since {entry['since']}, the catalogue is {data['version']}"
            raise _bad(message, ["requirements", index, "since"])
        for successor in entry.get("superseded_by", ()):
            if successor not in known - {entry["id"]}:
                message = f"{entry['id']} is superseded by {successor}, which is no other one"
                raise _bad(message, ["requirements", index, "superseded_by"])
        for n, cited in enumerate(entry["cite"]):
            if cited["document"] not in data["documents"]:
                message = f"{entry['id']} cites {cited['document']!r}, which documents lacks"
                raise _bad(message, ["requirements", index, "cite", n])
        for finding in entry.get("findings", ()):
            if finding not in FINDINGS:
                hint = did_you_mean(finding, FINDINGS, "schemas/report.schema.json has all kinds")
                message = f"{entry['id']}: unknown finding {finding!r}: {hint}"
                raise _bad(message, ["requirements", index, "findings"])
    _check_prerequisites(data["requirements"])


def _check_prerequisites(entries: Sequence[Mapping[str, Any]]) -> None:
    """Raise CaseFileError for a prerequisite of what is not there, or of itself."""
    index = {entry["id"]: place for place, entry in enumerate(entries)}
    done: set[str] = set()

    def follow(name: str, path: tuple[str, ...]) -> None:
        if name in done:
            return
        here = (*path, name)
        for other in entries[index[name]].get("prerequisite_of", ()):
            where: list[str | int] = ["requirements", index[name], "prerequisite_of"]
            if other not in index:
                raise _bad(f"{name} is a prerequisite of {other}, which is not there", where)
            if other in here:
                around = " -> ".join((*here[here.index(other) :], other))
                raise _bad(f"a requirement is a prerequisite of itself: {around}", where)
            follow(other, here)
        done.add(name)

    for name in index:
        follow(name, ())


@cache
def catalogue_file() -> YamlFile:
    return read_yaml(
        folder("cases") / "requirements.yaml", CaseFileError, "cases/requirements.yaml"
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _bad(message: str, path: Sequence[str | int]) -> CaseFileError:
    return CaseFileError(f"{catalogue_file().name}:{catalogue_file().line(tuple(path))}: {message}")
