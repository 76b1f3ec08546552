"""Faults of messages over 64 KiB that only one of a server's ways shows (V3, W1, C5, C6)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Blobs, Framing, Request, Response
from v2_conformance.reference.request_reader import InferenceRequest
from v2_conformance.suite.models import ModelContract
from v2_mutants.registry import Right, What, fault

_BUFFER = 1 << 16
_MEBIBYTE = 1 << 20
_LONG_ANSWER, _LARGEST_ANSWER = 1 << 18, 1 << 24
_BUFFERS = 4


def _cut_if(when: Callable[[Request], object]) -> What[tuple[memoryview, Blobs]]:
    """Return what reads only 64 KiB of the blobs of such a request, and zeros for the rest."""

    def what(
        right: Right[tuple[memoryview, Blobs]], request: Request, length: int | None
    ) -> tuple[memoryview, Blobs]:
        text, blobs = right()
        if len(blobs.view) <= _BUFFER or not when(request):
            return text, blobs
        read = bytes(blobs.view[:_BUFFER]).ljust(len(blobs.view), b"\0")
        return text, replace(blobs, view=memoryview(read))

    return what


def _has_trailers(request: Request) -> bool:
    return bool(request.framing) and not request.framing.endswith(b"\r\n0\r\n\r\n")


for _name, _where, _when in (
    ("after-continue", "After 100 Continue", lambda request: request.values("expect")),
    ("of-http-1.0", "Of an HTTP/1.0 request", lambda request: request.version == "1.0"),
    ("before-trailers", "If a trailer follows", _has_trailers),
    ("at-versioned-path", "At a path with a version",
     lambda request: "/versions/" in request.target),
    ("for-absolute-form", "With a URL as its target", lambda request: request.target[0] != "/"),
):  # fmt: skip
    fault(f"long-blobs-{_name}-cut", "V3", Behaviour.split_body)(
        f"{_where}, only 64 KiB of the blobs are read.", _cut_if(_when)
    )


@fault("long-answers-of-http-1.0-in-chunks", "V3", Behaviour.finish)
def _(right: Right[Response], request: Request, response: Response) -> Response:
    """Answers over 64 KiB are sent in chunks, to HTTP/1.0 clients as well."""
    found = right()
    long = found.size > _BUFFER and request.version == "1.0"
    return replace(found, framing=Framing.CHUNKS) if long else found


@fault("coded-answers-cut-at-a-mebibyte", "V3", Behaviour.compress)
def _(right: Right[tuple[Buffer, ...]], coding: str, body: Sequence[Buffer]) -> tuple[Buffer, ...]:
    """Of an answer over 1 MiB, only that much is compressed."""
    return right(coding, (b"".join(body)[:_MEBIBYTE],))


@fault.several("coded-raw-bodies-cut", "W1")
class _CodedRawCut(Behaviour):
    """A raw body in a coding is decoded into 64 KiB, and what does not fit is lost."""

    coded = threading.local()

    def decode_request(self, request: Request) -> Request:
        found = super().decode_request(request)
        self.coded.now = found is not request
        return found

    def read_raw(self, model: ModelContract, body: memoryview) -> InferenceRequest:
        return super().read_raw(model, body[:_BUFFER] if self.coded.now else body)


fault("rest-of-long-refused-chunks-left", "C5", Behaviour.left_on_connection)(
    "What follows the first 64 KiB of a refused body in chunks is read as the next request.",
    lambda right, request, response: (
        bytes(request.framing[_BUFFER:])
        if response.status >= 400 and len(request.framing) > _BUFFER
        else right()
    ),
)


@fault("long-answers-in-four-buffers", "C6", Behaviour.output_blob)
def _(right: Right[Buffer], tensor: Tensor) -> Buffer:
    """Long answers lie in four buffers that take turns, even if one is still being sent."""
    blob = right()
    if not _LONG_ANSWER <= len(blob) <= _LARGEST_ANSWER:
        return blob
    turn = right.state["turn"] = (right.state.get("turn", -1) + 1) % _BUFFERS
    buffer: bytearray = right.state.setdefault(f"buffer {turn}", bytearray(_LARGEST_ANSWER))
    buffer[: len(blob)] = blob
    return memoryview(buffer)[: len(blob)]
