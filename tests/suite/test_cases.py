"""The kinds of case: what each needs, what a report says of it, and its digest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import pytest

from support.cases import REJECT, make_case, make_get, make_observed
from v2_conformance.protocol.content_codings import acceptable
from v2_conformance.suite.cases import Case, GeneratedCase, GetCase, ObservedCase, RequestCase
from v2_conformance.suite.library import GENERATED, every_case, generated_case, suite_cases
from v2_conformance.suite.variations import variation

REQUEST = make_case()
GET = make_get("/v2")
OBSERVED = make_observed()
KINDS: list[Case] = [REQUEST, GET, generated_case(), OBSERVED]
kinds = pytest.mark.parametrize("case", KINDS, ids=lambda case: type(case).__name__)


# What a case needs.


@kinds
def test_only_what_may_be_answered_with_an_error_is_negative(case: Case) -> None:
    for outcome, negative in (
        ("success", False), ("disputed", False), ("reject", True), ("either", True),
    ):  # fmt: skip
        other = replace(case, expect={"outcome": outcome})
        assert other.expects == outcome
        assert other.negative == negative
        assert other.alone or not negative


@kinds
def test_a_dangerous_case_has_the_server_for_itself(case: Case) -> None:
    assert replace(case, dangerous=True).alone


def test_cases_that_any_answer_passes_run_alone() -> None:
    assert replace(REQUEST, expect={"outcome": "disputed"}).alone
    assert generated_case().alone


def test_a_case_needs_what_all_of_its_requests_need() -> None:
    first = make_case(model="identity/BYTES", encoding="gzip")
    case = replace(REQUEST, first=first)
    assert case.roles == ("identity/INT32", "identity/BYTES")
    assert (set(case.datatypes), set(case.codings)) == ({"INT32", "BYTES"}, {"gzip"})
    beside = replace(REQUEST, together=4, members=(make_case(model="mixed"),))
    assert beside.roles == ("identity/INT32", "mixed")
    assert [beside.member(number).model for number in range(4)] == [
        "identity/INT32", "mixed", "identity/INT32", "mixed",
    ]  # fmt: skip


# What a report says of it.


def test_a_level_is_the_cases_own_or_that_of_its_requirement_for_the_profiles() -> None:
    get = replace(GET, level="SHOULD")  # as P1 has it, which is a MUST for raw
    assert get.facts(["binary"]).level == "SHOULD"
    assert get.facts(["binary", "raw"]).level == "MUST"
    may = replace(get, level="MAY")
    assert may.facts(["binary", "raw"]).level == "MAY"


# The digest of what is sent and expected.

CHANGES: list[tuple[Case, Callable[[Any], Case]]] = [
    (REQUEST, lambda case: replace(case, requirement="D2")),
    (REQUEST, lambda case: replace(case, level="SHOULD")),
    (REQUEST, lambda case: replace(case, profile="raw")),
    (REQUEST, lambda case: replace(case, expect=REJECT)),
    (REQUEST, lambda case: replace(case, dangerous=True)),
    (REQUEST, lambda case: replace(case, large=True)),
    (REQUEST, lambda case: replace(case, model="identity/INT8")),
    (REQUEST, lambda case: replace(case, request={"inputs": []})),
    (REQUEST, lambda case: replace(case, canary="binary")),
    (REQUEST, lambda case: replace(case, canary="json")),
    (REQUEST, lambda case: replace(case, together=2)),
    (REQUEST, lambda case: replace(case, together=2, rounds=9)),
    (REQUEST, lambda case: replace(case, first=make_case(model="identity/INT8"), times=2)),
    (REQUEST, lambda case: replace(case, first=make_case(model="identity/INT8"))),
    (REQUEST, lambda case: replace(case, first=make_case(id="the-first"))),
    (REQUEST, lambda case: replace(case, together=2, members=(make_case(id="beside"),))),
    (REQUEST, lambda case: replace(case, next=(make_case(id="behind"),))),
    (REQUEST, lambda case: replace(case, variations=("spaced",))),
    (GET, lambda case: replace(case, path="/v2/health/live")),
    (generated_case(), lambda case: replace(case, requests=case.requests[:9])),
    (OBSERVED, lambda case: replace(case, observed="error_types")),
]


def members_of(case: Case) -> dict[str, Any]:
    """What a case is made of."""
    return {field.name: getattr(case, field.name) for field in fields(case)}


def test_another_content_has_another_digest_and_every_member_counts() -> None:
    digests = {case.content for case in KINDS}
    for case, change in CHANGES:
        digests.add(change(case).content)
    assert len(digests) == len(KINDS) + len(CHANGES)
    changed = {
        name
        for case, change in CHANGES
        for name, value in members_of(change(case)).items()
        if value != getattr(case, name)
    }
    members = {name for case in KINDS for name in members_of(case)}
    assert changed == members - {"id", "why", "blocks", "foreign_ids", "last_negative"}


# The suite's own.


def test_a_run_has_cases_of_all_kinds_and_generated_requests_once() -> None:
    cases = suite_cases()
    assert {type(case) for case in cases} == {RequestCase, GetCase, GeneratedCase, ObservedCase}
    (generated,) = [case for case in cases if isinstance(case, GeneratedCase)]
    assert generated == cases[-1] == generated_case()
    assert generated.id == GENERATED
    assert len({case.content for case in cases}) > len(cases) / 2


def test_large_cases_are_part_of_a_run_only_if_asked_for() -> None:
    usual, everything = suite_cases(), suite_cases(large=True)
    assert everything == [case for case in every_case() if not case.of_clients]
    assert [c for c in everything if not c.large] == usual
    assert {case.requirement for case in everything if case.large} == {"L1", "J7"}


def test_no_request_accepts_a_coding_that_the_suite_cannot_read() -> None:
    for case in suite_cases():
        for one in (case, *case.others) if isinstance(case, RequestCase) else ():
            field = one.request.get("accept_encoding")
            others = () if field is None else acceptable(field, among=("br", "zstd", "compress"))
            assert not others, (case.id, field)


def test_what_only_odd_http_shows_blocks_robust() -> None:
    for case in suite_cases():
        for way in map(variation, case.variations if isinstance(case, RequestCase) else ()):
            odd = way.level == "SHOULD" and way.kind in ("http", "coding")
            assert case.rare or not odd, case.id


def test_only_servers_that_claim_raw_requests_have_to_serve_them() -> None:
    for case in suite_cases():
        if isinstance(case, RequestCase) and case.request.get("raw") and case.requirement != "W11":
            assert "raw" in case.profiles, case.id
