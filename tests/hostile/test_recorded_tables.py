"""A server that answers from a table of recorded runs, without V2, is not certified."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import replace

import pytest

from support.runs import results, target_of
from v2_conformance.judging.known_good import known_good
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Rejected, Request, Response
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.cases import Case, RequestCase
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.encode.requests import prepare

Entry = tuple[str, bytes]
FORMS = ("binary", "binary_data_output", "json")


def entry(target: str, body: bytes) -> Entry:
    return target, hashlib.sha256(body).digest()


def recorded(target: Target, seeds: Iterable[int]) -> set[Entry]:
    """What runs with these seeds send: the entries of a table, made without running them."""
    found = set()
    cases = [case for case in suite_cases() if isinstance(case, RequestCase)]
    for seed in seeds:
        address = replace(target, seed=seed).address
        for case in cases:
            if "version" in str(case.request) or "versioned-path" in case.variations:
                continue
            members = [case.member(number) for number in range(case.together)]
            others = [*([case.first] if case.first else []), *case.next]
            for number, one in enumerate([*members, *others]):
                place = number if number < case.together else 0
                made = prepare(one, address, target.binding(one.model), variant=place)
                found.add(entry(made.request.head.target, b"".join(made.request.body)))
        for role in {case.model for case in cases}:
            for form in FORMS:
                for made in known_good(role, address, target.binding(role), form):
                    found.add(entry(made.request.head.target, b"".join(made.request.body)))
    return found


class Table(Behaviour):
    """Answers what was recorded, and rejects everything else."""

    known: Collection[Entry] = ()

    def handle(self, request: Request) -> Response:
        if (
            request.method == "POST"
            and entry(request.target, request.body.tobytes()) not in self.known
        ):
            return self.rejection_response(Rejected("there is no such entry"))
        return super().handle(request)


def failing(seed: int, known: Collection[Entry], cases: list[Case]) -> int:
    kind = type("Table", (Table,), {"known": known})
    with ReferenceServer(kind) as server:
        found = results(replace(target_of(server.url), seed=seed), cases)
    return sum(one.outcome is Outcome.FAIL for one in found.values())


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return [case for case in suite_cases() if case.id.startswith(("P2/", "D1/", "B1/", "O1/"))]


@pytest.mark.long
def test_a_table_answers_the_run_that_it_has(cases: list[Case]) -> None:
    assert failing(1, recorded(Target("http://127.0.0.1"), [1]), cases) == 0


@pytest.mark.parametrize("runs", [2, 20])
@pytest.mark.long
def test_a_table_fails_most_cases_with_a_fresh_seed(cases: list[Case], runs: int) -> None:
    cases = suite_cases() if runs == 20 else cases
    found = failing(4_000_000_000, recorded(Target("http://127.0.0.1"), range(runs)), cases)
    served = [
        case
        for case in cases
        if isinstance(case, RequestCase) and (case.expects, case.profile) == ("success", "binary")
    ]
    assert found > 0.6 * len(served)
