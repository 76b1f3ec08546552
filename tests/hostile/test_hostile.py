"""Each kind of hostile server: the exit code, outcomes, seconds and memory of a run against it.

An ordinary run of the tests tries a sample of the quick ones, `tox -e hostile` the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hostile import bounds_kinds, http_kinds, life_kinds, message_kinds  # noqa: F401
from hostile.kit import KINDS
from hostile.suite_process import Ended, Suite
from v2_conformance.formats.text.verification import verification_lines
from v2_conformance.report.files import REPORT, load_report
from v2_conformance.suite.library import every_case
from v2_conformance.verifying.verification import verify

CALM = {"pass", "unsupported", "disputed"}
MOST_BYTES = 64 << 20
NOTHING_RAN = 4  # the exit code where only discovery was tested
UNESCAPED = ("<script>alert", "<img src=x", "\x1b", "\u202e", 'href="javascript:')


@pytest.fixture(scope="module")
def suite() -> Iterator[Suite]:
    with Suite() as running:
        yield running


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "kind" in metafunc.fixturenames:
        slow = pytest.mark.long
        rows = [pytest.param(name, marks=slow if k.slow else ()) for name, k in KINDS.items()]
        metafunc.parametrize("kind", rows)


def run(suite: Suite, name: str, folder: Path) -> tuple[Ended, dict[str, str]]:
    """How the run against a kind ended, and the outcomes that are not calm."""
    kind = KINDS[name]
    chosen = [argument for case in kind.cases for argument in ("--case", case)]
    out = folder / "run"
    with kind.start() as url:
        arguments = ["run", url, *chosen, "--timeout", str(kind.timeout), *kind.options]
        ended = suite.run([*arguments, "--report-dir", str(out)], folder, 3 * kind.seconds)
    outcomes: dict[str, str] = {}
    if (out / REPORT).exists():
        report = load_report(out / REPORT)
        ran = {case.requirement for case in report.cases}
        found = {one.id: str(one.outcome) for one in report.requirements if one.id in ran}
        outcomes = {id: outcome for id, outcome in found.items() if outcome not in CALM}
    return ended, outcomes


def test_there_are_over_a_hundred_kinds_and_0_blocks_nothing() -> None:
    assert len(KINDS) > 100
    assert {kind.code for kind in KINDS.values()} == {0, 1, 3, 4}
    harmless: tuple[dict[str, str], ...] = (
        {},
        {"P9": "fail"},
        {"R3": "fail"},
    )  # a SHOULD, and a MUST that blocks robust
    assert all(kind.outcomes in harmless for kind in KINDS.values() if kind.code == 0)


@pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="no process learns its peak of memory here"
)
def test_a_run_against_it_ends_as_it_must_and_its_report_holds(
    kind: str, suite: Suite, tmp_path: Path
) -> None:
    ended, outcomes = run(suite, kind, tmp_path)
    wanted = KINDS[kind]
    said = ended.out + ended.err
    assert "Traceback" not in said
    assert all(line.isprintable() for line in said.splitlines())
    assert ended.code == wanted.code, said
    if wanted.outcomes is None:
        assert outcomes
    elif wanted.code == NOTHING_RAN:
        assert set(outcomes.values()) <= {"not_run", "inconclusive"}
    else:
        assert outcomes == wanted.outcomes
    assert wanted.says in " ".join(said.split())
    assert ended.seconds <= wanted.seconds
    assert ended.peak_mib <= wanted.mib
    report = tmp_path / "run" / REPORT
    if report.exists():
        assert report.stat().st_size <= MOST_BYTES
        found = verify(report, every_case())
        assert found.exit_code == 0, verification_lines(found)
        page = (tmp_path / "run" / "report.html").read_text()
        assert not any(text in page for text in UNESCAPED)
