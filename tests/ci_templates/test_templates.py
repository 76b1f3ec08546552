"""What CI services and clusters read, and the Containerfile: linted, and their steps run."""

from __future__ import annotations

import importlib.util
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
from v2_conformance.public_address import REPOSITORY
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


@pytest.mark.long
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
    assert done.returncode == 0, done.stderr
    told = outputs(tmp_path)
    assert told["exit-code"] == "0"
    assert (
        told["verdict"]
        == json.loads((tmp_path / "v2-conformance-report" / "badge.json").read_text())["message"]
    )
    report = json.loads((tmp_path / told["report"]).read_text())
    assert report["target"]["profiles"] == ["binary", "raw", "compression"]
    assert (tmp_path / told["badge"]).exists()
    names = {path.name for path in (tmp_path / "v2-conformance-report").iterdir()}
    assert {"report.html", "junit.xml", "server.log"} <= names


@pytest.mark.long
def test_what_is_not_there_yet_is_no_error_and_then_only_what_gets_worse_is(tmp_path: Path) -> None:
    variables = {"V2_ARGS": SOME, "V2_BASELINE": "baseline.json", "V2_EXPECTATIONS": "none.yaml"}
    with ReferenceServer() as good:
        first = step(tmp_path, "run.sh", V2_URL=good.url, **variables)
        assert first.returncode == 0, first.stderr
        assert "no baseline yet: keep" in first.stdout
        assert "no expectations yet:" in first.stdout
        shutil.copy(tmp_path / outputs(tmp_path)["report"], tmp_path / "baseline.json")
        assert step(tmp_path, "run.sh", V2_URL=good.url, **variables).returncode == 0
    with MutantServer(["response-header-length-short"]) as worse:
        assert step(tmp_path, "run.sh", V2_URL=worse.url, **variables).returncode == 1
    compared = (tmp_path / "v2-conformance-report" / "diff.md").read_text()
    assert "P5" in compared
    assert compared in (tmp_path / "summary").read_text()


@pytest.mark.long
def test_known_failures_fail_no_job(tmp_path: Path) -> None:
    with MutantServer(["response-header-length-short"]) as broken:
        variables = {"V2_URL": broken.url, "V2_ARGS": SOME, "V2_EXPECTATIONS": "known.yaml"}
        assert step(tmp_path, "run.sh", **variables).returncode == 1
        report = tmp_path / outputs(tmp_path)["report"]
        assert main(["expect", "--write", str(report), str(tmp_path / "known.yaml")]) == 0
        assert step(tmp_path, "run.sh", **variables).returncode == 0


@pytest.mark.long
def test_a_server_that_is_not_there_fails_the_job_and_is_no_verdict(tmp_path: Path) -> None:
    done = step(tmp_path, "run.sh", V2_URL="http://127.0.0.1:9", V2_WAIT_READY="0", V2_BASELINE="b")
    assert done.returncode == 3
    assert outputs(tmp_path)["verdict"] == ""


def test_the_suite_has_its_own_environment_and_one_command_on_the_path(tmp_path: Path) -> None:
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
    (added,) = {Path(line) for line in (tmp_path / "path").read_text().splitlines()}
    # The server that `start` starts needs the Python of the job.
    (command,) = added.iterdir()
    assert command.readlink() == Path("../bin/v2-conformance")
    assert command.parent.parent == tmp_path / "temp" / "v2-conformance"


def test_every_input_of_the_action_is_used_and_every_output_is_written() -> None:
    action = yaml.safe_load((ACTION / "action.yml").read_text())
    text = (ACTION / "action.yml").read_text()
    unused = [name for name in action["inputs"] if f"inputs.{name}" not in text]
    assert unused == []
    script = (ACTION / "run.sh").read_text()
    assert [name for name in action["outputs"] if f'"{name}=' not in script] == []
    for entry in action["runs"]["steps"]:  # inputs reach a shell as variables, never as its text
        assert "${{" not in entry.get("run", "")


@pytest.mark.long
def test_the_script_of_the_gitlab_job_tests_a_server(tmp_path: Path) -> None:
    job: dict[str, Any] = yaml.safe_load(GITLAB.read_text())[".v2-conformance"]
    _install, script = job["script"]
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


