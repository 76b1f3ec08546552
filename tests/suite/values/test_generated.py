"""What is generated: well-formed entries of case files, of all sorts, and nothing that is free."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import yaml

from v2_conformance.conversations.steps import Result
from v2_conformance.judging.verdict import Verdict
from v2_conformance.protocol.datatypes import to_values
from v2_conformance.resources import fits
from v2_conformance.runs.generated import first_failure
from v2_conformance.suite.case_files import make_case
from v2_conformance.suite.cases import Case, RequestCase
from v2_conformance.suite.models import contract
from v2_conformance.suite.outcomes import Outcome

ROLES = [
    role
    for role, model in contract().items()
    if model.does == "identity" and model.profile in ("binary", "bf16")
]


def generated(seed: int, count: int = 60) -> Sequence[RequestCase]:
    """The first `count` requests of a seed, none of which is sent."""
    cases: list[RequestCase] = []

    def passes(case: Case) -> Result:
        assert isinstance(case, RequestCase)
        cases.append(case)
        return Result(case, Verdict(Outcome.PASS))

    assert first_failure(passes, ROLES, count, seed) is None
    assert len(cases) == count
    return cases


def entry_of(case: RequestCase) -> dict[str, Any]:
    own = {"id": case.id, "why": case.why, "model": case.model}
    return {**own, "request": dict(case.request), "expect": dict(case.expect)}


def test_generated_entries_are_valid_case_entries_and_survive_yaml() -> None:
    for case in generated(1)[::12]:
        entry = entry_of(case)
        read = yaml.safe_load(yaml.safe_dump({"family": "M", "cases": [entry]}))
        assert fits("case", read), entry
        assert make_case(read["cases"][0]) == case


def test_everything_is_mixed() -> None:
    cases = generated(2, 200)
    requests = [case.request for case in cases]
    inputs = [entry for request in requests for entry in request["inputs"]]
    models = {case.model for case in cases}
    assert models >= {"mixed", "all_types"}
    assert len(models) > 4
    assert {entry.get("form", "binary") for entry in inputs} == {"binary", "json", "nested"}
    assert all(min(entry["shape"]) > 0 for entry in inputs)
    assert any(max(entry["shape"]) > 16 for entry in inputs)
    assert {"slices", "chunks"} <= {key for r in requests for key in r.get("delivery", {})}
    assert any("id" in request for request in requests)
    assert {key for r in requests for key in r.get("json", {})} == {"indent"}
    assert any("outputs" not in request for request in requests)
    defaults = {r.get("parameters", {}).get("binary_data_output") for r in requests}
    assert defaults == {None, True, False}
    orders = {tuple(e["tensor"] for e in r["inputs"]) for r in requests if len(r["inputs"]) == 3}
    assert len(orders) > 2
    assert {case.level for case in cases} == {"MUST"}


def test_nothing_that_the_documents_dispute_or_leave_free_is_generated() -> None:
    for case in generated(3, 150):
        request = case.request
        listed = request.get("outputs")
        assert listed != []
        if request.get("parameters", {}).get("binary_data_output"):
            assert all("binary_data" in output for output in listed or ())
        specs = contract()[case.model].inputs
        half = {i for i, spec in enumerate(specs) if spec.datatype in ("FP16", "BF16")}
        for number, entry in enumerate(request["inputs"]):
            assert "form" not in entry or entry.get("tensor", number) not in half
        assert all(case.expect["outputs"].get(str(i), "binary") == "binary" for i in half)


def test_numbers_in_json_are_such_as_every_parser_keeps() -> None:
    seen = set()
    for case in generated(5, 200):
        specs = contract()[case.model].inputs
        for number, entry in enumerate(case.request["inputs"]):
            index = entry.get("tensor", number)
            datatype = specs[index].datatype
            in_json = "form" in entry or case.expect["outputs"].get(str(index)) == "json"
            if not in_json or datatype not in ("INT64", "UINT64", "FP32", "FP64"):
                continue
            values = to_values(datatype, bytes.fromhex(entry["values"]["hex"]))
            seen.add(datatype)
            assert all(abs(value) <= 2**53 for value in values)
            assert all(value * 16 == int(value * 16) for value in values)
    assert len(seen) > 2


@pytest.mark.parametrize("roles", [["mixed"], ["identity/INT32"], ["all_types", "identity/BYTES"]])
def test_requests_go_only_to_the_roles_that_are_named(roles: list[str]) -> None:
    seen: list[str | None] = []

    def passes(case: Case) -> Result:
        seen.append(case.role)
        return Result(case, Verdict(Outcome.PASS))

    first_failure(passes, roles, 20, seed=4)
    assert set(seen) == set(roles)
