"""The manifests of the kit kubernetes, by the schemas of Kubernetes and of KServe, offline.

Kubernetes' own schemas come with kubernetes-validate (`tox -e kits`), KServe's types with its
package (`tox -e kserve`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from v2_conformance.errors import UsageError
from v2_conformance.kits import KITS, write_kit
from v2_conformance.suite.models import contract

Manifest = dict[str, Any]


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kubernetes")
    write_kit("kubernetes", folder, image="suite:1", server_image="host:5000/team/kserve@sha256:0a")
    return folder


@pytest.fixture(scope="module")
def manifests(kit: Path) -> dict[tuple[str, str], Manifest]:
    """Every manifest by its kind and name."""
    return {
        (manifest["kind"], manifest["metadata"]["name"]): manifest
        for path in sorted(kit.glob("*.yaml"))
        for manifest in yaml.safe_load_all(path.read_text("utf-8"))
    }


def _pods(manifests: dict[tuple[str, str], Manifest]) -> Iterator[Manifest]:
    """The specification of every pod."""
    for (kind, _name), manifest in manifests.items():
        spec = manifest.get("spec", {})
        if kind == "Job":
            yield spec["template"]["spec"]
        elif kind == "Pod":
            yield spec
        elif kind == "InferenceService":
            yield {key: spec["predictor"][key] for key in ("containers", "volumes")}


def test_server_and_both_ways_to_run(manifests: dict[tuple[str, str], Manifest]) -> None:
    assert set(manifests) == {
        ("ConfigMap", "v2-contract"),
        ("InferenceService", "v2-contract"),
        ("Service", "v2-contract-direct"),
        ("PersistentVolumeClaim", "v2-conformance-reports"),
        ("Pod", "v2-conformance-reports"),
        ("Job", "v2-conformance"),
        ("Job", "v2-conformance-shards"),
    }


@pytest.mark.parametrize("version", ["1.31", "latest"])
def test_kubernetes_would_take_them(
    manifests: dict[tuple[str, str], Manifest], version: str
) -> None:
    validate: Any = pytest.importorskip(
        "kubernetes_validate", reason="kubernetes-validate is not installed: `tox -e kits`"
    )
    release = validate.latest_version() if version == "latest" else version
    others = [each for each in manifests.values() if each["kind"] != "InferenceService"]
    # A predictor has the fields of a pod, besides KServe's own.
    pods = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": spec}
        for spec in _pods(manifests)
    ]
    for manifest in others + pods:
        validate.validate(manifest, release, strict=True)


def test_kserve_knows_every_field(manifests: dict[tuple[str, str], Manifest]) -> None:
    pytest.importorskip("kserve", reason="kserve is not installed: `tox -e kserve`")
    from kserve.models import V1beta1InferenceServiceSpec, V1beta1PredictorSpec

    spec = manifests["InferenceService", "v2-contract"]["spec"]
    assert set(spec) <= set(V1beta1InferenceServiceSpec.attribute_map.values())
    assert set(spec["predictor"]) <= set(V1beta1PredictorSpec.attribute_map.values())


def test_no_container_is_root(manifests: dict[tuple[str, str], Manifest]) -> None:
    containers = [each for pod in _pods(manifests) for each in pod["containers"]]
    assert len(containers) == 4
    for container in containers:
        context = container["securityContext"]
        assert context["runAsNonRoot"] is True
        assert context["runAsUser"] > 0
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}


@pytest.mark.parametrize("name", ["v2-conformance", "v2-conformance-shards"])
def test_a_job_runs_a_pod_once(name: str, manifests: dict[tuple[str, str], Manifest]) -> None:
    spec = manifests["Job", name]["spec"]
    assert spec["backoffLimit"] == 0
    assert spec["template"]["spec"]["restartPolicy"] == "Never"


def test_commands_reach_the_server(manifests: dict[tuple[str, str], Manifest]) -> None:
    from v2_conformance.cli.run.command import run

    port = manifests["Service", "v2-contract-direct"]["spec"]["ports"][0]
    predictor = manifests["InferenceService", "v2-contract"]["spec"]["predictor"]
    assert port["targetPort"] == predictor["containers"][0]["ports"][0]["containerPort"]
    assert f"--port={port['targetPort']}" in predictor["containers"][0]["args"]
    for name in ("v2-conformance", "v2-conformance-shards"):
        pod = manifests["Job", name]["spec"]["template"]["spec"]
        command = pod["containers"][0]["command"]
        assert " ".join(command).startswith(KITS["kubernetes"].command)
        program, _run, *arguments = command
        assert program == "v2-conformance"
        # What Kubernetes fills in.
        arguments = [argument.replace("$(SHARD)", "3") for argument in arguments]
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("JOB_COMPLETION_INDEX", "3")
            parsed = run.make_context("run", arguments).params
        assert parsed["url"] == f"http://v2-contract-direct:{port['port']}"
        mounts = [mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]]
        assert str(parsed["report_dir"].parent) in mounts


def test_completions_are_shards(manifests: dict[tuple[str, str], Manifest]) -> None:
    spec = manifests["Job", "v2-conformance-shards"]["spec"]
    assert spec["completionMode"] == "Indexed"
    command = spec["template"]["spec"]["containers"][0]["command"]
    assert f"--shard=auto/{spec['completions']}" in command
    # They have one server, which a malformed request may kill.
    assert spec["parallelism"] == 1


def test_the_server_gets_the_files_of_the_kserve_kit(
    manifests: dict[tuple[str, str], Manifest], tmp_path: Path
) -> None:
    write_kit("kserve", tmp_path)
    data = manifests["ConfigMap", "v2-contract"]["data"]
    assert data == {name: (tmp_path / name).read_text("utf-8") for name in data}
    assert {"server.py", "models.json"} == set(data)
    assert len(json.loads(data["models.json"])) == len(contract())


def test_images_are_those_that_were_given(manifests: dict[tuple[str, str], Manifest]) -> None:
    images = [each["image"] for pod in _pods(manifests) for each in pod["containers"]]
    assert sorted(set(images)) == ["host:5000/team/kserve@sha256:0a", "suite:1"]


def test_without_images_no_registry_is_named(tmp_path: Path) -> None:
    write_kit("kubernetes", tmp_path)
    for path in tmp_path.glob("*.yaml"):
        for image in re.findall(r"^ *image: (.*)$", path.read_text("utf-8"), re.MULTILINE):
            assert re.fullmatch(r"[a-z0-9-]+(:[a-z0-9.]+)?", image)


@pytest.mark.parametrize("image", ["", "two words", "-x", "a\nb", "UPPER", "x: {y: z}"])
def test_what_is_not_the_name_of_an_image_is_refused(image: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^--image: .* is not the name of an image") as refused:
        write_kit("kubernetes", tmp_path, image=image)
    assert "\n" not in str(refused.value)
    assert not list(tmp_path.iterdir())
