"""Variations: read from their file, applied to cases that they fit, refused by others in a line."""

from __future__ import annotations

from typing import Any

import pytest

from support.cases import make_case
from v2_conformance.errors import CaseFileError
from v2_conformance.resources import schema
from v2_conformance.suite.case_files import vary
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.library import every_case
from v2_conformance.suite.requirements import documents
from v2_conformance.suite.variations import variation, variations

JSON: dict[str, Any] = {"shape": [3], "values": [1, 2, 3], "form": "json"}


def of(model: str = "identity/INT32", **request: Any) -> RequestCase:
    return make_case(model=model, **request)


def refusal(case: RequestCase, *names: str) -> str:
    with pytest.raises(CaseFileError) as error:
        vary(case, names)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_case_cites_what_its_variations_cite() -> None:
    named = "V2/request-in-any-spelling[field-names-lower-case]"
    (one,) = [case for case in every_case() if case.id == named]
    assert one.cite == (variation("field-names-lower-case").cite,)


def test_every_variation_cites_a_known_document() -> None:
    assert {variation.cite.document for variation in variations().values()} <= set(documents())


def test_the_request_keeps_its_id_and_names_its_variations() -> None:
    varied = vary(of(inputs=[JSON]), ["members-reversed", "escaped-names"])
    assert varied.variations == ("members-reversed", "escaped-names")
    assert varied.id == of().id


def test_an_unknown_name_is_an_error_with_a_suggestion() -> None:
    assert "did you mean members-reversed" in refusal(of(), "member-reversed")


@pytest.mark.parametrize(
    ("case", "name", "lacks"),
    [
        (of(raw=True), "members-reversed", "json"),
        (of(json={"text": "{}"}), "escaped-names", "json"),
        (of(), "data-first", "data"),
        (of(inputs=[JSON]), "floats-with-exponent", "float-data"),
        (of(), "integers-with-fraction", "integer-data"),
        (of(inputs=[JSON]), "nested-data", "rank-2-data"),
    ],
)
def test_unfit_variation_says_what_it_needs(case: RequestCase, name: str, lacks: str) -> None:
    assert refusal(case, name) == f"the variation {name} does not fit: it needs {lacks}"


def test_each_need_in_the_schema_is_one_of_a_variation() -> None:
    document: Any = schema("variations").schema
    members = document["$defs"]["variation"]["properties"]
    needed = {need for known in variations().values() for need in known.needs}
    assert set(members["needs"]["items"]["enum"]) == needed


def test_two_orders_of_members_do_not_combine() -> None:
    message = refusal(of(), "members-reversed", "parameters-first")
    assert message.endswith("it cannot be combined with members-reversed")


def test_a_lower_level_of_a_variation_is_that_of_the_case() -> None:
    floats = of("identity/FP32", inputs=[JSON])
    assert vary(floats, ["negative-zero-as-integer"]).level == "MAY"
    assert vary(floats, ["floats-as-integers"]).level == "MUST"


def test_what_a_server_may_refuse_becomes_either() -> None:
    assert vary(of(), ["unknown-members"]).expects == "either"
    assert vary(of(), ["model-name"]).expects == "either"
    assert vary(of(), ["members-sorted"]).expects == "success"
