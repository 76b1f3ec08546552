"""The kinds of case, outcomes, relations and patterns, and the digest of the catalogue."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from enum import Enum
from typing import Any

import msgspec
import pytest

from support.cases import REJECT, make_case, make_get, make_observed
from v2_conformance.errors import NothingRanError
from v2_conformance.protocol.content_codings import acceptable
from v2_conformance.suite import library
from v2_conformance.suite.cases import Case, GeneratedCase, GetCase, ObservedCase, RequestCase
from v2_conformance.suite.choosing import select
from v2_conformance.suite.library import GENERATED, digest, every_case, generated_case, suite_cases
from v2_conformance.suite.models import contract
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_conformance.suite.relations import any_model_cases, relations, value_sets
from v2_conformance.suite.requirements import LEVELS, catalogue
from v2_conformance.suite.variations import variation, variations
from v2_conformance.wire.encode.inputs import SAMPLE
from v2_conformance.wire.response import Ending

REQUEST = make_case()
GET = make_get("/v2")
OBSERVED = make_observed()
KINDS: list[Case] = [REQUEST, GET, generated_case(), OBSERVED]


def test_only_what_may_be_answered_with_an_error_is_negative() -> None:
    for case, outcome in itertools.product(KINDS, ("success", "disputed", "reject", "either")):
        other = replace(case, expect={"outcome": outcome})
        assert other.expects == outcome
        assert other.negative == (outcome in ("reject", "either"))
        assert other.alone or not other.negative


def test_dangerous_cases_and_those_that_any_answer_passes_run_alone() -> None:
    assert all(replace(case, dangerous=True).alone for case in KINDS)
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


def test_a_level_is_the_cases_own_or_that_of_its_requirement_for_the_profiles() -> None:
    get = replace(GET, level="SHOULD")  # as P1 has it, which is a MUST for raw
    assert get.facts(["binary"]).level == "SHOULD"
    assert get.facts(["binary", "raw"]).level == "MUST"
    may = replace(get, level="MAY")
    assert may.facts(["binary", "raw"]).level == "MAY"


ELSE = make_case(model="identity/INT8")
BESIDE = {"together": 2, "members": (make_case(id="beside"),)}
CHANGES: list[tuple[Case, dict[str, Any]]] = [
    *((REQUEST, {name: value}) for name, value in (
        ("requirement", "D2"), ("level", "SHOULD"), ("profile", "raw"), ("expect", REJECT),
        ("dangerous", True), ("large", True), ("model", "identity/INT8"), ("first", ELSE),
        ("request", {"inputs": []}), ("canary", "binary"), ("canary", "json"), ("together", 2),
        ("first", make_case(id="the-first")), ("next", (make_case(id="behind"),)),
        ("variations", ("spaced",)),
    )),
    (REQUEST, {"together": 2, "rounds": 9}),
    (REQUEST, {"first": ELSE, "times": 2}),
    (REQUEST, BESIDE),
    (GET, {"path": "/v2/health/live"}),
    (generated_case(), {"requests": generated_case().requests[:9]}),
    (OBSERVED, {"observed": "error_types"}),
]  # fmt: skip


def test_another_content_has_another_digest_and_every_member_counts() -> None:
    digests = {case.content for case in KINDS}
    digests |= {replace(case, **change).content for case, change in CHANGES}
    assert len(digests) == len(KINDS) + len(CHANGES)
    changed = {name for _, change in CHANGES for name in change}
    members = {field.name for case in KINDS for field in fields(case)}
    assert changed == members - {"id", "why", "blocks", "foreign_ids", "last_negative"}


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


def test_the_suites_own_requests_keep_what_all_of_them_keep() -> None:
    for case in suite_cases():
        if not isinstance(case, RequestCase):
            continue
        for one in (case, *case.others):  # no coding that the suite cannot read
            field = one.request.get("accept_encoding")
            assert not field or not acceptable(field, among=("br", "zstd", "compress")), case.id
        for way in map(variation, case.variations):  # what only odd HTTP shows blocks robust
            odd = way.level == "SHOULD" and way.kind in ("http", "coding")
            assert case.rare or not odd, case.id
        if case.request.get("raw") and case.requirement != "W11":
            assert "raw" in case.profiles, case.id


CASES = suite_cases()


def chosen(*patterns: str) -> set[str]:
    return {case.id for case in select(CASES, patterns)}


def test_a_pattern_is_about_ids_in_which_brackets_are_brackets() -> None:
    assert select(CASES, ()) == CASES
    assert chosen("P2/blob-follows-json[INT32]") == {"P2/blob-follows-json[INT32]"}
    all_ = {case.id for case in CASES if case.template == "P2/blob-follows-json"}
    assert chosen("P2/blob-follows-json[*]") == all_


def test_the_plans_order_stays_and_nothing_comes_twice() -> None:
    both = select(CASES, ("R3", "P2/*", "P2"))
    assert both == [case for case in CASES if case.requirement in ("P2", "R3")]


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [
        ("H66", "did you mean H6?"),
        ("H6/not-a-nubmer", "did you mean H6/not-a-number[*]"),
        ("P2/blob-follows-json[INT23]", "did you mean P2/blob-follows-json[INT32]"),
        ("zzzzzz", "no case: `v2-conformance list cases` lists every case"),
    ],
)
def test_pattern_without_a_case_names_what_is_close(pattern: str, meant: str) -> None:
    with pytest.raises(NothingRanError) as refusal:
        select(CASES, ("P2", pattern))
    assert f"the pattern {pattern!r} matches no case: " in str(refusal.value)
    assert meant in str(refusal.value)


def first(found: Mapping[str, Any], **changed: object) -> dict[str, Any]:
    """The entries, the first of them changed."""
    name, entry = next(iter(found.items()))
    return {**found, name: replace(entry, **changed)}


CHANGED: Mapping[str, Callable[..., Any]] = {
    "catalogue": lambda **changed: first(catalogue(), **changed),
    "contract": lambda **changed: first(contract(), **changed),
    "variations": lambda **changed: first(variations(), **changed),
    "every_case": lambda **changed: (replace(every_case()[0], **changed), *every_case()[1:]),
}


def digest_with(monkeypatch: pytest.MonkeyPatch, where: str, changed: Mapping[str, Any]) -> str:
    made = CHANGED[where](**changed)
    monkeypatch.setattr(library, where, lambda: made)
    found: str = digest.__wrapped__()
    return found


@pytest.mark.parametrize(
    ("where", "members", "same"),
    [
        ("catalogue", {"title": "Other words", "note": "Noted.", "harm": "hygiene"}, True),
        ("catalogue", {"cite": ()}, True),
        ("variations", {"why": "Other words.", "does": "Other words."}, True),
        ("every_case", {"why": "Other words."}, True),
        ("catalogue", {"level": "DISPUTED"}, False),
        ("contract", {"optional": True}, False),
        ("variations", {"needs": ("small",)}, False),
        ("every_case", {"id": "R9/another"}, False),
        ("every_case", {"expect": {"outcome": "either"}}, False),
    ],
)
def test_what_is_asked_or_expected_changes_the_digest_and_words_do_not(
    monkeypatch: pytest.MonkeyPatch, where: str, members: Mapping[str, Any], same: bool
) -> None:
    assert (digest() == digest_with(monkeypatch, where, members)) is same


@pytest.mark.parametrize("member", [*Outcome, *Purpose, *Ending])
def test_a_member_is_its_value(member: Outcome | Purpose | Ending) -> None:
    value = str(member.value)
    kind: type[Enum] = type(member)
    assert member == value
    assert {value: 1}[member] == 1
    assert kind(value) is member
    assert str(member) == f"{member}" == value
    assert f"{member:>24}|{member:.2}" == f"{value:>24}|{value:.2}"
    assert type(msgspec.to_builtins(member)) is str
    assert msgspec.json.decode(msgspec.json.encode(member), type=kind) is member
    assert pickle.loads(pickle.dumps(member)) is member


def test_every_set_of_values_is_sent_and_every_set_that_is_sent_is_there() -> None:
    used = set()
    for case in any_model_cases():
        others = [*case.entry.get("members", ()), *case.entry.get("next", ())]
        used |= {one.get("values", SAMPLE) for one in (case.entry, *others)}
    assert used == {*value_sets(), SAMPLE}


def test_no_case_of_any_model_is_stricter_than_its_requirement() -> None:
    for case in any_model_cases():
        of = catalogue()[case.requirement].level
        assert LEVELS.index(case.entry.get("level", of)) >= LEVELS.index(of)
    assert relations()["order-of-inputs"].requirements == ("M2",)
