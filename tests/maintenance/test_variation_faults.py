"""Each variation has a fault that only requests in that variation notice."""

from __future__ import annotations

from v2_conformance.maintenance.selftest import SelftestResult
from v2_conformance.maintenance.selftest_text import selftest_lines
from v2_conformance.maintenance.variation_faults import unproven_variations
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.variations import variations

BINARY = "V1/json-before-blobs-in-any-spelling[{}]"
JSON = "V1/json-in-any-spelling[{}]"


def test_a_fault_proves_the_variation_that_all_its_failures_have() -> None:
    failures = [[BINARY.format("spaced"), JSON.format("spaced")], [JSON.format("data-first")]]
    left = unproven_variations(failures)
    assert set(variations()) - set(left) == {"spaced", "data-first"}


def test_a_fault_that_other_requests_notice_proves_nothing() -> None:
    either = [JSON.format("spaced"), JSON.format("indented")]
    plain = [JSON.format("spaced"), "P2/blob-follows-json[INT32]"]
    assert unproven_variations([either, plain, []]) == list(variations())


def test_a_selftest_without_such_a_fault_fails_and_says_so() -> None:
    result = SelftestResult((), (), (), ("spaced",))
    assert not result.passed
    assert any("in the variation spaced" in line for line in selftest_lines(result))


def test_every_variation_has_a_case() -> None:
    cases = [case for case in suite_cases() if isinstance(case, RequestCase)]
    assert set(variations()) == {name for case in cases for name in case.variations}
