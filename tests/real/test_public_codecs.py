"""Public codecs fail those vectors that the published reports of their servers and clients say.

KServe's is in the environment of `tox -e kserve`, tritonclient's in that of `tox -e mlserver`.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
import yaml

from public_codecs import KSERVE, TRITON, failed

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
FAILS = {
    (KSERVE, "0.21.0"): ("expectations", {"S5": 5, "B4": 2, "M7": 4}),
    (TRITON, "2.73.0"): ("clients/expectations", {"K25": 1, "K21": 1}),
}
"""What each fails: requirements, and the number of their vectors."""


@pytest.mark.parametrize(("name", "known"), FAILS)
def test_a_public_codec_fails_what_its_report_says(name: str, known: str) -> None:
    try:
        installed = version(name)
    except PackageNotFoundError:
        pytest.skip(f"{name} is not installed")
    if installed != known:
        pytest.skip(f"{name} is {installed}, not {known}")
    assert failed(name) == FAILS[name, known][1]


@pytest.mark.parametrize(("name", "known"), FAILS)
def test_the_reports_and_the_manual_say_the_same(name: str, known: str) -> None:
    folder, found = FAILS[name, known]
    expected: dict[str, Any] = yaml.safe_load((HERE / folder / f"{name}-{known}.yaml").read_text())
    for requirement in found:
        assert expected["requirements"][requirement]["outcome"] == "fail"
    manual = (ROOT / "docs" / "vectors.md").read_text()
    (row,) = [line for line in manual.splitlines() if line.startswith(f"| {name} {known} ")]
    listed = " ".join(f"{requirement} ({count})" for requirement, count in found.items())
    assert row.rpartition(" | ")[2] == f"{listed} |"
