"""What CI services and clusters run, and the Containerfile: their steps are played."""

from __future__ import annotations

import json
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

from support.servers import free_port
from v2_conformance.cli.main import main
from v2_conformance.reference.server import ReferenceServer
from v2_mutants.servers import MutantServer

ROOT = Path(__file__).parents[2]
ACTION = ROOT / ".github" / "actions" / "v2-conformance"
GITLAB = ROOT / "ci" / "gitlab-ci.yml"
WORKFLOW = ROOT / "ci" / "github-workflow.yml"
JOB = ROOT / "ci" / "kubernetes-job.yaml"
SOME = "--case\nP5/*"

pytestmark = [
    pytest.mark.skipif(not ACTION.exists(), reason="not a checkout"),
    pytest.mark.needs("bash"),
]


def played(
    folder: Path, *words: str, programs: Mapping[str, str], **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a step as CI does: this installation's commands first, and the files of a runner.
    `programs` has scripts of more commands."""
    commands = folder / "commands"
    commands.mkdir(exist_ok=True)
    found = {
        "v2-conformance": f'exec "{sys.executable}" -m v2_conformance "$@"',
        "python3": f'exec "{sys.executable}" "$@"',
        **programs,
    }
    for name, text in found.items():
        (commands / name).write_text(f"#!/bin/sh\n{text}\n")
        (commands / name).chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("V2_")}
    runner = {"OUTPUT": "output", "PATH": "path", "STEP_SUMMARY": "summary"}
    environment = {
        **kept,
        "PATH": f"{commands}:{os.environ['PATH']}",
        **{f"GITHUB_{name}": str(folder / file) for name, file in runner.items()},
        "RUNNER_TEMP": str(folder / "temp"),
        **variables,
    }
    return subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def action(folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return played(folder, str(ACTION / "run.sh"), programs={}, **variables)


def outputs(folder: Path) -> Mapping[str, str]:
    lines = (folder / "output").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def started() -> dict[str, str]:
    """Variables for a server that the step itself has to start."""
    url = f"http://127.0.0.1:{free_port()}"
    return {"V2_URL": url, "V2_START": f"v2-conformance serve --port {url.rpartition(':')[2]}"}


@pytest.mark.long
def test_the_action_starts_a_server_and_says_what_came_of_it(tmp_path: Path) -> None:
    done = action(tmp_path, **started(), V2_PROFILES="raw compression", V2_ARGS=SOME)
    assert done.returncode == 0, done.stderr
    told, folder = outputs(tmp_path), tmp_path / "v2-conformance-report"
    assert told["exit-code"] == "0"
    assert told["verdict"] == json.loads((folder / "badge.json").read_text())["message"]
    report = json.loads((tmp_path / told["report"]).read_text())
    assert report["target"]["profiles"] == ["binary", "raw", "compression"]
    assert (tmp_path / told["badge"]).exists()
    assert {"report.html", "junit.xml", "server.log"} <= {path.name for path in folder.iterdir()}


@pytest.mark.long
def test_what_is_not_there_yet_is_no_error_and_then_only_what_gets_worse_is(tmp_path: Path) -> None:
    variables = {"V2_ARGS": SOME, "V2_BASELINE": "baseline.json", "V2_EXPECTATIONS": "known.yaml"}
    with ReferenceServer() as good:
        first = action(tmp_path, V2_URL=good.url, **variables)
        assert first.returncode == 0, first.stderr
        assert "no baseline yet: keep" in first.stdout
        assert "no expectations yet:" in first.stdout
        shutil.copy(tmp_path / outputs(tmp_path)["report"], tmp_path / "baseline.json")
        assert action(tmp_path, V2_URL=good.url, **variables).returncode == 0
    with MutantServer(["response-header-length-short"]) as worse:
        assert action(tmp_path, V2_URL=worse.url, **variables).returncode == 1
        compared = (tmp_path / "v2-conformance-report" / "diff.md").read_text()
        assert "P5" in compared
        assert compared in (tmp_path / "summary").read_text()
        report = tmp_path / outputs(tmp_path)["report"]
        shutil.copy(report, tmp_path / "baseline.json")
        assert main(["expect", "--write", str(report), str(tmp_path / "known.yaml")]) == 0
        assert action(tmp_path, V2_URL=worse.url, **variables).returncode == 0


@pytest.mark.long
def test_a_server_that_is_not_there_fails_the_job_and_is_no_verdict(tmp_path: Path) -> None:
    folder = tmp_path / "v2-conformance-report"
    folder.mkdir()
    for name in ("report.json", "badge.json"):  # of an earlier use, of another server
        (folder / name).write_text('{"message": "conformant"}')
    done = action(tmp_path, V2_URL="http://127.0.0.1:9", V2_WAIT_READY="0", V2_BASELINE="b")
    assert done.returncode == 3
    assert outputs(tmp_path)["verdict"] == ""
    assert not (folder / "badge.json").exists()


def test_the_suite_has_its_own_environment_and_one_command_on_the_path(tmp_path: Path) -> None:
    venv = (
        'mkdir -p "$3/bin"\necho \'#!/bin/sh\necho "$@" >>"$RUNNER_TEMP/pip"\' '
        '>"$3/bin/pip"\nchmod +x "$3/bin/pip"'
    )
    for package, installed in (("", str(ROOT)), ("v2-conformance==1", "v2-conformance==1")):
        script = str(ACTION / "install.sh")
        done = played(tmp_path, script, programs={"python3": venv}, V2_PACKAGE=package)
        assert done.returncode == 0, done.stderr
        called = (tmp_path / "temp" / "pip").read_text().splitlines()[-1].split()
        assert called[-1] == installed if package else os.path.samefile(called[-1], installed)
    (added,) = {Path(line) for line in (tmp_path / "path").read_text().splitlines()}
    # The server that `start` starts needs the Python of the job.
    (command,) = added.iterdir()
    assert command.readlink() == Path("../bin/v2-conformance")
    assert command.parent.parent == tmp_path / "temp" / "v2-conformance"


def test_every_input_of_the_action_is_used_and_every_output_is_written() -> None:
    text = (ACTION / "action.yml").read_text()
    made = yaml.safe_load(text)
    assert [name for name in made["inputs"] if f"inputs.{name}" not in text] == []
    script = (ACTION / "run.sh").read_text()
    assert [name for name in made["outputs"] if f'"{name}=' not in script] == []
    (job,) = yaml.safe_load(WORKFLOW.read_text())["jobs"].values()
    (step,) = (each for each in job["steps"] if "v2-conformance@" in each.get("uses", ""))
    assert step["with"].keys() <= made["inputs"].keys()
    for entry in made["runs"]["steps"]:  # inputs reach a shell as variables, never as its text
        assert "${{" not in entry.get("run", "")


@pytest.mark.long
def test_the_script_of_the_gitlab_job_tests_a_server(tmp_path: Path) -> None:
    job: dict[str, Any] = yaml.safe_load(GITLAB.read_text())[".v2-conformance"]
    _install, script = job["script"]
    variables = {**job["variables"], **started(), "V2_PROFILES": "raw"}
    done = played(tmp_path, "sh", "-ec", script, programs={}, **variables)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / job["artifacts"]["reports"]["junit"]).exists()


def test_the_gitlab_job_installs_what_it_is_told_a_checkout_or_nothing(tmp_path: Path) -> None:
    def installed(**variables: str) -> tuple[int, str, str]:
        install = yaml.safe_load(GITLAB.read_text())[".v2-conformance"]["script"][0]
        pip = {"pip": 'shift 2; echo "installs $*"'}
        done = played(tmp_path, "/bin/sh", "-ec", install, programs=pip, **variables)
        return done.returncode, done.stdout, done.stderr

    package = "git+https://h.example/suite"
    assert installed(V2_PACKAGE=package) == (0, f"installs {package}\n", "")
    assert installed(V2_PACKAGE="") == (0, "", "")
    code, _, error = installed(V2_PACKAGE="", PATH="/nowhere")
    assert code == 2
    assert error.startswith("V2_PACKAGE must be what pip installs")
    (tmp_path / "v2-conformance" / "conformance").mkdir(parents=True)
    assert installed(V2_PACKAGE="") == (0, "installs ./v2-conformance\n", "")


def container() -> dict[str, Any]:
    pod = yaml.safe_load(JOB.read_text())["spec"]["template"]["spec"]
    (only,) = pod["containers"]
    return dict(only)


@pytest.mark.long
def test_the_log_of_the_kubernetes_job_has_the_verdict_and_the_report(tmp_path: Path) -> None:
    own = container()
    variables = {entry["name"]: entry["value"] for entry in own["env"]}
    reports = tmp_path / "reports"
    with ReferenceServer() as server:
        told = {"V2_URL": server.url, "V2_REPORTS": str(reports), "V2_PROFILES": "raw"}
        words = [*own["command"], *own["args"]]
        done = played(tmp_path, *words, programs={}, **{**variables, **told})
    assert done.returncode == 0, done.stderr
    assert "CONFORMANT" in done.stdout
    assert {path.name for path in tmp_path.iterdir()} <= {"commands", "reports", "summary"}
    comments = [line.lstrip("# ") for line in JOB.read_text().splitlines() if line[:1] == "#"]
    begin = next(n for n, line in enumerate(comments) if line.startswith("mkdir"))
    unpack = "\n".join(comments[begin : begin + 3])
    (tmp_path / "log").write_text(done.stdout)
    unpack = unpack.replace("kubectl logs job/v2-conformance", f"cat {tmp_path / 'log'}")
    work = tmp_path / "work"
    work.mkdir()
    subprocess.run(["sh", "-ec", unpack], cwd=work, check=True)
    for name in ("report.json", "report.html", "badge.svg"):
        assert (work / "reports" / name).read_bytes() == (reports / name).read_bytes()


def test_every_image_is_pinned_to_a_digest() -> None:
    base = (ROOT / "Containerfile").read_text().partition("ARG BASE=")[2].splitlines()[0]
    assert re.fullmatch(r"python:[0-9.]+-slim@sha256:[0-9a-f]{64}", base)
    assert yaml.safe_load(GITLAB.read_text())[".v2-conformance"]["image"] == base
    assert "@sha256:" in container()["image"]


def test_the_image_is_built_with_every_file_that_the_wheel_includes() -> None:
    copied = re.findall(r"(?m)^COPY (?!-)(.+) ", (ROOT / "Containerfile").read_text())
    copied = " ".join(copied).split()
    for name in re.findall(r'(?m)^"(.+)" = "v2_', (ROOT / "pyproject.toml").read_text()):
        assert any(f"{name}/".startswith(f"{folder}/") for folder in copied), name


@pytest.mark.parametrize("version", ["1.31", "latest"])
def test_kubernetes_would_take_the_job(version: str) -> None:
    reason = "kubernetes-validate is not installed: `tox -e templates`"
    validate: Any = pytest.importorskip("kubernetes_validate", reason=reason)
    release = validate.latest_version() if version == "latest" else version
    validate.validate(yaml.safe_load(JOB.read_text()), release, strict=True)


def test_the_containerfile_is_one_that_hadolint_passes() -> None:
    places = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    if (program := shutil.which("hadolint", path=places)) is None:
        pytest.skip("hadolint is not installed: `tox -e templates`")
    subprocess.run([program, str(ROOT / "Containerfile")], check=True)
