"""A release: what has to be true before it, the one place of its address, its workflow's steps."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools import release
from v2_conformance import public_address
from v2_conformance.version import __version__

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml"))
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


def written(path: Path) -> Any:
    """What a copy of public_address.py says."""
    spec = importlib.util.spec_from_file_location("copied_address", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def changelog(root: Path, text: str) -> None:
    (root / "CHANGELOG.md").write_text(f"# Changelog\n\n{text}", "utf-8")


def test_a_placeholder_keeps_a_release_back_until_one_command_has_replaced_it(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changelog(checkout, f"## [Unreleased]\n\n## [{__version__}] - 2026-12-01\n\n- Everything.\n")
    monkeypatch.setattr(public_address, "BASE_IMAGE_SEEN", True)
    tag = f"v{__version__}"
    if not public_address.is_known():
        left = release.problems(checkout, tag)
        named = {line.partition(":")[0] for line in left}
        module = "conformance/v2_conformance/public_address.py"
        assert {module, "SECURITY.md", "docs/ci.md", "ci/github-workflow.yml"} <= named
        assert ".github/ISSUE_TEMPLATE/config.yml" in named
    release.write_address(checkout, "someone/v2")
    assert release.problems(checkout, tag) == []
    module = written(checkout / "conformance/v2_conformance/public_address.py")
    assert (module.REPOSITORY, module.SITE) == ("someone/v2", "https://someone.github.io/v2/")
    assert module.is_known()
    assert module.requirement_page("H6") == "https://someone.github.io/v2/standard/H6.html"
    shown = (
        "\n[The documentation](https://someone.github.io/v2/) has a page for each requirement.\n"
    )
    assert shown in (checkout / "README.md").read_text("utf-8")
    assert "uses: someone/v2/.github/actions/v2-conformance@" in (
        checkout / "ci" / "github-workflow.yml"
    ).read_text("utf-8")


def test_no_file_but_those_that_are_rewritten_spells_the_address_out() -> None:
    known = set(release.spelled_out(ROOT, public_address.REPOSITORY))
    told = subprocess.run(
        ["git", "grep", "-l", "-F", public_address.REPOSITORY],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if told.returncode > 1 or not (ROOT / ".git").exists():
        pytest.skip("no git")
    mine = Path(__file__).relative_to(ROOT).as_posix()
    assert set(told.stdout.splitlines()) - {mine} <= known


@pytest.mark.parametrize(
    ("text", "tag", "problem"),
    [
        (f"## [{__version__}]\n\n- It.\n", "v99.0.0", "the tag is v99.0.0, but version.py says"),
        (f"## [{__version__}]\n\n- It.\n", __version__, "the tag is"),
        ("## [0.0.1]\n\n- It.\n", f"v{__version__}", "CHANGELOG.md has no section"),
        (f"## [{__version__}]\n\n## [0.0.1]\n\n- It.\n", f"v{__version__}", "has no section"),
        (
            f"## [Unreleased]\n\n- More.\n\n## [{__version__}]\n\n- It.\n",
            f"v{__version__}",
            "CHANGELOG.md has 1 lines under [Unreleased]",
        ),
    ],
)
def test_a_release_needs_its_tag_and_its_words(
    checkout: Path, text: str, tag: str, problem: str
) -> None:
    changelog(checkout, text)
    assert any(problem in line for line in release.problems(checkout, tag))


def test_a_release_needs_a_base_image_that_somebody_has_run(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(public_address, "BASE_IMAGE_SEEN", False)
    assert "public_address.py: nobody has pulled" in "\n".join(release.problems(checkout, "v1"))


def test_a_release_freezes_its_requirements(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen = checkout / "tests" / "snapshots" / "requirements.yaml"
    before = frozen.read_text("utf-8")
    frozen.write_text(before.partition("\n")[2], "utf-8")
    assert "adds - {id: P1, words: 'since 1.0.0: " in "\n".join(release.problems(checkout, "v1"))
    monkeypatch.chdir(checkout)
    assert release.main(["requirements"]) == 0
    assert frozen.read_text("utf-8") == before


def test_the_command_says_what_is_missing_and_prints_the_notes(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    changelog(
        checkout, "## [Unreleased]\n\n## [1.2.3] - 2026-12-01\n\n- One.\n- Two.\n\n## [1.2.2]\n"
    )
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
    made = (
        "CHANGELOG.md",
        "conformance/v2_conformance/version.py",
        "docs/traceability.md",  # versions of the catalogue
    )
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


def tool(name: str) -> str:
    program = shutil.which(name, path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if program is None:
        pytest.skip(f"{name} is not installed: `tox -e release`")
    return program


def test_actionlint_passes_the_workflows() -> None:
    done = subprocess.run(
        [tool("actionlint"), *map(str, WORKFLOWS)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("schema", "paths"),
    [
        ("vendor.github-workflows", WORKFLOWS),
        ("vendor.github-issue-forms", [path for path in FORMS if path.name != "config.yml"]),
        ("vendor.github-issue-config", [GITHUB / "ISSUE_TEMPLATE" / "config.yml"]),
        ("vendor.dependabot", [GITHUB / "dependabot.yml"]),
    ],
)
def test_what_github_reads_fits_its_schemas(schema: str, paths: list[Path]) -> None:
    if importlib.util.find_spec("check_jsonschema") is None:
        pytest.skip("check-jsonschema is not installed: `tox -e release`")
    words = [sys.executable, "-W", "ignore", "-m", "check_jsonschema", "--builtin-schema", schema]
    done = subprocess.run([*words, *map(str, paths)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_action_is_pinned_and_no_job_may_do_more_than_it_says() -> None:
    for path in WORKFLOWS:
        workflow = yaml.safe_load(path.read_text("utf-8"))
        assert workflow["permissions"] == {"contents": "read"}, path.name
        for line in path.read_text("utf-8").splitlines():
            if re.match(r"\s*(?:- )?uses: ", line):
                assert re.search(r"@[0-9a-f]{40} # v[0-9.]+$", line), f"{path.name}: {line}"
        for name, job in workflow["jobs"].items():
            assert "timeout-minutes" in job, f"{path.name}: {name}"
            for step in job["steps"]:  # what GitHub knows reaches a shell as variables
                assert "${{" not in step.get("run", ""), f"{path.name}: {name}"


def step(job: str, name: str, workflow: str = "release") -> str:
    """The script of a step."""
    jobs = yaml.safe_load((GITHUB / "workflows" / f"{workflow}.yml").read_text("utf-8"))["jobs"]
    return str(next(step["run"] for step in jobs[job]["steps"] if step.get("name") == name))


def played(
    script: str, folder: Path, programs: Mapping[str, str], **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a step in `folder`, with these programs in the place of what would reach the world."""
    commands = folder / "commands"
    commands.mkdir(exist_ok=True)
    for name, text in programs.items():
        (commands / name).write_text(f"#!/bin/sh\n{text}\n")
        (commands / name).chmod(0o755)
    path = f"{commands}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_image_is_tried_before_it_is_pushed_and_known_by_its_digest(tmp_path: Path) -> None:
    log = tmp_path / "log"
    digest = "sha256:" + "0" * 64
    docker = f'echo "$*" >>{log}\n[ "$1" != inspect ] || echo "host/own/repo@{digest}"\n'
    docker += '[ "$1" != login ] || cat >/dev/null'
    done = played(
        step("container", "Image"),
        tmp_path,
        {"docker": docker},
        REGISTRY="registry.example",
        GITHUB_REPOSITORY="Own/Repo",
        GITHUB_REF_NAME="v1.2.3",
        GITHUB_ACTOR="someone",
        GITHUB_OUTPUT=str(tmp_path / "output"),
        TOKEN="secret-token",
    )
    assert done.returncode == 0, done.stderr
    calls = log.read_text().splitlines()
    verbs = [call.split()[0] for call in calls]
    assert verbs == ["build", "run", "login", "push", "inspect"]
    assert calls[3] == "push registry.example/own/repo:1.2.3"
    assert "secret-token" not in log.read_text() + done.stdout + done.stderr
    assert (tmp_path / "output").read_text().splitlines() == [
        "name=registry.example/own/repo",
        f"digest={digest}",
    ]
    broken = docker + '\n[ "$1" != run ]'
    log.unlink()
    failed = played(
        step("container", "Image"),
        tmp_path,
        {"docker": broken},
        REGISTRY="registry.example",
        GITHUB_REPOSITORY="own/repo",
        GITHUB_REF_NAME="v1.2.3",
        GITHUB_ACTOR="someone",
        GITHUB_OUTPUT=str(tmp_path / "output"),
        TOKEN="x",
    )
    assert failed.returncode != 0
    assert "push" not in log.read_text()