def installed(folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """What the first step of the GitLab job does; `pip` says what it would install."""
    install = yaml.safe_load(GITLAB.read_text())[".v2-conformance"]["script"][0]
    known = environment(folder, **variables)
    pip = folder / "commands" / "pip"
    pip.write_text('#!/bin/sh\nshift 2; echo "installs $*"\n')
    pip.chmod(0o755)
    return subprocess.run(
        ["/bin/sh", "-ec", install],
        cwd=folder,
        env=known,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_gitlab_job_installs_what_it_is_told_a_checkout_or_nothing(tmp_path: Path) -> None:
    told = installed(tmp_path, V2_PACKAGE="git+https://h.example/suite")
    assert (told.returncode, told.stdout) == (0, "installs git+https://h.example/suite\n")
    of_image = installed(tmp_path, V2_PACKAGE="")
    assert (of_image.returncode, of_image.stdout) == (0, "")
    missing = installed(tmp_path, V2_PACKAGE="", PATH="/nowhere")
    assert missing.returncode == 2
    assert missing.stderr.startswith("V2_PACKAGE must be what pip installs")
    (tmp_path / "v2-conformance" / "conformance").mkdir(parents=True)
    assert installed(tmp_path, V2_PACKAGE="").stdout == "installs ./v2-conformance\n"


def container() -> dict[str, Any]:
    pod = yaml.safe_load(JOB.read_text())["spec"]["template"]["spec"]
    (only,) = pod["containers"]
    return dict(only)


@pytest.mark.long
def test_the_log_of_the_kubernetes_job_has_the_verdict_and_the_report(tmp_path: Path) -> None:
    own = container()
    variables = {entry["name"]: entry["value"] for entry in own["env"]}
    reports, work = tmp_path / "reports", tmp_path / "work"
    work.mkdir()
    with ReferenceServer() as server:
        told = {"V2_URL": server.url, "V2_REPORTS": str(reports), "V2_PROFILES": "raw"}
        done = subprocess.run(
            [*own["command"], *own["args"]],
            cwd=work,
            env=environment(tmp_path, **{**variables, **told}),
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert "CONFORMANT" in done.stdout
    assert list(work.iterdir()) == []  # nothing is written but to the volumes
    comments = [line.lstrip("# ") for line in JOB.read_text().splitlines() if line[:1] == "#"]
    begin = next(n for n, line in enumerate(comments) if line.startswith("mkdir"))
    unpack = "\n".join(comments[begin : begin + 3])
    (tmp_path / "log").write_text(done.stdout)
    unpack = unpack.replace("kubectl logs job/v2-conformance", f"cat {tmp_path / 'log'}")
    subprocess.run(["sh", "-ec", unpack], cwd=work, check=True)
    for name in ("report.json", "report.html", "badge.svg"):
        assert (work / "reports" / name).read_bytes() == (reports / name).read_bytes()


def test_the_kubernetes_job_has_no_root_writes_to_volumes_alone_and_runs_once() -> None:
    job = yaml.safe_load(JOB.read_text())
    own, pod = container(), job["spec"]["template"]["spec"]
    context = own["securityContext"]
    assert context["runAsNonRoot"] is context["readOnlyRootFilesystem"] is True
    assert f"USER {context['runAsUser']}" in (ROOT / "Containerfile").read_text().splitlines()
    assert context["allowPrivilegeEscalation"] is False
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert (job["spec"]["backoffLimit"], pod["restartPolicy"]) == (0, "Never")
    mounted = {mount["name"] for mount in own["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}


@pytest.mark.parametrize("version", ["1.31", "latest"])
def test_kubernetes_would_take_the_job(version: str) -> None:
    validate: Any = pytest.importorskip(
        "kubernetes_validate", reason="kubernetes-validate is not installed: `tox -e templates`"
    )
    release = validate.latest_version() if version == "latest" else version
    validate.validate(yaml.safe_load(JOB.read_text()), release, strict=True)


def test_the_workflow_gives_the_action_what_it_takes() -> None:
    (job,) = yaml.safe_load(WORKFLOW.read_text())["jobs"].values()
    (step,) = (each for each in job["steps"] if "v2-conformance@" in each.get("uses", ""))
    action = yaml.safe_load((ACTION / "action.yml").read_text())
    assert step["with"].keys() <= action["inputs"].keys()
    assert "/.github/actions/v2-conformance@" in step["uses"]


def workflows_of_the_manual() -> list[str]:
    """The examples of docs/ci.md that are jobs of GitHub Actions, as whole workflows."""
    text = (ROOT / "docs" / "ci.md").read_text("utf-8")
    examples = re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    jobs = [example for example in examples if example.startswith("jobs:")]
    return ["on: push\n" + job.replace("    steps:", "    runs-on: x\n    steps:") for job in jobs]


def test_actionlint_passes_the_workflow_and_those_of_the_manual(tmp_path: Path) -> None:
    program = tool("actionlint")
    examples = workflows_of_the_manual()
    assert examples
    paths = [WORKFLOW]
    for number, text in enumerate(examples):
        paths.append(tmp_path / f"{number}.yml")
        paths[-1].write_text(text.replace("runs-on: x", "runs-on: ubuntu-latest"))
    done = subprocess.run(
        [program, *map(str, paths)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def tool(name: str) -> str:
    """The path of a program that `tox -e templates` installs; without it the test is skipped."""
    program = shutil.which(name, path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if program is None:
        pytest.skip(f"{name} is not installed: `tox -e templates`")
    return program


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ("vendor.github-actions", ACTION / "action.yml"),
        ("vendor.github-workflows", WORKFLOW),
        ("vendor.gitlab-ci", GITLAB),
    ],
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
    done = subprocess.run(
        [tool("hadolint"), str(ROOT / "Containerfile")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_the_container_has_no_root_and_its_base_names_no_registry() -> None:
    lines = (ROOT / "Containerfile").read_text().splitlines()
    assert any(line.startswith("USER ") and line.split()[1] not in ("0", "root") for line in lines)
    (base,) = (line.partition("=")[2] for line in lines if line.startswith("ARG BASE="))
    assert "/" not in base
    copied = [word for line in lines if line.startswith("COPY p") for word in line.split()[1:-1]]
    assert all((ROOT / name).exists() for name in copied)


PINNED = re.compile(r"@[0-9a-f]{40} # v[0-9.]+$")


def test_every_action_is_pinned_to_a_commit_and_every_image_to_a_digest() -> None:
    manuals = sorted((ROOT / "docs").glob("*.md"))
    for path in (ACTION / "action.yml", WORKFLOW, *manuals):
        for line in path.read_text("utf-8").splitlines():
            if re.match(r"\s*(?:- )?uses: ", line) and REPOSITORY not in line:
                assert PINNED.search(line), f"{path.name}: {line}"
            assert "@main" not in line, f"{path.name}: {line}"
    base = (ROOT / "Containerfile").read_text().partition("ARG BASE=")[2].splitlines()[0]
    image = yaml.safe_load(GITLAB.read_text())[".v2-conformance"]["image"]
    assert re.fullmatch(r"python:[0-9.]+-slim@sha256:[0-9a-f]{64}", base)
    assert image == base
    assert "@sha256:" in container()["image"]


def test_what_a_server_prints_is_kept_only_if_somebody_asks() -> None:
    action = yaml.safe_load((ACTION / "action.yml").read_text())
    assert action["inputs"]["server-log"]["default"] == "false"
    upload = action["runs"]["steps"][-1]["with"]
    assert "inputs.server-log != 'true' && format('!{0}/server.log'" in upload["path"]
    kept = yaml.safe_load(GITLAB.read_text())[".v2-conformance"]["artifacts"]
    assert kept["exclude"] == [f"{kept['paths'][0]}/server.log"]


def test_artifacts_of_one_workflow_have_names_of_their_own() -> None:
    name = yaml.safe_load((ACTION / "action.yml").read_text())["runs"]["steps"][-1]["with"]["name"]
    for part in ("inputs.artifact", "github.job", "strategy.job-index"):
        assert f"${{{{ {part} }}}}" in name
