"""The crossing: every pair and triple of levels that can come together does, in rows that stay."""

from __future__ import annotations

import itertools

import pytest

from tools import crossing_factors
from tools.crossing import FILE, committed, extended, page, stages, uncovered, within
from tools.crossing_factors import SIXTEEN_BIT, factors, is_legal, label, row_of
from v2_conformance.resources import folder
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.library import every_case
from v2_conformance.suite.models import contract

CASES = [c for c in every_case() if c.requirement == "X1" and isinstance(c, RequestCase)]


def test_every_possible_pair_occurs_even_for_servers_that_lack_something() -> None:
    rows = committed()
    assert extended(rows) == rows  # what is there stays, and nothing is missing
    assert all(is_legal(row) for row in rows)
    assert len({label(row) for row in rows}) == len(rows)
    for levels in stages():
        assert not list(uncovered(within(rows, levels), levels))
    assert list(uncovered(within(rows, stages()[0])[1:], stages()[0]))


def test_the_file_is_what_its_rows_amount_to() -> None:
    text = (folder("cases") / FILE).read_text(encoding="utf-8")
    assert text == page(committed())


def test_labels_stay_when_a_factor_and_a_level_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = committed()
    before = [label(row) for row in rows]
    more = {**factors(), "moon": ("new", "full")}
    more["delivery"] = (*more["delivery"], "pigeon")
    monkeypatch.setattr(crossing_factors, "factors", lambda: more)
    assert [label({**row, "moon": "new"}) for row in rows] == before
    assert [row_of(name) for name in before] == [{**row, "moon": "new"} for row in rows]
    assert label({**rows[0], "moon": "full"}).endswith(".full")


def test_nothing_is_sent_that_the_documents_leave_open() -> None:
    for case in CASES:
        model, inputs = contract()[case.model], case.request["inputs"]
        sixteen = {i for i, spec in enumerate(model.inputs) if spec.datatype in SIXTEEN_BIT}
        assert all("form" not in inputs[i] for i in sixteen), case.id  # D12
        forms = case.expect["outputs"]
        if isinstance(forms, str):
            forms = dict.fromkeys(map(str, range(len(inputs))), forms)
        assert all(forms.get(str(i), "binary") == "binary" for i in sixteen), case.id
        by_default = case.request.get("parameters", {}).get("binary_data_output", False)
        flags = [output.get("binary_data") for output in case.request.get("outputs", ())]
        assert not (by_default and None in flags), case.id  # O6
        free = "model-name" in case.variations or any(0 in entry["shape"] for entry in inputs)
        free |= bool(case.request.get("raw") and case.codings)  # 415, RFC 9110 15.5.16
        assert case.expects == ("either" if free else "success"), case.id  # E1, V1
        assert case.level == "MUST"
        assert not (case.request.get("raw") and {"outputs", "parameters"} & case.request.keys())


def test_every_state_before_meets_every_path_and_profile() -> None:
    rows = [row for row in committed() if row["before"] != "nothing-before"]
    of_profiles = {
        "bf16": ("datatype", "BF16"),
        "raw": ("form", "raw-in"),
        "gzip": ("coding", "gzip"),
    }
    for before, path in itertools.product(factors()["before"][1:], factors()["path"]):
        assert any((row["before"], row["path"]) == (before, path) for row in rows)
    for before, (factor, level) in itertools.product(factors()["before"][2:], of_profiles.values()):
        assert any(row["before"] == before and row[factor] == level for row in rows), level


def test_a_server_without_codings_and_optional_models_gets_most_pairs() -> None:
    default = [case for case in CASES if case.requirement == "X1" and case.profile == "binary"]
    needed = [case for case in default if not contract()[case.model].optional]
    assert len(needed) > 70
    assert len(default) <= 160
