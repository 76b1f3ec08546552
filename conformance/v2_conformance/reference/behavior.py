"""The behavior of the reference server, without sockets: a request in, a response out.

A run without a URL tests this server, and it must pass everything. It shares no judgment with the
suite: if both understood a requirement wrongly in the same way, no test would show it. What both
use is the room `protocol`, which has tests of its own.

Each method makes one decision, such as what to do with a negative size, and the requirement that it
follows stands in its docstring. So a *fault* (v2_mutants) is a subclass that decides one thing
wrongly, and a *variant* one that decides one thing otherwise, as the documents allow. That is why
there are many small methods, and why none of them has a second way through it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import unquote

import numpy as np

from v2_conformance.protocol.datatypes import Buffer, ElementError, element_count
from v2_conformance.protocol.message import MessageError, Tensor
from v2_conformance.protocol.names import EXTENSION, SERVER_PROFILES
from v2_conformance.reference.http_messages import (
    Breach,
    ContentCoding,
    Rejected,
    Request,
    Response,
)
from v2_conformance.reference.ordinary_models import ORDINARY_MODELS, compute
from v2_conformance.reference.request_reader import InferenceRequest, RequestReader
from v2_conformance.reference.response_writer import ResponseWriter
from v2_conformance.suite.models import ModelContract, TensorSpec, contract
from v2_conformance.version import __version__

SERVER_NAME = "v2-conformance-reference"
IDLE_SECONDS = 60.0

_ORIGIN = re.compile(r"(?i)https?://[^/]*")


class Behavior(RequestReader, ResponseWriter, ContentCoding):
    """A server that meets every requirement. A mutant replaces one of its decisions. One instance
    serves all connections of a server, so a fault may keep state in it."""

    def __init__(self, profiles: Collection[str] = SERVER_PROFILES) -> None:
        self.profiles = frozenset(profiles) | {"binary"}
        self.models = {
            model.model: model for model in contract().values() if model.profile in self.profiles
        } | ORDINARY_MODELS

    # --- requests ----------------------------------------------------------------------------

    def handle(self, request: Request) -> Response:
        """The response to any request; never raises."""
        try:
            return self.route(request)
        except Rejected as rejection:
            return self.rejection_response(rejection)
        except (MessageError, ElementError) as error:
            return self.error(400, str(error))
        except Exception as error:
            return self.error(500, f"internal error: {type(error).__name__}: {error}")

    def check_head(self, request: Request) -> None:
        """Raises Rejected to refuse a request before its body is there: `request` has none yet."""

    def finish(self, request: Request, response: Response) -> Response:
        """The response as it is sent, with the framing that this server chooses."""
        return response

    def rejection_response(self, rejection: Rejected) -> Response:
        """The error for a request that was refused."""
        return self.error(rejection.status, str(rejection), rejection.headers)

    def route(self, request: Request) -> Response:
        """Do what method and path ask for. Raises Rejected, MessageError or ElementError."""
        path = self.target_path(request)
        # A slash that is encoded belongs to its segment (RFC 3986, section 2.2).
        match [unquote(segment) for segment in path.split("/")]:
            case ["", "v2", *rest] if not any(rest):
                return self.server_metadata(_allow(request, "GET"))
            case ["", "v2", "health", "live" | "ready"]:
                _allow(request, "GET")
                return Response(200)
            case ["", "v2", "repository", "index"]:
                return self.repository_index(_allow(request, "POST"))
            case ["", "v2", "models", name, "versions", version, *action] if name and version:
                return self.of_model(request, name, version, action)
            case ["", "v2", "models", name, *action] if name:
                return self.of_model(request, name, None, action)
        raise _nothing_at(path)

    def of_model(
        self, request: Request, name: str, version: str | None, action: list[str]
    ) -> Response:
        """Do what a path asks of a model; `action` are the segments after it. See `route`."""
        if action not in ([], ["ready"], ["infer"]):
            raise _nothing_at(self.target_path(request))
        model = self.find_model(name, version)
        if action == ["infer"]:
            return self.infer(model, _allow(request, "POST"))
        _allow(request, "GET")
        return Response(200) if action else self.model_metadata(model)

    def target_path(self, request: Request) -> str:
        """The path of the request's target, which may have the absolute form (RFC 9112, 3.2.2)."""
        return _ORIGIN.sub("", request.target).partition("?")[0]

    def find_model(self, name: str, version: str | None) -> ModelContract:
        """The model called `name`. Every model has one version, "1"."""
        model = self.models.get(name)
        if model is None or version not in (None, "1"):
            raise Rejected(f"unknown model {name[:60]!a}, version {(version or '1')[:60]!a}", 404)
        return model

    # --- discovery ---------------------------------------------------------------------------

    def extensions(self) -> list[str]:
        """The extensions that the server claims (P1)."""
        return [EXTENSION]

    def server_metadata(self, request: Request) -> Response:
        """GET /v2."""
        document = {"name": SERVER_NAME, "version": __version__, "extensions": self.extensions()}
        return self.json_response(document)

    def model_metadata(self, model: ModelContract) -> Response:
        """GET /v2/models/NAME."""
        document = {
            "name": model.model,
            "versions": self.versions(model),
            "platform": SERVER_NAME,
            "inputs": [spec.metadata() for spec in model.inputs],
            "outputs": [spec.metadata() for spec in model.outputs],
        }
        return self.json_response(document)

    def versions(self, model: ModelContract) -> list[str]:
        """The versions of a model, in its metadata."""
        return ["1"]

    def repository_index(self, request: Request) -> Response:
        """POST /v2/repository/index: every model is ready."""
        return self.json_response(
            [{"name": name, "version": "1", "state": "READY", "reason": ""} for name in self.models]
        )

    # --- inference ---------------------------------------------------------------------------

    def infer(self, model: ModelContract, request: Request) -> Response:
        """POST /v2/models/NAME/infer."""
        decoded = self.decode_request(request)
        length = self.header_length(decoded)
        if length == 0:
            inference = self.read_zero_header_length(model, decoded)
        else:
            inference = self.read_request(model, decoded, length)
        outputs = self.run_model(model, inference.inputs)
        response = self.inference_response(model, inference, outputs)
        return self.encode_response(request, response)

    def read_zero_header_length(self, model: ModelContract, request: Request) -> InferenceRequest:
        """A header length of 0: a raw request (W1), or an error if raw is not claimed (W11)."""
        if "raw" in self.profiles:
            return self.read_raw(model, request.body)
        raise Rejected("a header length of 0 leaves no JSON, and raw requests are not supported")

    def run_model(self, model: ModelContract, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """All outputs of the model by name."""
        if model.does == "first_three":
            return self.first_three(model, inputs)
        if model.model in ORDINARY_MODELS:
            made = list(compute(model, inputs).values())
        else:
            made = [inputs[spec.name] for spec in model.inputs]
        return {
            spec.name: self.output_tensor(spec, tensor)
            for spec, tensor in zip(model.outputs, made, strict=True)
        }

    def output_tensor(self, output: TensorSpec, tensor: Tensor) -> Tensor:
        """An identity model's output: the input's shape and bits."""
        return Tensor(output.name, output.datatype, tensor.shape, tensor.blob)

    def first_three(self, model: ModelContract, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """The first three elements as [3, 1], and their negation, exact to the bit."""
        tensor = inputs[model.inputs[0].name]
        if element_count(tensor.shape) < 3:
            raise Rejected(f"{model.model} needs at least three elements")
        bits = np.frombuffer(tensor.blob, "<u4", count=3)
        negated = bits ^ np.uint32(0x80000000)
        if tensor.datatype == "INT32":
            negated = np.negative(bits.view("<i4")).view("<u4")
        values: list[Buffer] = [bits.tobytes(), negated.tobytes()]
        return {
            spec.name: Tensor(spec.name, spec.datatype, spec.dims, blob)
            for spec, blob in zip(model.outputs, values, strict=True)
        }

    # --- the connection and the server -------------------------------------------------------

    def http_error(self, rejection: Rejected) -> Response:
        """The answer to what is not HTTP, or is too large: that of every other refused request."""
        return self.rejection_response(rejection)

    def closes_in_stages(self) -> bool:
        """Return True if the rest of a refused request is read before its connection is closed."""
        return True

    def before_expected_body(self, request: Request) -> bytes:
        """Return what a client is sent that waits for 100 Continue before it sends the body."""
        return b"HTTP/1.1 100 Continue\r\n\r\n"

    def farewell(self) -> bytes:
        """Return what a client is sent before its idle connection is closed: nothing."""
        return b""

    def serves_one_at_a_time(self) -> bool:
        """Return True if a connection waits until the one before it is closed."""
        return False

    def idle_seconds(self) -> float:
        """Return how long a connection is kept without another request."""
        return IDLE_SECONDS

    def most_chunks(self) -> int:
        """Return how many chunks a body may have (J7)."""
        return 2**16

    def listening(self) -> bool:
        """Return True if the server accepts connections, as asked after each response (R3)."""
        return True

    def broken_off(self, breach: Breach) -> None:
        """Told that a client broke off, which does not concern other clients (C8)."""

    def received(self, data: bytes) -> bytes:
        """Return what is read of the bytes from the socket: all of them, unchanged (C8)."""
        return data

    def read_ahead(self, data: bytes) -> bytes:
        """Return the bytes after a request that are read as the next one: all of them (V2)."""
        return data

    def answers_with_body(self, request: Request, response: Response) -> bool:
        """Return False for a HEAD (C5; RFC 9110, section 9.3.2)."""
        return request.method != "HEAD"

    def left_on_connection(self, request: Request, response: Response) -> bytes:
        """The bytes of this request to read as the start of the next one: none (C5)."""
        return b""


def _nothing_at(path: str) -> Rejected:
    return Rejected(f"nothing is served at {unquote(path)[:200]!a}", 404)


def _allow(request: Request, method: str) -> Request:
    if request.method == method or (request.method == "HEAD" and method == "GET"):
        return request
    raise Rejected(f"{request.method} is not allowed at this path", 405, (("Allow", method),))
