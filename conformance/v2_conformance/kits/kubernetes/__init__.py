"""Manifests that run the suite in a Kubernetes cluster, against the kserve kit on KServe."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import yaml

from v2_conformance.errors import UsageError
from v2_conformance.kits import kserve
from v2_conformance.kits.kit import Kit
from v2_conformance.version import __version__

Manifest = dict[str, Any]

SHARDS = 8
"""How many pods the Indexed Job has, one after the other."""
_SERVER = "v2-contract"
_SUITE = "v2-conformance"
_REPORTS = "v2-conformance-reports"
_PORT = 8080
# Not the Service that KServe makes: that has another name, port or gateway in every version and
# deployment mode, and a gateway changes what is tested.
_SERVICE = "v2-contract-direct"
_URL = f"http://{_SERVICE}:{_PORT}"
_USER = 65532
_INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
# What the container engines take, such as name:tag, host:port/path/name:tag and name@sha256:digest.
_IMAGE = re.compile(r"[a-z0-9][a-z0-9._:/-]*(:[\w][\w.-]*)?(@[a-z0-9]+:[0-9a-f]+)?")


def write(
    directory: Path,
    image: str = f"v2-conformance:{__version__}",
    server_image: str = "kserve-server",
) -> list[Path]:
    """Write server.yaml, reports.yaml, job.yaml and indexed-job.yaml.

    `image` has v2-conformance and `server_image` a Python with kserve. Raises UsageError for a
    name that no image can have.
    """
    for option, name in (("--image", image), ("--server-image", server_image)):
        if _IMAGE.fullmatch(name) is None:
            raise UsageError(f"{option}: {name!r} is not the name of an image, such as name:tag")
    files = {
        "server.yaml": [_config_map(), _inference_service(server_image), _service()],
        "reports.yaml": [_claim(), _reader(image)],
        "job.yaml": [_job(image)],
        "indexed-job.yaml": [_indexed_job(image)],
    }
    written = []
    for name, manifests in files.items():
        text = yaml.dump_all(manifests, Dumper=_Readable, sort_keys=False, width=100)
        (directory / name).write_text(text, encoding="utf-8", newline="\n")
        written.append(directory / name)
    return written


class _Readable(yaml.SafeDumper):
    """Writes files as they are, line by line."""


def _represent_text(dumper: _Readable, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Readable.add_representer(str, _represent_text)


def _config_map() -> Manifest:
    """The files of the kserve kit, which the server's pod mounts."""
    with tempfile.TemporaryDirectory() as folder:
        files = kserve.write(Path(folder))
        data = {path.name: path.read_text(encoding="utf-8") for path in files}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": _SERVER},
        "data": data,
    }


def _inference_service(image: str) -> Manifest:
    container = {
        "name": "kserve-container",
        "image": image,
        "command": ["python", "/kit/server.py"],
        "args": [f"--port={_PORT}"],
        "ports": [{"containerPort": _PORT, "protocol": "TCP"}],
        "readinessProbe": {"httpGet": {"path": "/v2/health/ready", "port": _PORT}},
        "securityContext": _restricted(),
        "volumeMounts": [{"name": "kit", "mountPath": "/kit", "readOnly": True}],
    }
    predictor = {
        # A server that scales to zero or to many is not one server.
        "minReplicas": 1,
        "maxReplicas": 1,
        "containers": [container],
        "volumes": [{"name": "kit", "configMap": {"name": _SERVER}}],
    }
    return {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {"name": _SERVER},
        "spec": {"predictor": predictor},
    }


def _service() -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": _SERVICE},
        "spec": {
            "selector": {"serving.kserve.io/inferenceservice": _SERVER},
            "ports": [{"name": "http", "port": _PORT, "targetPort": _PORT}],
        },
    }


def _claim() -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": _REPORTS},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


def _reader(image: str) -> Manifest:
    """A pod that stays, for `kubectl cp` and `kubectl exec`: pods of Jobs have ended by then."""
    pause = ["python", "-c", "import signal; signal.pause()"]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": _REPORTS},
        "spec": {**_suite_pod(image, pause), "terminationGracePeriodSeconds": 0},
    }


def _job(image: str) -> Manifest:
    command = [*_RUN, "--report-dir=/reports/run"]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": _SUITE},
        # A server that is not conformant is no reason to test it again.
        "spec": {"backoffLimit": 0, "template": {"spec": _suite_pod(image, command)}},
    }


def _indexed_job(image: str) -> Manifest:
    command = [*_RUN, f"--shard=auto/{SHARDS}", "--report-dir=/reports/shard-$(SHARD)"]
    shard = {"name": "SHARD", "valueFrom": {"fieldRef": {"fieldPath": _INDEX}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"{_SUITE}-shards"},
        "spec": {
            "completionMode": "Indexed",
            "completions": SHARDS,
            # All pods share the server: two at a time would be blamed for each other's requests.
            "parallelism": 1,
            "backoffLimit": 0,
            "template": {"spec": _suite_pod(image, command, [shard])},
        },
    }


_RUN = ["v2-conformance", "run", _URL, "--wait-ready=600"]


def _suite_pod(image: str, command: list[str], env: list[Manifest] | None = None) -> Manifest:
    container = {
        "name": "suite",
        "image": image,
        "command": command,
        "workingDir": "/tmp",
        "env": [{"name": "HOME", "value": "/tmp"}, *(env or [])],
        "securityContext": {**_restricted(), "readOnlyRootFilesystem": True},
        "resources": {
            "requests": {"cpu": "500m", "memory": "512Mi"},
            "limits": {"memory": "2Gi"},
        },
        "volumeMounts": [
            {"name": "reports", "mountPath": "/reports"},
            {"name": "tmp", "mountPath": "/tmp"},
        ],
    }
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "securityContext": {"fsGroup": _USER},
        "containers": [container],
        "volumes": [
            {"name": "reports", "persistentVolumeClaim": {"claimName": _REPORTS}},
            {"name": "tmp", "emptyDir": {}},
        ],
    }


def _restricted() -> Manifest:
    """Return what the Pod Security Standard "restricted" asks of a container."""
    return {
        "runAsNonRoot": True,
        "runAsUser": _USER,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }


KIT = Kit(write, " ".join(_RUN), options=frozenset({"image", "server_image"}))
