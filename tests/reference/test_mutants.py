"""The registry of mutants, and what holds for all faults, client faults and variants."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from v2_conformance.errors import UsageError
from v2_mutants.client_faults import CLIENT_FAULTS, find_client_fault
from v2_mutants.faults import FAULTS
from v2_mutants.registry import Mutant, Registry
from v2_mutants.servers import mutated
from v2_mutants.variants import VARIANTS


def test_names_of_faults_of_clients_and_servers_differ() -> None:
    assert not set(CLIENT_FAULTS) & set(FAULTS)


@pytest.mark.parametrize("mutants", [FAULTS, CLIENT_FAULTS, VARIANTS])
def test_each_mutant_is_described_in_its_own_words(mutants: dict[str, Mutant[object]]) -> None:
    texts = [mutant.text for mutant in mutants.values()]
    assert len(set(texts)) == len(texts)
    assert all(text.endswith(".") and "\n" not in text for text in texts)
    assert all(mutant.why for mutant in mutants.values())


@pytest.mark.parametrize(
    ("find", "kind", "name", "meant"),
    [
        (lambda name: mutated([name]), "fault", "Response-Blob-Padded", "response-blobs-"),
        (lambda name: mutated(variants=[name]), "variant", "tiny-chunk", "tiny-chunks?"),
        (find_client_fault, "client fault", "header-length-mising", "header-length-missing"),
    ],
)
def test_an_unknown_name_is_refused_with_what_was_meant_or_where_they_are_listed(
    find: Callable[[str], object], kind: str, name: str, meant: str
) -> None:
    with pytest.raises(UsageError, match=f"unknown {kind} '{name}': did you mean {meant}"):
        find(name)
    listed = f"`v2-conformance list {kind.replace(' ', '-')}s` lists every "
    with pytest.raises(UsageError, match=f"unknown {kind} 'xyzzy': {listed}"):
        find("xyzzy")


class Sum:
    """A behavior with one decision."""

    def add(self, one: int, other: int = 2) -> int:
        return one + other


@pytest.fixture
def registry() -> Registry[Sum]:
    return Registry("fault", Sum)


def test_what_replaces_a_decision_may_ask_for_the_right_one(registry: Registry[Sum]) -> None:
    registry("as-it-is", "A1", Sum.add)("It is right.", lambda right, one, other=2: right())
    registry("other", "A1", Sum.add)("Another one.", lambda right, one, other=2: right(other=5))
    registry("first", "A1", Sum.add)("Another first.", lambda right, one, other=2: right(one * 7))
    sums = [(made.add(1), made.add(1, 3)) for made in (one.cls() for one in registry.values())]
    assert sums == [(3, 4), (6, 6), (9, 10)]


def test_a_name_is_registered_once(registry: Registry[Sum]) -> None:
    registry("shout", "A1", Sum.add)("Once.", lambda right, one, other=2: 0)
    with pytest.raises(UsageError, match="the fault shout is registered twice"):
        registry("shout", "A1", Sum.add)("Twice.", lambda right, one, other=2: 0)


def test_mutants_of_one_decision_compose(registry: Registry[Sum]) -> None:
    registry("twice", "A1", Sum.add)("Twice.", lambda right, one, other=2: 2 * right())
    registry("more", "A1", Sum.add)("More.", lambda right, one, other=2: right() + 1)
    both = type("Both", (registry["twice"].cls, registry["more"].cls), {})
    assert both().add(1) == 8


@pytest.mark.parametrize("backwards", [False, True])
def test_every_fault_and_every_variant_composes_with_every_other(backwards: bool) -> None:
    assert mutated(sorted(FAULTS, reverse=backwards)).handle is not None
    names = sorted(VARIANTS, reverse=backwards)
    assert mutated(sorted(FAULTS)[:5], variants=names).handle is not None
