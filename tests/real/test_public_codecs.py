"""A public codec fails only vectors of cases that its published report fails.

KServe's is in the environment of `tox -e kserve`, tritonclient's in that of `tox -e mlserver`.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

import expectation
from expectation import load_expectation
from public_codecs import KSERVE, TRITON, failed
from v2_conformance.suite.outcomes import Outcome

MANUAL = Path(__file__).parents[2] / "docs" / "vectors.md"


@pytest.mark.parametrize(
    ("name", "folder"), [(KSERVE, expectation.FOLDER), (TRITON, expectation.CLIENTS)]
)
def test_a_public_codec_fails_what_its_report_and_the_manual_say(name: str, folder: Path) -> None:
    try:
        installed = version(name)
    except PackageNotFoundError:
        pytest.skip(f"{name} is not installed")
    rows = [line for line in MANUAL.read_text().splitlines() if line.startswith(f"| {name} ")]
    (row,) = rows
    known = row.split()[2]
    if installed != known:
        pytest.skip(f"{name} is {installed}, not {known}")
    published = load_expectation(folder / f"{name}-{known}.yaml")
    vectors = failed(name)
    assert [v["id"] for v in vectors if published.outcome_of(v["id"]) != Outcome.FAIL] == []
    said = row.split("|")[-2].split()
    assert sorted({v["requirement"] for v in vectors}) == sorted(said)
