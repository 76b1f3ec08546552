"""The GitHub Action, the GitLab template and the Containerfile: linted, and their steps run."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.servers import free_port
from v2_conformance.cli.main import main
from v2_conformance.reference.server import ReferenceServer

ROOT = Path(__file__).parents[2]
ACTION = ROOT / ".github" / "actions" / "v2-conformance"
GITLAB = ROOT / "ci" / "gitlab-ci.yml"
SOME = "--case\nP5/*"

pytestmark = pytest.mark.skipif(
    not ACTION.exists() or shutil.which("bash") is None, reason="no bash, or not a checkout"
)


def environment(folder: Path, **variables: str) -> dict[str, str]:
    """What a step sees: this installation's commands first, and the files of a runner."""
    commands = folder / "commands"
    commands.mkdir(exist_ok=True)
    for name, words in (("v2-conformance", "-m v2_conformance"), ("python3", "")):
        script = commands / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        script.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("V2_")}
    return {
        **kept,
        "PATH": f"{commands}:{os.environ['PATH']}",
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_PATH": str(folder / "path"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
        "RUNNER_TEMP": str(folder / "temp"),
        **variables,
    }


def step(folder: Path, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(ACTION / script)],
        cwd=folder,
        env=environment(folder, **variables),
        capture_output=True,
        text=True,
        check=False,
    )


def outputs(folder: Path) -> Mapping[str, str]:
    lines = (folder / "output").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def test_the_action_starts_a_server_and_says_what_came_of_it(tmp_path: Path) -> None:
    port = free_port()
    done = step(
        tmp_path,
        "run.sh",
        V2_URL=f"http://127.0.0.1:{port}",
        V2_START=f"v2-conformance serve --port {port}",
        V2_PROFILES="raw compression",
        V2_ARGS=SOME,
    )
    assert done.returncode == 1, done.stderr  # cases are left out
    told = outputs(tmp_path)
    assert told["exit-code"] == "1"
    assert (
        told["verdict"]
        == json.loads((tmp_path / "v2-conformance-report" / "badge.json").read_text())["message"]
    )
    report = json.loads((tmp_path / told["report"]).read_text())
    assert report["target"]["profiles"] == ["binary", "raw", "compression"]
    assert (tmp_path / told["badge"]).exists()
    names = {path.name for path in (tmp_path / "v2-conformance-report").iterdir()}
    assert {"report.html", "junit.xml", "ctrf.json", "results.sarif", "server.log"} <= names


def test_what_is_not_there_yet_is_no_error_and_then_only_what_gets_worse_is(tmp_path: Path) -> None:
    variables = {"V2_ARGS": SOME, "V2_BASELINE": "baseline.json", "V2_EXPECTATIONS": "none.yaml"}
    with ReferenceServer() as good:
        first = step(tmp_path, "run.sh", V2_URL=good.url, **variables)
        assert first.returncode == 0, first.stderr
        assert "no baseline yet: keep" in first.stdout
        assert "no expectations yet:" in first.stdout
        shutil.copy(tmp_path / outputs(tmp_path)["report"], tmp_path / "baseline.json")
        assert step(tmp_path, "run.sh", V2_URL=good.url, **variables).returncode == 0
    with ReferenceServer(["response-header-length-short"]) as worse:
        assert step(tmp_path, "run.sh", V2_URL=worse.url, **variables).returncode == 1
    compared = (tmp_path / "v2-conformance-report" / "diff.md").read_text()
    assert "P5" in compared
    assert compared in (tmp_path / "summary").read_text()


def test_known_failures_fail_no_job(tmp_path: Path) -> None:
    with ReferenceServer(["response-header-length-short"]) as broken:
        variables = {"V2_URL": broken.url, "V2_ARGS": SOME, "V2_EXPECTATIONS": "known.yaml"}
        assert step(tmp_path, "run.sh", **variables).returncode == 1
        report = tmp_path / outputs(tmp_path)["report"]
        assert main(["expect", "--write", str(report), str(tmp_path / "known.yaml")]) == 0
        assert step(tmp_path, "run.sh", **variables).returncode == 0


