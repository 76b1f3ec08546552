"""What the reference server does, free of sockets: a request in, a response out."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any
from urllib.parse import unquote

import numpy as np

from v2_conformance import __version__
from v2_conformance.protocol.datatypes import Buffer, ElementError, element_count
from v2_conformance.protocol.message import MessageError, Tensor
from v2_conformance.reference.answering import Answering
from v2_conformance.reference.coding import Coding
from v2_conformance.reference.exchange import Rejected, Request, Response
from v2_conformance.reference.reading import Call, Reading
from v2_conformance.suite.models import ModelContract, TensorSpec, contract

SERVER_NAME = "v2-conformance-reference"
EXTENSION = "binary_tensor_data"
PROFILES = ("binary", "raw", "bf16", "compression")

_MODEL = re.compile(r"/v2/models/([^/]+)(?:/versions/([^/]+))?(?:/(ready|infer))?")


class Behaviour(Reading, Answering, Coding):
    """A server that follows every requirement. A fault is a subclass that replaces one decision.

    One instance serves all connections of a server, so a fault may keep state in it.
    """

    def __init__(self, profiles: Collection[str] = PROFILES) -> None:
        self.profiles = frozenset(profiles) | {"binary"}
        self.models = {
            model.model: model for model in contract().values() if model.profile in self.profiles
        }

    # --- requests ----------------------------------------------------------------------------

    def handle(self, request: Request) -> Response:
        """The response to any request; never raises."""
        try:
            return self.route(request)
        except Rejected as rejection:
            return self.error(rejection.status, str(rejection), rejection.headers)
        except (MessageError, ElementError) as error:
            return self.error(400, str(error))
        except Exception as error:
            return self.error(500, f"internal error: {type(error).__name__}: {error}")

    def route(self, request: Request) -> Response:
        """Find what the path names and do it. Raises Rejected, MessageError or ElementError."""
        path = unquote(request.target.partition("?")[0])
        if path.rstrip("/") == "/v2":
            return self.server_metadata(_allow(request, "GET"))
        if path in ("/v2/health/live", "/v2/health/ready"):
            _allow(request, "GET")
            return Response(200)
        if path == "/v2/repository/index":
            return self.repository_index(_allow(request, "POST"))
        match = _MODEL.fullmatch(path)
        if not match:
            raise Rejected(f"there is nothing at {path}", 404)
        model = self.find_model(match[1], match[2])
        if match[3] == "infer":
            return self.infer(model, _allow(request, "POST"))
        _allow(request, "GET")
        return Response(200) if match[3] == "ready" else self.model_metadata(model)

    def find_model(self, name: str, version: str | None) -> ModelContract:
        """The model called `name`; its only version is "1"."""
        model = self.models.get(name)
        if model is None or version not in (None, "1"):
            raise Rejected(f"there is no model {name} version {version or 1}", 404)
        return model

    # --- discovery ---------------------------------------------------------------------------

    def extensions(self) -> list[str]:
        """The extensions that the server says it has (P1)."""
        return [EXTENSION]

    def server_metadata(self, request: Request) -> Response:
        """GET /v2."""
        extensions = self.extensions()
        return self.json_response(
            {"name": SERVER_NAME, "version": __version__, "extensions": extensions}
        )

    def model_metadata(self, model: ModelContract) -> Response:
        """GET /v2/models/NAME."""
        return self.json_response(
            {
                "name": model.model,
                "versions": ["1"],
                "platform": SERVER_NAME,
                "inputs": [_tensor_metadata(spec) for spec in model.inputs],
                "outputs": [_tensor_metadata(spec) for spec in model.outputs],
            }
        )

    def repository_index(self, request: Request) -> Response:
        """POST /v2/repository/index: every model is ready."""
        return self.json_response(
            [{"name": name, "version": "1", "state": "READY", "reason": ""} for name in self.models]
        )

    # --- inference ---------------------------------------------------------------------------

    def infer(self, model: ModelContract, request: Request) -> Response:
        """POST /v2/models/NAME/infer."""
        asked, request = request, self.decode_request(request)
        length = self.header_length(request)
        if length == 0:
            call = self.read_zero_length(model, request)
        else:
            call = self.read_call(model, request, length)
        response = self.answer(model, call, self.compute(model, call.inputs))
        return self.encode_response(asked, response)

    def read_zero_length(self, model: ModelContract, request: Request) -> Call:
        """A header length of 0: a raw request (W1), or no request at all (W11)."""
        if "raw" not in self.profiles:
            raise Rejected("a header length of 0 leaves no JSON, and raw requests are not served")
        return self.read_raw(model, request.body)

    def compute(self, model: ModelContract, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """All outputs of the model, by name."""
        if model.does == "first_three":
            return self.first_three(model, inputs)
        return {
            output.name: self.output_tensor(output, inputs[spec.name])
            for spec, output in zip(model.inputs, model.outputs, strict=True)
        }

    def output_tensor(self, output: TensorSpec, tensor: Tensor) -> Tensor:
        """An identity model's output: the input's shape and bits."""
        return Tensor(output.name, output.datatype, tensor.shape, tensor.blob)

    def first_three(self, model: ModelContract, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """The first three FP32 elements as [3, 1], and their negation (by the sign bit: exact)."""
        tensor = inputs[model.inputs[0].name]
        if element_count(tensor.shape) < 3:
            raise Rejected(f"{model.model} needs at least three elements")
        bits = np.frombuffer(tensor.blob, "<u4", count=3)
        values: list[Buffer] = [bits.tobytes(), (bits ^ np.uint32(0x80000000)).tobytes()]
        return {
            spec.name: Tensor(spec.name, spec.datatype, spec.dims, blob)
            for spec, blob in zip(model.outputs, values, strict=True)
        }

    # --- life --------------------------------------------------------------------------------

    def listening(self) -> bool:
        """Whether the server goes on accepting connections; asked after every response (R3)."""
        return True

    def left_over(self, request: Request, response: Response) -> bytes:
        """Bytes of this request that are taken for the start of the next one: none (C5)."""
        return b""


def _allow(request: Request, method: str) -> Request:
    if request.method == method or (request.method == "HEAD" and method == "GET"):
        return request
    raise Rejected(f"{request.method} is not allowed here", 405, (("Allow", method),))


def _tensor_metadata(spec: TensorSpec) -> dict[str, Any]:
    return {"name": spec.name, "datatype": spec.datatype, "shape": list(spec.dims)}
