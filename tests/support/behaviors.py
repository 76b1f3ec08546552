"""Servers that give hostile answers, or whose models compute something else, or differently."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np

from support.responses import HOSTILE
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.suite.models import TensorSpec

Floats = np.ndarray[Any, Any]


class OtherFloats(Behavior):
    """Models whose outputs of FP32 are what `other` makes of the right values."""

    def other(self, output: TensorSpec, values: Floats) -> Floats:
        """Return what an output has in place of these values."""
        raise NotImplementedError

    def output_tensor(self, output: TensorSpec, tensor: Tensor) -> Tensor:
        made = super().output_tensor(output, tensor)
        if made.datatype != "FP32":
            return made
        values = self.other(output, np.frombuffer(made.blob, "<f4"))
        return Tensor(made.name, made.datatype, made.shape, values.astype("<f4").tobytes())


class Noisy(OtherFloats):
    """A model whose numbers differ a little from answer to answer."""

    noise = itertools.count(1)

    def other(self, output: TensorSpec, values: Floats) -> Floats:
        noisy: Floats = values + np.float32(1e-4) * np.float32(next(self.noise) % 9)
        return noisy


class Hostile(Behavior):
    """It answers with markup, control characters, and commands for CI services."""

    def server_metadata(self, request: Request) -> Response:
        return self.json_response({"name": HOSTILE, "version": HOSTILE, "extensions": [HOSTILE]})

    def json_response(self, document: object) -> Response:
        return Response(200, (), (json.dumps(document).encode(),))

    def handle(self, request: Request) -> Response:
        if request.target.endswith("identity_int32/infer"):
            return Response(500, (), (HOSTILE.encode() + b"::set-env name=PATH::x " * 20,))
        return super().handle(request)
