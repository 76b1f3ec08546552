"""What becomes of clients on the bench: the faults of the plain client and its legal variants."""

from __future__ import annotations

from oracle.names import grouped
from v2_clients.plain import PlainClient
from v2_clients.scenarios import run_scenario
from v2_conformance.conversations.steps import Result
from v2_conformance.suite.cases import ClientCase
from v2_conformance.suite.library import client_cases
from v2_conformance.suite.outcomes import Outcome
from v2_mutants.client_faults import CLIENT_FAULTS
from v2_mutants.client_variants import CLIENT_VARIANTS
from v2_mutants.selftest.clients import plain_client

IN_REAL_TIME = frozenset({"K30", "K31", "K32", "K40"})
"""Their scenarios wait, or send much."""


def fault_row(fault: str) -> str:
    """Return which scenarios of its own requirement a fault of a client fails, and why."""
    found = CLIENT_FAULTS[fault]
    return _row(found.cls, found.requirement)


def variant_row(variant: str) -> str:
    """Return what does not pass with a legal variant of the client, and why."""
    return _row(CLIENT_VARIANTS[variant].cls, None)


def _row(cls: type[PlainClient], requirement: str | None) -> str:
    cases = [case for case in client_cases() if isinstance(case, ClientCase)]
    if requirement is None:
        cases = [case for case in cases if case.requirement not in IN_REAL_TIME]
    else:
        cases = [case for case in cases if case.requirement == requirement]
    found = {case.id: _result(case, cls) for case in cases}
    other = {id: one for id, one in found.items() if one.outcome is not Outcome.PASS}
    return grouped(other, [case.id for case in cases])


def _result(case: ClientCase, cls: type[PlainClient]) -> Result:
    return run_scenario(case, plain_client(cls), timeout_s=5)