def test_a_server_that_is_not_there_fails_the_job_and_is_no_verdict(tmp_path: Path) -> None:
    done = step(tmp_path, "run.sh", V2_URL="http://127.0.0.1:9", V2_WAIT_READY="0", V2_BASELINE="b")
    assert done.returncode == 3
    assert outputs(tmp_path)["verdict"] == ""


def test_the_suite_is_installed_into_an_environment_that_comes_first_on_the_path(
    tmp_path: Path,
) -> None:
    variables = environment(tmp_path)
    (tmp_path / "commands" / "python3").write_text(
        '#!/bin/sh\nmkdir -p "$3/bin"\necho \'#!/bin/sh\necho "$@" >>"$RUNNER_TEMP/pip"\' '
        '>"$3/bin/pip"\nchmod +x "$3/bin/pip"\n'
    )
    for package, installed in (("", str(ROOT)), ("v2-conformance==1", "v2-conformance==1")):
        done = subprocess.run(
            [str(ACTION / "install.sh")],
            env={**variables, "V2_PACKAGE": package},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        called = (tmp_path / "temp" / "pip").read_text().splitlines()[-1].split()
        assert called[-1] == installed if package else os.path.samefile(called[-1], installed)
    assert (tmp_path / "path").read_text().splitlines()[-1] == str(
        tmp_path / "temp" / "v2-conformance" / "bin"
    )


def test_every_input_of_the_action_is_used_and_every_output_is_written() -> None:
    action = yaml.safe_load((ACTION / "action.yml").read_text())
    text = (ACTION / "action.yml").read_text()
    unused = [name for name in action["inputs"] if f"inputs.{name}" not in text]
    assert unused == []
    script = (ACTION / "run.sh").read_text()
    assert [name for name in action["outputs"] if f'"{name}=' not in script] == []
    for entry in action["runs"]["steps"]:  # inputs reach a shell as variables, never as its text
        assert "${{" not in entry.get("run", "")


def test_the_script_of_the_gitlab_job_tests_a_server(tmp_path: Path) -> None:
    job: dict[str, Any] = yaml.safe_load(GITLAB.read_text())[".v2-conformance"]
    install, script = job["script"]
    assert install.startswith("pip install")
    port = free_port()
    variables = {
        **job["variables"],
        "V2_URL": f"http://127.0.0.1:{port}",
        "V2_START": f"v2-conformance serve --port {port}",
        "V2_PROFILES": "raw",
    }
    done = subprocess.run(
        ["sh", "-ec", script],
        cwd=tmp_path,
        env=environment(tmp_path, **variables),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / job["artifacts"]["reports"]["junit"]).exists()


@pytest.mark.parametrize(
    ("schema", "path"),
    [("vendor.github-actions", ACTION / "action.yml"), ("vendor.gitlab-ci", GITLAB)],
)
def test_what_ci_services_read_fits_their_schemas(schema: str, path: Path) -> None:
    if importlib.util.find_spec("check_jsonschema") is None:
        pytest.skip("check-jsonschema is not installed")
    words = [sys.executable, "-W", "ignore", "-m", "check_jsonschema"]
    done = subprocess.run(
        [*words, "--builtin-schema", schema, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_containerfile_is_one_that_hadolint_passes() -> None:
    program = shutil.which("hadolint", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if program is None:
        pytest.skip("hadolint is not installed")
    done = subprocess.run(
        [program, str(ROOT / "Containerfile")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_the_container_has_no_root_and_its_base_names_no_registry() -> None:
    lines = (ROOT / "Containerfile").read_text().splitlines()
    assert any(line.startswith("USER ") and line.split()[1] not in ("0", "root") for line in lines)
    (base,) = (line.partition("=")[2] for line in lines if line.startswith("ARG BASE="))
    assert "/" not in base
    copied = [word for line in lines if line.startswith("COPY p") for word in line.split()[1:-1]]
    assert all((ROOT / name).exists() for name in copied)
