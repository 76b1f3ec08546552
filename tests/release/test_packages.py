"""The packages of a release: built once, checked, and tried in clean environments. Nothing is
published. Of the ordinary tests only the README's links; `tox -e release` runs all."""

from __future__ import annotations

import importlib.util
import os
import re
import runpy
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from v2_conformance.version import __version__

ROOT = Path(__file__).parents[2]
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
PYTHONS_TRIED = ("3.10", "3.13")


def run(*words: str, cwd: Path) -> str:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        words, cwd=cwd, env=environment, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was built from the sdist."""
    if importlib.util.find_spec("build") is None:
        pytest.skip("build is not installed: `tox -e release`")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    run(*command, cwd=folder)
    return folder


def only(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


def test_an_index_takes_the_packages(built: Path) -> None:
    if importlib.util.find_spec("twine") is None:
        pytest.skip("twine is not installed: `tox -e release`")
    files = [str(path) for path in built.iterdir()]
    assert len(files) == 2
    told = run(sys.executable, "-m", "twine", "check", "--strict", *files, cwd=built)
    assert told.count("PASSED") == 2


def test_the_wheel_has_the_cases(built: Path) -> None:
    names = zipfile.ZipFile(only(built, "*.whl")).namelist()
    assert "v2_conformance/cases/requirements.yaml" in names
    assert "v2_conformance/py.typed" in names
    assert {f"v2_clients/adapters/codec.{end}" for end in ("go", "mjs", "py")} <= set(names)
    assert not [name for name in names if name.startswith(("tests", "metadata_hook"))]


def python(version: str) -> str:
    """A Python of this version: on PATH, or of pyenv. The tests of GitHub's workflow try every
    version; here two are enough, unless somebody asks for all."""
    if version not in PYTHONS_TRIED and not os.environ.get("V2_ALL_PYTHONS"):
        pytest.skip("set V2_ALL_PYTHONS=1")
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    places = sorted(root.glob(f"versions/{version}.*/bin/python{version}"))
    found = [str(path) for path in places] or [shutil.which(f"python{version}") or ""]
    works = found[-1] and subprocess.run(
        [found[-1], "-c", "import ensurepip, ssl, zlib"], capture_output=True, check=False
    )
    if not works or works.returncode:
        pytest.skip(f"there is no Python {version}")
    return found[-1]


def lowest() -> str:
    """The oldest version of each dependency that is declared, as constraints of pip."""
    text = (ROOT / "pyproject.toml").read_text("utf-8").partition("\ndependencies = [")[2]
    return "\n".join(re.findall(r'"([\w-]+>=[\d.]+)', text.partition("\n]")[0])).replace(">", "=")


@pytest.mark.parametrize(
    ("version", "constraints"), [("3.10", lowest()), *((version, "") for version in PYTHONS)]
)
def test_the_wheel_installs_and_runs_in_a_clean_environment(
    built: Path, version: str, constraints: str, tmp_path: Path
) -> None:
    run(python(version), "-m", "venv", "clean", cwd=tmp_path)
    (tmp_path / "constraints.txt").write_text(constraints)
    command = tmp_path / "clean" / "bin"
    pip = [str(command / "pip"), "install", "--quiet", "--disable-pip-version-check"]
    run(*pip, "-c", "constraints.txt", str(only(built, "*.whl")), cwd=tmp_path)
    program = str(command / "v2-conformance")
    assert run(program, "--version", cwd=tmp_path) == f"v2-conformance {__version__}\n"
    assert "PASS" in run(program, "run", "--case", "P5/*", cwd=tmp_path).upper()
    assert (tmp_path / "reports" / "report.html").is_file()
    run(program, "verify", "reports/report.json", cwd=tmp_path)


def test_the_readme_of_an_index_links_to_the_repository() -> None:
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    hook = runpy.run_path(str(ROOT / "conformance" / "metadata_hook.py"))
    text = (ROOT / "README.md").read_text("utf-8")
    made = hook["whole_links"](text, "someone/v2", "v1.0.0")
    relative = re.findall(r"\]\((?!https?:|#)[^)]*\)", re.sub(r"(?s)```.*?```", "", made))
    assert relative == []
    page = "https://github.com/someone/v2/blob/v1.0.0/"
    assert f"]({page}docs/tour.md)" in made
    assert "](https://raw.githubusercontent.com/someone/v2/v1.0.0/docs/report.png)" in made
