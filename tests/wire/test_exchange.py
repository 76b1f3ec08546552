"""What is left of an exchange, and its ending as report.json and messages have it."""

from __future__ import annotations

import pytest

from support.responses import exchange_of, http
from v2_conformance.wire.response import Ending, Limits


@pytest.mark.parametrize("ending", [e for e in Ending if e is not Ending.COMPLETE])
def test_only_a_complete_exchange_has_a_response(ending: Ending) -> None:
    whole = exchange_of(http(b"abc"))
    assert whole.response is whole.partial is not None
    cut_off = exchange_of(http(b"abc")[:-1], ending)
    assert cut_off.response is None
    assert cut_off.partial is not None
    assert bytes(cut_off.partial.body) == b"ab"


def test_a_response_may_be_as_long_as_its_limits_say() -> None:
    assert Limits().response_to(0) == 1 << 20
    assert Limits().response_to(1000) == 32_000 + (1 << 20)
    mib = 1 << 20
    assert 8 * mib < Limits().response_to(mib) < 20 * mib  # an indented INT32 takes 33 bytes
    assert Limits().response_to(64 * mib) == Limits.response
    assert Limits(response=99).response_to(1000) == 99