def test_the_tag_of_the_action_moves_to_the_release(tmp_path: Path) -> None:
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.example"]

    def git(*words: str, cwd: Path = clone) -> str:
        done = subprocess.run(
            ["git", *identity, *words], cwd=cwd, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("init", "--quiet", "--bare", str(origin), cwd=tmp_path)
    git("clone", "--quiet", str(origin), str(clone), cwd=tmp_path)
    commits = []
    for version in ("v1.0.0", "v1.0.1"):
        git("commit", "--quiet", "--allow-empty", "--message", version)
        commits.append(git("rev-parse", "HEAD"))
        done = played(
            step("announce", "Tag of the action"),
            clone,
            {},
            GITHUB_REF_NAME=version,
            GITHUB_SHA=commits[-1],
        )
        assert done.returncode == 0, done.stderr
        assert git("rev-parse", "v1", cwd=origin) == commits[-1]
    assert commits[0] != commits[1]


@pytest.mark.parametrize("words", ["", "## triton 9.9.9\n"])
def test_fresh_reports_are_proposed_only_if_there_are_some(tmp_path: Path, words: str) -> None:
    log = tmp_path / "log"
    (tmp_path / "words.md").write_text(words)
    record = f'echo "${{0##*/}} $*" >>{log}'
    done = played(
        step("propose", "Propose", "fresh"),
        tmp_path,
        {"git": record, "gh": record},
        GITHUB_RUN_ID="7",
    )
    assert done.returncode == 0, done.stderr
    if not words:
        assert not log.exists()
        return
    calls = log.read_text().splitlines()
    assert calls[-1].startswith("gh pr create --head fresh-reports-7 ")
    assert any(call.startswith("git push") and "--force" not in call for call in calls)


def test_the_release_is_made_of_what_was_built_and_its_notes(tmp_path: Path) -> None:
    log = tmp_path / "log"
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "a.whl").touch()
    done = played(
        step("announce", "Release"),
        tmp_path,
        {"gh": f'echo "$*" >>{log}'},
        GITHUB_REF_NAME="v1.2.3",
    )
    assert done.returncode == 0, done.stderr
    assert log.read_text().strip() == (
        "release create v1.2.3 dist/a.whl --verify-tag --title v1.2.3 --notes-file notes/notes.md"
    )
