"""The gate of CI: what opens it for a whole run, a part of one and cases of one's own."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from support.reports import case, passes, report_of
from v2_conformance.formats.text.terminal import gate_lines
from v2_conformance.report.document import Report
from v2_conformance.report.verdict.judged import Gate
from v2_conformance.suite.requirements import Blocks

CONFORMANT, ROBUST = Gate(), Gate("robust")
STRICT = Gate(strict=True)


def report(**failing: Blocks | None) -> Report:
    """A whole run in which one case of these requirements fails, with what each blocks."""
    cases = [
        case(f"{name}/x", "fail", level="MUST" if blocks else "SHOULD", blocks=blocks)
        for name, blocks in failing.items()
    ]
    return report_of(passes(*cases))


@pytest.mark.parametrize(
    ("failing", "opened"),
    [
        ({}, [CONFORMANT, ROBUST, STRICT]),
        ({"P4": None}, [CONFORMANT, ROBUST]),
        ({"H6": "robust"}, [CONFORMANT]),
        ({"P2": "robust"}, [CONFORMANT]),
        ({"P2": "conformant"}, []),
    ],
)
def test_a_whole_run_opens_the_gate_if_its_verdict_is_what_is_required(
    failing: dict[str, Any], opened: list[Gate]
) -> None:
    gates = (CONFORMANT, ROBUST, STRICT)
    assert [gate for gate in gates if gate.is_open_for(report(**failing))] == opened


@pytest.mark.parametrize(
    ("failing", "gate", "says"),
    [
        ({"H6": "robust"}, CONFORMANT, "met"),
        ({"H6": "robust"}, ROBUST, "not met"),
        ({"P2": "conformant", "H6": "robust"}, CONFORMANT, "not met"),
        ({"P4": None}, CONFORMANT, "met"),
    ],
)
def test_the_terminal_says_if_the_gate_is_met(
    failing: dict[str, Any], gate: Gate, says: str
) -> None:
    words = " ".join(" ".join(gate_lines(report(**failing), gate)).split())
    assert words == f"--require {gate.require}: {says}"


@pytest.mark.parametrize("more", [{"own": False}, {"planned": {"P2": 2, "P4": 9}}])
def test_without_a_verdict_the_cases_that_ran_decide(more: dict[str, Any]) -> None:
    def of(*cases: Any) -> Report:
        return msgspec.structs.replace(report_of([case("P2/a"), *cases]), **more)

    assert STRICT.is_open_for(of())
    assert CONFORMANT.is_open_for(of(case("H6/x", "fail")))
    assert not ROBUST.is_open_for(of(case("H6/x", "fail")))
    for outcome in ("fail", "flaky", "inconclusive", "not_run"):
        assert not CONFORMANT.is_open_for(of(case("P2/x", outcome)))
    assert [gate.is_open_for(of(case("P4/x", "fail"))) for gate in (ROBUST, STRICT)] == [
        True,
        False,
    ]
