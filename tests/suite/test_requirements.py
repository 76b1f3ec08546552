"""The requirement catalogue: complete, well-formed, honest about where each entry comes from."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from support import catalogue as module
from support.catalogue import check_catalogue
from tools import ROOT
from tools.release import frozen_requirements, requirement_rows
from v2_conformance.errors import CaseFileError, UsageError
from v2_conformance.protocol.names import PROFILES
from v2_conformance.resources import folder, schema
from v2_conformance.suite.requirements import (
    LEVELS,
    Basis,
    Requirement,
    catalogue,
    check_profile,
    documents,
)


@pytest.fixture
def edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of cases/ to break; `edit` replaces text in its requirements.yaml."""
    copy = tmp_path / "cases"
    shutil.copytree(folder("cases"), copy)
    monkeypatch.setattr(module, "folder", lambda name: copy)
    module.catalogue_file.cache_clear()
    yield copy / "requirements.yaml"
    module.catalogue_file.cache_clear()


def edit(path: Path, old: str, new: str) -> int:
    """Replace the first `old` and return the line on which it stood."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return text[: text.index(old)].count("\n") + 1


def test_file_obeys_its_schema_and_rules() -> None:
    check_catalogue()


def test_schema_and_code_name_the_same_levels_bases_and_profiles() -> None:
    document: Any = schema("requirements").schema
    defs = document["$defs"]
    assert tuple(defs["level"]["enum"]) == LEVELS
    assert tuple(defs["profile"]["enum"]) == PROFILES
    assert tuple(defs["requirement"]["properties"]["basis"]["enum"]) == get_args(Basis)


def test_released_ids_and_what_they_stand_for_are_permanent() -> None:
    frozen = frozen_requirements(ROOT)
    assert [row for row in requirement_rows() if row in frozen] == frozen


def test_documents_say_which_text_was_read() -> None:
    for key, document in documents().items():
        assert document.commit or document.date, key
        assert document.sha256 or key.startswith("rfc"), key


def test_derived_requirements_say_why_they_follow() -> None:
    for requirement in catalogue().values():
        assert bool(requirement.follows) == (requirement.basis == "derived"), requirement.id


def test_requirement_is_stricter_only_for_a_server_that_claims_the_profile() -> None:
    metadata = catalogue()["P1"]
    assert metadata.level_for(["binary"]) == "SHOULD"
    assert metadata.level_for({"binary", "raw"}) == "MUST"
    assert catalogue()["H3"].level_for(PROFILES) == "MUST"
    assert catalogue()["O6"].level_for(PROFILES) == "DISPUTED"


def test_strictest_level_wins_when_several_claimed_profiles_name_one() -> None:
    requirement = Requirement(
        id="P1", since="1.0.0", level="MAY", basis="text", profile="binary", title="", statement="",
        cite=(),
        level_in={"bf16": "SHOULD", "raw": "MUST"},
    )  # fmt: skip
    assert requirement.level_for(["raw", "bf16"]) == "MUST"


def test_citations_name_known_documents_and_every_document_is_cited() -> None:
    cited = {c.document for requirement in catalogue().values() for c in requirement.cite}
    assert cited == set(documents())


def test_http_and_base_protocol_requirements_cite_their_source() -> None:
    for requirement in catalogue().values():
        cited = {citation.document for citation in requirement.cite}
        if requirement.basis == "http":
            assert cited & {"rfc9110", "rfc9112", "rfc8259"}, requirement.id
        if requirement.basis == "oip":
            assert "oip" in cited, requirement.id


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  - id: P2", "  - id: P1", "P1 occurs twice"),
        ("  - id: P2", "  - id: P3", "P3 occurs twice"),
        ("  - id: P4", "  - id: P40", "P5 is out of order"),
        ("  - id: P1\n", "  - id: Y1\n", "family Y is not in families"),
        ("{document: oip,", "{document: oop,", "P1 cites 'oop'"),
        ("level: MUST", "level: SHALL", "'SHALL' is not one of"),
        ("basis: derived", "basis: text", "'derived' was expected"),
        ("    title: Request", "    titel: Request", "titel"),
        ("    since: 1.0.0\n", "", "'since' is a required property"),
        ("    since: 1.0.0\n", "    since: one\n", "'one' does not match"),
        ("    since: 1.0.0\n", "    since: 99.0.0\n", "P1 is since 99.0.0"),
        (
            "  - id: P1\n",
            "  - id: P1\n    superseded_by: [P99]\n",
            "superseded by P99, which is no",
        ),
        ("  - id: P1\n", "  - id: P1\n    superseded_by: [P1]\n", "by P1, which is no other"),
        ("  - id: P1\n", "  - id: P1\n    findings: [wrong_stauts]\n", "mean wrong_status"),
        (
            "  - id: P1\n",
            "  - id: P1\n    prerequisite_of: [P99]\n",
            "P1 is a prerequisite of P99, which is not there",
        ),
        (
            "  - id: E4\n",
            "  - id: E4\n    prerequisite_of: [P5]\n",
            "a prerequisite of itself: P5 -> E4 -> P5",
        ),
        ("  - id: P1\n", "  - id: P1\n    combines: false\n", "True was expected"),
        ("version: 3.", "version: v2.", "does not match"),
        ("    commit: tr", "    date: tr", "does not match"),
        ("    sha256: 0df4", "    # 0df4", "'sha256' is a required property"),
    ],
)
def test_broken_catalogue_is_refused(edited: Path, old: str, new: str, message: str) -> None:
    edit(edited, old, new)
    with pytest.raises(CaseFileError, match=message):
        check_catalogue()


def test_refusal_names_file_and_line(edited: Path) -> None:
    line = edit(edited, "level: MUST\n", "level: SHALL\n")
    with pytest.raises(CaseFileError, match=rf"^cases/requirements\.yaml:{line}: "):
        check_catalogue()


def test_misspelt_profile_is_refused_with_what_was_meant() -> None:
    with pytest.raises(UsageError, match="did you mean compression") as refusal:
        check_profile("compresion")
    assert all(name in str(refusal.value) for name in PROFILES)
