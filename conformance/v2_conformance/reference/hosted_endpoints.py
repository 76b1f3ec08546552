"""The endpoints of Triton for SageMaker and Vertex AI: V2 messages in another envelope.

A request to one of them becomes one to the V2 protocol's own path, and its response goes back in
the endpoint's way. Every method makes one decision, so that a fault can replace just that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from enum import Enum

from v2_conformance.protocol.message import dump_json
from v2_conformance.protocol.names import (
    HEADER_LENGTH,
    JSON_TYPE,
    SAGEMAKER_BINARY,
    SIZE_PARAMETER,
    VERTEX_BINARY,
    VERTEX_REDIRECT,
)
from v2_conformance.reference.http_messages import Rejected, Request, Response

VERTEX_ROUTE = "/predict"
"""The path of the endpoint for Vertex AI, where the platform lets a container choose it."""

_SAGEMAKER_MODEL = re.compile(r"/models/([^/]+)(/invoke)?")
# RFC 9110, section 5.6.6; a value in quotes has no semicolon in it here.
_PARAMETER = re.compile(r"[ \t]*;[ \t]*([^;=]*)=([^;]*)")


class Hosting(Enum):
    """The endpoint that a request is for."""

    SAGEMAKER = SAGEMAKER_BINARY
    VERTEX = VERTEX_BINARY


class HostedEndpoints:
    """Behavior specific to the endpoints. All methods raise Rejected for what they refuse."""

    def hosting(self, path: str) -> Hosting | None:
        """The endpoint that a path belongs to, None for those of the V2 protocol."""
        if path == VERTEX_ROUTE:
            return Hosting.VERTEX
        ours = path == "/ping" or _SAGEMAKER_MODEL.fullmatch(path) is not None
        return Hosting.SAGEMAKER if ours else None

    def unwrapped(self, request: Request, path: str, hosting: Hosting) -> Request:
        """The request as the V2 protocol has it, with the header length in its own field."""
        name = HEADER_LENGTH.lower()
        headers = [field for field in request.headers if field[0] != name]
        size = self.size_in_type(request, hosting)
        if size is not None:
            headers.append((name, size))
        method, target = request.method, path
        if hosting is Hosting.VERTEX:
            method, target = self.redirected(request)
        elif path == "/ping":
            target = "/v2/health/ready"
        elif path.endswith("/invoke"):
            target = f"/v2{path.removesuffix('/invoke')}/infer"
        else:
            target = f"/v2{path}"
        return replace(request, method=method, target=target, headers=tuple(headers))

    def redirected(self, request: Request) -> tuple[str, str]:
        """The method and the path that a request to the endpoint for Vertex AI means."""
        if request.method != "POST":
            raise Rejected("only POST is served here", 405, (("Allow", "POST"),))
        paths = request.values(VERTEX_REDIRECT)
        if len(paths) != 1:
            raise Rejected(f"there is no default model: {VERTEX_REDIRECT} must name a path")
        posts = paths[0].endswith("/infer") or paths[0] == "v2/repository/index"
        return ("POST" if posts else "GET"), f"/{paths[0]}"

    def size_in_type(self, request: Request, hosting: Hosting) -> str | None:
        """The header length as Content-Type has it, None if it has none."""
        for value in request.values("content-type"):
            media_type, _, _ = value.partition(";")
            if not self.is_binary_type(media_type.rstrip(" \t"), hosting):
                continue
            for name, size in self.parameters(value[len(media_type) :]):
                if self.is_size(name):
                    return self.read_size(size)
        return None

    def is_binary_type(self, media_type: str, hosting: Hosting) -> bool:
        """Return True if it is the endpoint's type for messages with blobs, in whatever letter
        case."""
        return media_type.lower() == hosting.value

    def parameters(self, text: str) -> Iterator[tuple[str, str]]:
        """Name and value of each parameter of a media type."""
        for found in _PARAMETER.finditer(text):
            yield found[1], found[2]

    def is_size(self, name: str) -> bool:
        """Return True if a parameter is the header length: names have no letter case."""
        return name.lower() == SIZE_PARAMETER

    def read_size(self, text: str) -> str:
        """Return what is read as the header length, which is then checked as it is in a field."""
        return text

    def wrapped(self, response: Response, hosting: Hosting) -> Response:
        """A response as the endpoint sends it: that for Vertex AI has the ordinary header field."""
        if hosting is Hosting.VERTEX:
            return response
        headers = dict(response.headers)
        size = headers.pop(HEADER_LENGTH, None)
        if size is not None:
            headers["Content-Type"] = self.sized_type(hosting, size, response)
        return replace(response, headers=tuple(headers.items()))

    def sized_type(self, hosting: Hosting, size: str, response: Response) -> str:
        """The Content-Type of a response whose header length is `size`."""
        return f"{hosting.value};{SIZE_PARAMETER}={size}"

    def loaded_model(self, name: str) -> Response:
        """Return what the endpoint for SageMaker says of a model that it has."""
        body = dump_json({"modelName": name, "modelUrl": f"/opt/ml/models/{name}"})
        return Response(200, (("Content-Type", JSON_TYPE),), (body,))
