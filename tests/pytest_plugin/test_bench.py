"""The fixture v2_bench: scenarios in a client's own test suite."""

from __future__ import annotations

import re

import pytest

from v2_clients.findings import ExactForError
from v2_clients.fixture import judge
from v2_conformance.conversations.steps import Result
from v2_conformance.judging.verdict import Verdict
from v2_conformance.pytest_plugin.items import V2Warning
from v2_conformance.suite.library import client_cases
from v2_conformance.suite.outcomes import Outcome

PLAIN = """
import msgspec, pytest
from v2_clients.plain import run_task

def lines_of(bench):
    return run_task(msgspec.to_builtins(bench.task), bench.url)
"""


def test_each_scenario_is_a_test_and_is_judged(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        PLAIN
        + """
@pytest.mark.v2_scenario("K3/mixed-order*")
def test_good(v2_bench):
    assert v2_bench.scenario.startswith("K3/")
    assert v2_bench.task.url == v2_bench.url
    for line in lines_of(v2_bench):
        v2_bench.say(line)

@pytest.mark.v2_scenario("K5/short-blob[1]")
def test_bad(v2_bench):
    lines_of(v2_bench)
    v2_bench.say_outputs({"OUTPUT0": ("INT32", [1], b"abcd")})

@pytest.mark.v2_scenario("K5/short-blob[1]")
def test_unsupported(v2_bench):
    v2_bench.say_unsupported("no API")

@pytest.mark.v2_scenario("K5/short-blob[1]")
def test_error(v2_bench):
    lines_of(v2_bench)
    v2_bench.say_error(ValueError("short"), 200)

@pytest.mark.v2_scenario("K5/short-blob[1]")
def test_no_line(v2_bench):
    with pytest.raises(Exception, match="not a line"):
        v2_bench.say({"x": 1})
    lines_of(v2_bench)
"""
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-rA")
    found = result.parseoutcomes()
    good = found["passed"]
    assert found == {"passed": good, "errors": 2, "skipped": 1}
    result.stdout.fnmatch_lines(["*expected an error for the user, got tensors: 'OUTPUT0'*"])
    result.stdout.fnmatch_lines(["*expected 1 line of JSON from the client, got 0*"])


def test_a_failure_has_the_grade_of_what_was_judged() -> None:
    case = next(case for case in client_cases() if case.id == "K24/no-number[negative]")
    result = Result(case, Verdict(Outcome.FAIL, ExactForError(("OUTPUT0",))))
    assert case.grade == "MUST (blocks robust)"
    with pytest.warns(V2Warning, match=rf"^SHOULD {re.escape(case.id)}: "):
        judge(result, strict=False)
    with pytest.raises(pytest.fail.Exception, match=rf"^SHOULD {re.escape(case.id)}: "):
        judge(result, strict=True)
