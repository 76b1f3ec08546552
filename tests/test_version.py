"""The digest of the judging code: equal on every machine, another one for every other build."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from v2_conformance.resources import PACKAGE
from v2_conformance.version import judging_digest


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """A copy of the packages' source code at another place."""
    copy = tmp_path / "elsewhere"
    for name in ("v2_conformance", "v2_clients"):
        left_out = shutil.ignore_patterns("__pycache__", "kits", "adapters")
        shutil.copytree(PACKAGE.parent / name, copy / name, ignore=left_out)
    return copy


def test_a_copy_has_the_same_digest_whatever_its_line_endings(build: Path) -> None:
    assert judging_digest(build) == judging_digest()
    for path in build.rglob("*.py"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    (build / "v2_conformance/judging/__pycache__").mkdir()
    (build / "v2_conformance/judging/__pycache__" / "judge.cpython-399.pyc").write_bytes(b"code")
    judging_digest.cache_clear()
    assert judging_digest(build) == judging_digest()


@pytest.mark.parametrize(
    "name",
    [
        "v2_clients/bench/answers.py",
        "v2_clients/judging/judge.py",
        "v2_clients/rejudge.py",
        "v2_conformance/conversations/case.py",
        "v2_conformance/judging/observed/exchanges.py",
        "v2_conformance/protocol/message.py",
        "v2_conformance/report/root_causes.py",
        "v2_conformance/report/verdict/summary.py",
        "v2_conformance/suite/causes/causes.py",
        "v2_conformance/verifying/on_record.py",
        "v2_conformance/wire/messages.py",
    ],
)
def test_any_change_of_the_code_that_decides_changes_it(build: Path, name: str) -> None:
    with (build / name).open("a", encoding="utf-8") as file:
        file.write("# edited\n")
    assert judging_digest(build) != judging_digest()


def test_other_code_does_not_change_it(build: Path) -> None:
    with (build / "v2_conformance/cli/main.py").open("a", encoding="utf-8") as file:
        file.write("# edited\n")
    assert judging_digest(build) == judging_digest()
