"""A generated request that failed is written as a case file, without secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cases import make_case
from v2_conformance.judging.verdict import Verdict
from v2_conformance.redaction import Mask
from v2_conformance.runs.generated.counterexamples import (
    remove_counterexample,
    write_counterexample,
)
from v2_conformance.runs.generated.fuzzing import Exploration
from v2_conformance.runs.result import Result
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.causes.causes import COUNTEREXAMPLE
from v2_conformance.suite.causes.findings import WrongStatus
from v2_conformance.suite.entries.case_files import load_cases
from v2_conformance.suite.outcomes import Outcome

ENTRY = {
    "id": "M7/generated",
    "why": "Generated: a well-formed request to identity/INT32.",
    "model": "identity/INT32",
    "request": {"inputs": [{"shape": [1], "values": [7]}]},
    "expect": {"outcome": "success", "outputs": {"0": "binary"}},
}


def failed(words: str, **changes: object) -> Exploration:
    verdict = Verdict(Outcome.FAIL, WrongStatus("200", 500, words), "sent")
    entry = {**ENTRY, **changes}
    return Exploration(3, Result(make_case(), verdict), entry)


def test_the_case_sends_what_failed_and_says_what_came_of_it(tmp_path: Path) -> None:
    path = write_counterexample(failed("no"), Mask(), tmp_path / "new", "--seed 7")
    assert path == tmp_path / "new" / COUNTEREXAMPLE
    first, *_ = path.read_text().splitlines()
    assert first.startswith("# Written by v2-conformance ")
    assert first.endswith(" (--seed 7).")
    (case,) = load_cases(path)
    assert isinstance(case, RequestCase)
    assert (case.requirement, case.model) == ("M7", "identity/INT32")
    assert (case.request, case.expect) == (ENTRY["request"], ENTRY["expect"])
    assert case.why == (
        "Generated: a well-formed request to identity/INT32. Once the outcome was fail: "
        "expected status 200, got 500: no (sent)"
    )


def test_a_case_is_named_after_what_it_sends(tmp_path: Path) -> None:
    names = []
    for found in (failed("no"), failed("other words"), failed("no", model="identity/INT8")):
        (case,) = load_cases(write_counterexample(found, Mask(), tmp_path, "--seed 7"))
        names.append(case.id)
    assert names[0] == names[1] != names[2]
    assert all(name.startswith("M7/counterexample-") for name in names)


def test_a_counterexample_keeps_secrets_and_axes_out(tmp_path: Path) -> None:
    mask = Mask(("open-sesame",))
    found = failed("it said open-sesame and ${axis}")
    path = write_counterexample(found, mask, tmp_path, "--seed 0")
    assert "sesame" not in path.read_text()
    assert "?{axis}" in load_cases(path)[0].why


def test_only_a_failure_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nothing failed"):
        write_counterexample(Exploration(sent=9), Mask(), tmp_path, "--seed 0")
    assert list(tmp_path.iterdir()) == []


def test_that_of_an_older_run_is_removed_if_there_is_one(tmp_path: Path) -> None:
    remove_counterexample(tmp_path)
    path = write_counterexample(failed("no"), Mask(), tmp_path, "--seed 0")
    remove_counterexample(tmp_path)
    assert not path.exists()
