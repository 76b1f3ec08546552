"""The requirement catalogue is complete; an exact answer never fails a derived MUST."""

from __future__ import annotations

from graphlib import TopologicalSorter
from typing import Any, get_args

from support.cases import prepared
from tools import ROOT
from tools.release import frozen_requirements, requirement_rows
from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.names import PROFILES
from v2_conformance.report.root_causes import ANOTHER
from v2_conformance.resources import folder, schema
from v2_conformance.suite.cases import ClientCase, RequestCase
from v2_conformance.suite.causes.causes import KINDS
from v2_conformance.suite.library import client_cases, suite_cases
from v2_conformance.suite.requirements import LEVELS, Basis, catalogue
from v2_conformance.yaml_files import check_yaml, read_yaml


def test_the_file_fits_its_schema_and_names_only_what_is_there() -> None:
    file = read_yaml(folder("cases") / "requirements.yaml", CaseFileError)
    check_yaml(file, "requirements", CaseFileError)
    document, families = file.document, list(file.document["families"])
    known = [entry["id"] for entry in document["requirements"]]
    assert known == sorted(set(known), key=lambda id: (families.index(id[0]), int(id[1:])))
    findings = {*KINDS, "did_not_survive_on_same_connection", "wrong_error_status", ANOTHER}
    newest = tuple(map(int, document["version"].split(".")))
    for entry in document["requirements"]:
        assert tuple(map(int, entry["since"].split("."))) <= newest
        assert set(entry.get("superseded_by", ())) <= set(known) - {entry["id"]}
        assert {cited["document"] for cited in entry["cite"]} <= set(document["documents"])
        assert set(entry.get("findings", ())) <= findings, entry["id"]


def test_no_requirement_is_a_prerequisite_of_itself() -> None:
    later = {name: entry.prerequisite_of for name, entry in catalogue().items()}
    tuple(TopologicalSorter(later).static_order())  # CycleError names the circle
    assert {other for others in later.values() for other in others} <= later.keys()


def test_schema_and_code_name_the_same_levels_bases_and_profiles() -> None:
    document: Any = schema("requirements").schema
    defs = document["$defs"]
    assert tuple(defs["level"]["enum"]) == LEVELS
    assert tuple(defs["profile"]["enum"]) == PROFILES
    assert tuple(defs["requirement"]["properties"]["basis"]["enum"]) == get_args(Basis)


def test_released_ids_and_what_they_stand_for_are_permanent() -> None:
    frozen = frozen_requirements(ROOT)
    assert [row for row in requirement_rows() if row in frozen] == frozen


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
    without = [
        case.id for case in derived() if "exact" not in case.expect or not prepared(case).expected
    ]
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
