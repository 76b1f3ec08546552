"""The wheel, installed in a repository that has folders of its own with our old or likely names."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from v2_conformance.reference.server import ReferenceServer

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("conformance", "cases", "schemas", "reports", "cli", "engine")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which pip unpacks the wheel, which is built from this checkout."""
    source = tmp_path_factory.mktemp("source")
    for name in (
        "conformance",
        "cases",
        "schemas",
        "vectors",
        "pyproject.toml",
        "README.md",
        "LICENSE",
    ):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
        copy(ROOT / name, source / name)
    folder = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [*command, "--no-deps", "--no-build-isolation", "--target", str(folder), str(source)],
        check=True,
        timeout=300,
    )
    return folder


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A vendor's repository with a test, and packages whose names have nothing to do with us."""
    for name in NAMES:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"NAME = {name!r}\n")
    imports = ", ".join(NAMES)
    (tmp_path / "test_ours.py").write_text(
        f"import {imports}\n\n\ndef test_ours():\n    assert conformance.NAME == 'conformance'\n"
    )
    return tmp_path


def _python(installed: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(installed), "PYTEST_ADDOPTS": ""}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.long
def test_with_a_url_the_cases_run_beside_them(installed: Path, repository: Path) -> None:
    with ReferenceServer() as server:
        done = _python(
            installed, repository, "-m", "pytest", "--v2-url", server.url, "-m", "H6 or not MUST",
            "-k", "test_ours or H6",
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_ours.py" in done.stdout
    assert "passed" in done.stdout


def test_the_package_runs_as_a_module(installed: Path, repository: Path) -> None:
    done = _python(installed, repository, "-m", "v2_conformance", "list", "models")
    assert done.returncode == 0, done.stderr
    assert "identity/INT32" in done.stdout
    where = "import v2_conformance.resources as r; print(r.folder('cases'))"
    assert _python(installed, repository, "-c", where).stdout.startswith(str(installed))
