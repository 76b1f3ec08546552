"""A release: what has to be true before it, the one place of its address, its workflow's steps."""

from __future__ import annotations

import importlib.util
import os
import re
import runpy
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from tools import release
from v2_conformance import public_address
from v2_conformance.version import __version__

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml"))
ACTION = GITHUB / "actions" / "v2-conformance" / "action.yml"
TEMPLATE = ROOT / "ci" / "github-workflow.yml"
TAG = f"v{__version__}"
_COPIED = ("*.md", "docs/*.md", "ci/*", ".github/**/*", "tests/snapshots/requirements.yaml")

pytestmark = pytest.mark.skipif(not WORKFLOWS, reason="not a checkout")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the files that spell the address out."""
    address = Path("conformance", "v2_conformance", "public_address.py")
    paths = {path for pattern in _COPIED for path in ROOT.glob(pattern) if path.is_file()}
    for path in (*paths, ROOT / address):
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    return tmp_path


def changelog(root: Path, text: str) -> None:
    (root / "CHANGELOG.md").write_text(f"# Changelog\n\n{text}", "utf-8")


def test_a_placeholder_keeps_a_release_back_until_one_command_has_replaced_it(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changelog(checkout, f"## [Unreleased]\n\n## [{__version__}] - 2026-12-01\n\n- Everything.\n")
    monkeypatch.setattr(public_address, "BASE_IMAGE_SEEN", True)
    if not public_address.is_known():
        left = release.problems(checkout, TAG)
        named = {line.partition(":")[0] for line in left}
        module = "conformance/v2_conformance/public_address.py"
        assert {module, "SECURITY.md", "docs/ci.md", "ci/github-workflow.yml"} <= named
        assert ".github/ISSUE_TEMPLATE/config.yml" in named
    release.write_address(checkout, "someone/v2")
    assert release.problems(checkout, TAG) == []
    written = checkout / "conformance/v2_conformance/public_address.py"
    address = SimpleNamespace(**runpy.run_path(str(written)))
    assert (address.REPOSITORY, address.SITE) == ("someone/v2", "https://someone.github.io/v2/")
    assert address.is_known()
    assert address.requirement_page("H6") == "https://someone.github.io/v2/standard/H6.html"
    readme = (checkout / "README.md").read_text("utf-8")
    assert "\n[The documentation](https://someone.github.io/v2/) has a page for each" in readme
    workflow = (checkout / "ci" / "github-workflow.yml").read_text("utf-8")
    assert "uses: someone/v2/.github/actions/v2-conformance@" in workflow


def test_no_file_but_those_that_are_rewritten_spells_the_address_out() -> None:
    known = set(release.spelled_out(ROOT, public_address.REPOSITORY))
    grep = ["git", "grep", "-l", "-F", public_address.REPOSITORY]
    told = subprocess.run(grep, cwd=ROOT, capture_output=True, text=True, check=False)
    if told.returncode > 1 or not (ROOT / ".git").exists():
        pytest.skip("no git")
    mine = Path(__file__).relative_to(ROOT).as_posix()
    assert set(told.stdout.splitlines()) - {mine} <= known


@pytest.mark.parametrize(
    ("text", "tag", "problem"),
    [
        (f"## [{__version__}]\n\n- It.\n", "v99.0.0", "the tag is v99.0.0, but version.py says"),
        (f"## [{__version__}]\n\n- It.\n", __version__, "the tag is"),
        ("## [0.0.1]\n\n- It.\n", TAG, "CHANGELOG.md has no section"),
        (f"## [{__version__}]\n\n## [0.0.1]\n\n- It.\n", TAG, "has no section"),
        (
            f"## [Unreleased]\n\n- More.\n\n## [{__version__}]\n\n- It.\n",
            TAG,
            "CHANGELOG.md has 1 lines under [Unreleased]",
        ),
        ("", TAG, "public_address.py: nobody has pulled"),
        ("", TAG, "adds - {id: P1, words: 'since 1.0.0: "),
    ],
)
def test_what_keeps_a_release_back_is_named(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, text: str, tag: str, problem: str
) -> None:
    changelog(checkout, text)
    monkeypatch.setattr(public_address, "BASE_IMAGE_SEEN", False)
    frozen = checkout / "tests" / "snapshots" / "requirements.yaml"
    before = frozen.read_text("utf-8")
    frozen.write_text(before.partition("\n")[2], "utf-8")
    assert any(problem in line for line in release.problems(checkout, tag))
    monkeypatch.chdir(checkout)
    assert release.main(["requirements"]) == 0
    assert frozen.read_text("utf-8") == before


def test_the_command_says_what_is_missing_and_prints_the_notes(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    changelog(checkout, "## [1.2.3] - 2026-12-01\n\n- One.\n- Two.\n\n## [1.2.2]\n")
    monkeypatch.chdir(checkout)
    assert release.main(["check", "v99.0.0"]) == 1
    assert "version.py says" in capsys.readouterr().out
    assert release.main(["notes", "v1.2.3"]) == 0
    assert capsys.readouterr().out == "- One.\n- Two.\n"
    for wrong in ([], ["address", "no address"], ["publish", "v1"]):
        assert release.main(wrong) == 2
    assert release.main(["address", "someone/v2"]) == 0
    assert "SECURITY.md" in capsys.readouterr().out


def test_a_new_version_is_one_line() -> None:
    """Nothing but version.py, the changelog, and what was made by a version has the number."""
    spelled = re.compile(rf"(?<![0-9.]){re.escape(__version__)}(?![0-9.])")
    made = ("CHANGELOG.md", "docs/traceability.md")  # the latter has versions of the catalogue
    places = ("*.md", "*.toml", "*.ini", "Containerfile", "docs/*.md", "ci/*", ".github/**/*")
    paths = {path for pattern in places for path in ROOT.glob(pattern) if path.is_file()}
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in paths
        if path.relative_to(ROOT).as_posix() not in made
        for line in path.read_text("utf-8").splitlines()
        if spelled.search(line)
    ]
    assert found == []


def workflows_of_the_manual(folder: Path) -> Iterator[Path]:
    """The steps of GitHub Actions that docs/ci.md shows, as whole workflows."""
    text = (ROOT / "docs" / "ci.md").read_text("utf-8")
    examples = re.findall(r"^```yaml\n(- (?:uses|run):.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert examples
    for number, steps in enumerate(examples):
        path = folder / f"{number}.yml"
        job = "on: push\njobs:\n  job:\n    runs-on: ubuntu-latest\n    steps:\n"
        path.write_text(job + textwrap.indent(steps, "      "))
        yield path


def test_actionlint_passes_the_workflows(tmp_path: Path) -> None:
    places = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    if (program := shutil.which("actionlint", path=places)) is None:
        pytest.skip("actionlint is not installed: `tox -e release`")
    paths = map(str, (*WORKFLOWS, TEMPLATE, *workflows_of_the_manual(tmp_path)))
    subprocess.run([program, *paths], cwd=ROOT, check=True)


@pytest.mark.parametrize(
    ("schema", "paths"),
    [
        ("github-workflows", [*WORKFLOWS, TEMPLATE]),
        ("github-issue-forms", [path for path in FORMS if path.name != "config.yml"]),
        ("github-issue-config", [GITHUB / "ISSUE_TEMPLATE" / "config.yml"]),
        ("github-actions", [ACTION]),
        ("gitlab-ci", [ROOT / "ci" / "gitlab-ci.yml"]),
        ("dependabot", [GITHUB / "dependabot.yml"]),
    ],
)
def test_what_ci_services_read_fits_their_schemas(schema: str, paths: list[Path]) -> None:
    if importlib.util.find_spec("check_jsonschema") is None:
        pytest.skip("check-jsonschema is not installed: `tox -e release`")
    words = [sys.executable, "-W", "ignore", "-m", "check_jsonschema"]
    subprocess.run([*words, "--builtin-schema", f"vendor.{schema}", *map(str, paths)], check=True)


def test_every_action_is_pinned_and_no_job_may_do_more_than_it_says() -> None:
    for path in (*WORKFLOWS, ACTION, TEMPLATE, *(ROOT / "docs").glob("*.md")):
        for line in path.read_text("utf-8").splitlines():
            if re.match(r"\s*(?:- )?uses: ", line) and public_address.REPOSITORY not in line:
                assert re.search(r"@[0-9a-f]{40} # v[0-9.]+$", line), f"{path.name}: {line}"
            assert "@main" not in line, f"{path.name}: {line}"
    for path in WORKFLOWS:
        workflow = yaml.safe_load(path.read_text("utf-8"))
        assert workflow["permissions"] == {"contents": "read"}, path.name
        for name, job in workflow["jobs"].items():
            assert "timeout-minutes" in job, f"{path.name}: {name}"
            for step in job["steps"]:  # what GitHub knows reaches a shell as variables
                assert "${{" not in step.get("run", ""), f"{path.name}: {name}"
