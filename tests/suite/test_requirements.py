"""The requirement catalogue is complete; an exact answer never fails a derived MUST."""

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
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.cases import ClientCase, RequestCase
from v2_conformance.suite.library import client_cases, suite_cases
from v2_conformance.suite.requirements import LEVELS, Basis, catalogue, check_profile
from v2_conformance.wire.encode.requests import Prepared, prepare


@pytest.fixture
def edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of cases/ to break; `edit` replaces text in its requirements.yaml."""
    copy = tmp_path / "cases"
    shutil.copytree(folder("cases"), copy)
    monkeypatch.setattr(module, "folder", lambda name: copy)
    module.catalogue_file.cache_clear()
    yield copy / "requirements.yaml"
    module.catalogue_file.cache_clear()


def edit(path: Path, old: str, new: str) -> None:
    """Replace the first `old`."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


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


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  - id: P2", "  - id: P1", "P1 occurs twice"),
        ("  - id: P4", "  - id: P40", "P5 is out of order"),
        ("  - id: P1\n", "  - id: Y1\n", "family Y is not in families"),
        ("{document: oip,", "{document: oop,", "P1 cites 'oop'"),
        ("level: MUST", "level: SHALL", "'SHALL' is not one of"),
        ("basis: derived", "basis: text", "'derived' was expected"),
        ("    title: Request", "    titel: Request", "titel"),
        ("    since: 1.0.0\n", "", "'since' is a required property"),
        ("    since: 1.0.0\n", "    since: 99.0.0\n", "P1 is since 99.0.0"),
        ("  - id: P1\n", "  - id: P1\n    superseded_by: [P99]\n", "by P99, which is no"),
        ("  - id: P1\n", "  - id: P1\n    findings: [wrong_stauts]\n", "mean wrong_status"),
        ("  - id: P1\n", "  - id: P1\n    prerequisite_of: [P99]\n", "of P99, which is not there"),
        ("  - id: E4\n", "  - id: E4\n    prerequisite_of: [P5]\n", "itself: P5 -> E4 -> P5"),
    ],
)
def test_broken_catalogue_is_refused(edited: Path, old: str, new: str, message: str) -> None:
    edit(edited, old, new)
    with pytest.raises(CaseFileError, match=message) as refusal:
        check_catalogue()
    assert str(refusal.value).startswith("cases/requirements.yaml:")


def test_misspelt_profile_is_refused_with_what_was_meant() -> None:
    with pytest.raises(UsageError, match="did you mean compression") as refusal:
        check_profile("compresion")
    assert all(name in str(refusal.value) for name in PROFILES)


NO_EXACT_READING = {
    "bytes are missing": (
        "S2/size-against-shape[12]", "S2/size-against-shape[15]", "S2/shape-against-size[",
        "S2/size-against-shape-in-codings", "S2/size-against-shape-on-",
        "S3/", "S6/negative-among-others", "S12/size-zero-for-elements",
        "B9/element-count[too_few_elements]", "K5/", "K25/size-inside-an-element",
        "K25/json-against-shape", "K25/neither-data-nor-size",
    ),
    "no tensor has the shape": ("S8/", "J5/"),
    "a length is false": ("B6/", "B7/", "K25/bytes-lengths[beyond", "K25/bytes-lengths[far"),
    "nothing says what the bytes are": (
        "W5/", "W6/", "W9/not-a-whole-number-", "K25/unknown-datatype",
    ),
    "elements are missing": (
        "J1/number-of-elements[too_few", "J1/number-of-elements[none",
        "J1/number-of-strings[too_few", "J1/number-of-strings[none",
        "J1/data-of-the-second-input[too_few",
        "J1/nesting-against-shape[row_missing", "J1/nesting-against-shape[row_short",
        "K25/ragged-and-short-json",
    ),
    "the data is no list of values": (
        "J1/data-is-no-array[null", "J1/data-is-no-array[true", "J1/data-is-no-array[number",
        "J1/data-is-no-array[fraction", "J1/data-is-no-array[string", "J1/data-of-one-value",
    ),
    "an element is no value": (
        "J1/out-of-range", "J1/data-of-the-second-input[out_of_range", "J2/", "J3/elements",
        "J7/long-number", "K20/", "K25/json-out-of-range",
    ),
    "an input is missing": ("J6/inputs-of-the-model",),
    "the answer is an error, or none": ("K29/", "K32/"),
}  # fmt: skip
"""Starts of ids of cases of derived requirements that have none, by why."""


def test_each_derived_must_case_has_an_exact_reading_or_there_is_none() -> None:
    starts = tuple(start for some in NO_EXACT_READING.values() for start in some)
    without = [case.id for case in derived() if not read_exactly(case)]
    without += [case.id for case in derived_of_clients() if "exact" not in case.expected(-1)]
    assert [id for id in without if not id.startswith(starts)] == []
    assert [start for start in starts if not any(id.startswith(start) for id in without)] == []
    exact = [case for case in (*suite_cases(), *client_cases()) if "exact" in case.expect]
    assert {catalogue()[case.requirement].basis for case in exact} == {"derived"}


def derived() -> list[RequestCase]:
    return [
        case
        for case in suite_cases(large=True)
        if isinstance(case, RequestCase)
        and (case.expects, case.level, "accepted" in case.expect) == ("reject", "MUST", False)
        and catalogue()[case.requirement].basis == "derived"
    ]


def derived_of_clients() -> list[ClientCase]:
    return [
        case
        for case in client_cases()
        if isinstance(case, ClientCase)
        and case.level == "MUST"
        and catalogue()[case.requirement].basis == "derived"
        and case.expected(-1).get("reading") in ("error", "refused")
    ]


def read_exactly(case: RequestCase) -> bool:
    return "exact" in case.expect and bool(prepared(case).expected)


def prepared(case: RequestCase) -> Prepared:
    target = Target("http://host:1")
    return prepare(case, target.address, target.binding(case.model))
