"""A run of a model whose input is an image, as JSON: the command, and how much of it the server and
the wire take at least.

The model takes [-1, 3, 224, 224] and returns 1,000 sums. Its server is in this process.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import numpy as np
from replay import answered_requests, timed_replay
from sizes import size

from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.ordinary_models import ORDINARY_MODELS
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.files import load_report
from v2_conformance.suite.models import ModelContract, TensorSpec

SIDE = size(224, 8)
CLASSES = 1000
MODEL = replace(
    ORDINARY_MODELS["widener"],
    model="image",
    inputs=(TensorSpec("IMAGE", "FP32", (-1, 3, SIDE, SIDE)),),
    outputs=(TensorSpec("SCORES", "FP32", (-1, CLASSES)),),
)


class Classifier(Behavior):
    """Sums every thousandth element of each image."""

    def __init__(self, profiles: Collection[str]) -> None:
        super().__init__(profiles)
        self.models = {MODEL.model: MODEL}

    def run_model(self, model: ModelContract, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        image = inputs["IMAGE"]
        pixels = np.frombuffer(image.blob, "<f4").reshape(image.shape[0], -1).astype("<f8")
        padded = np.pad(pixels, ((0, 0), (0, -pixels.shape[1] % CLASSES)))
        with np.errstate(all="ignore"):
            sums = padded.reshape(image.shape[0], -1, CLASSES).sum(axis=1).astype("<f4")
        return {"SCORES": Tensor("SCORES", "FP32", sums.shape, sums.tobytes())}


def main() -> None:
    with ReferenceServer(Classifier) as server, tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "v2_conformance", "run", server.url, "--model", "image"]
        started = time.perf_counter()
        subprocess.run([*command, "--report-dir", folder], capture_output=True, check=False)
        seconds = time.perf_counter() - started
        report = load_report(Path(folder) / "report.json")
        bare_s = timed_replay(server.url, answered_requests(report))
    sent = sum(len(case.exchanges) for case in report.cases)
    print(json.dumps({"side": SIDE, "exchanges": sent, "seconds": seconds, "bare_s": bare_s}))


if __name__ == "__main__":
    main()
