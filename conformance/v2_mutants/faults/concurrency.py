"""Faults of a server with several clients: at the same time, or after one broke off (C)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from msgspec import structs

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Breach, Request, Response
from v2_conformance.reference.request_reader import InferenceRequest
from v2_conformance.suite.models import ModelContract
from v2_mutants.faults.shared import (
    CrashingServer,
    Silent,
    ends_server,
    is_coded,
    is_last,
    is_versioned,
)
from v2_mutants.registry import Right, What, fault

T = TypeVar("T")
# Lets a request of another connection come in between.
_OVERLAP_S = 0.002


def _last(right: Right[Any], value: T, name: object = None) -> T:
    """Return what the last of the requests in progress put into the variable, after this one
    has."""
    right.state[name] = value
    threading.Event().wait(_OVERLAP_S)
    result: T = right.state[name]
    return result


fault("concurrent-outputs-mixed", "C6", Behavior.request_outputs)(
    "Concurrent requests to a model get the outputs that the last one asked for.",
    lambda right, model, document: _last(right, right(), model.model),
)
fault("concurrent-models-mixed", "C6", Behavior.infer)(
    "Concurrent requests all go to the model of the last one.",
    lambda right, model, request: right(_last(right, model)),
)
fault("concurrent-shapes-mixed", "C6", Behavior.output_tensor)(
    "Concurrent tensors of one datatype and as many elements have the shape of the last one.",
    lambda right, output, tensor: structs.replace(
        right(), shape=_last(right, right().shape, (output, len(tensor.blob)))
    ),
)


@fault("refusal-spreads", "C6", Behavior.handle)
def _(right: Right[Response], request: Request) -> Response:
    """If a request is refused, so are others that are in progress."""
    before = right.state.get("refused", 0)
    response = right()
    if not request.target.endswith("/infer"):
        return response
    if response.status >= 400:
        right.state["refused"] = right.state.get("refused", 0) + 1
        return response
    threading.Event().wait(_OVERLAP_S)
    same = right.state.get("refused", 0) == before
    return response if same else right.server.error(500, "the batch failed")


@fault("slow-body-mixed", "C6", Behavior.handle)
def _(right: Right[Response], request: Request) -> Response:
    """A body that arrives in pieces ends with the bytes of another request in progress."""
    body, latest = bytes(request.body), right.state.get("latest", b"")
    if request.segment_cuts and len(latest) == len(body):
        cut = request.segment_cuts[0]
        return right(replace(request, body=memoryview(body[:cut] + latest[cut:])))
    right.state["latest"] = body
    return right()


fault("concurrent-codings-mixed", "C6", Behavior.decode_request)(
    "Encoded bodies of concurrent requests are decoded by the decoder of the last one.",
    lambda right, request: (
        right(_last(right, request)) if request.values("content-encoding") else right()
    ),
)


def _path(request: Request) -> str:
    """Which way a request takes through a server."""
    length = request.values("inference-header-content-length")
    return "json" if not length else "raw" if length == ["0"] else "framed"


def _one_buffer(when: Callable[[Request], bool], role: str = "") -> What[Response]:
    """A server that reads the bodies of such requests into one buffer for all of them; with a
    `role`, only those to that model."""

    def what(right: Right[Response], model: ModelContract, request: Request) -> Response:
        if not (when(request) and role in ("", model.role)):
            return right()
        return right(model, replace(request, body=_last(right, request.body)))

    return what


for _kind, _when, _text in (
    ("large-bodies", lambda request: len(request.body) > 1 << 16,
     "Bodies over 64 KiB of concurrent requests are kept in one file."),
    ("chunked-bodies", lambda request: bool(request.values("transfer-encoding")),
     "The chunks of concurrent requests are put together in one buffer."),
    ("json-bodies", lambda request: _path(request) == "json",
     "Bodies without a header length of concurrent requests are parsed from one buffer."),
    ("raw-bodies", lambda request: _path(request) == "raw",
     "Raw requests that are in progress at once have the body of the last one."),
):  # fmt: skip
    fault(f"concurrent-{_kind}-mixed", "C6", Behavior.infer)(_text, _one_buffer(_when))

for _kind, _role, _when, _text in (
    ("bodies-of-fp16", "identity/FP16", lambda request: True, "Requests with an FP16 tensor"),
    ("bodies-of-rank-3", "cube/FP64", lambda request: True,
     "Requests with a tensor of three dimensions"),
    ("bodies-of-every-datatype", "all_types", lambda request: True,
     "Requests with a tensor of every datatype"),
    ("batches", "batched", lambda request: True, "Requests to a batching model"),
    ("long-texts", "identity/BYTES", lambda request: len(request.body) > 4096,
     "Requests with more than 4 KiB of BYTES"),
    ("raw-bodies-of-doubles", "identity/FP64", lambda request: _path(request) == "raw",
     "Raw requests with FP64"),
    ("raw-batches", "raw/batched", lambda request: _path(request) == "raw",
     "Raw requests to a batching model"),
    ("raw-bodies-of-two-outputs", "raw/two_outputs", lambda request: _path(request) == "raw",
     "Raw requests to a model with two outputs"),
    ("bodies-for-a-version", "identity/INT32", is_versioned,
     "Requests to a version of a model"),
    ("last-bodies", "identity/INT32", is_last,
     "Requests that end their connections"),
):  # fmt: skip
    fault(f"concurrent-{_kind}-mixed", "C6", Behavior.infer)(
        f"{_text} that are in progress at once have the body of the last one.",
        _one_buffer(_when, _role),
    )

_A_WRITE, _LONG = 1 << 16, 1 << 20


def _mixes_ids(when: Callable[[ModelContract, Request], object]) -> What[InferenceRequest]:
    """A server that answers some concurrent requests with the id of the last one."""

    def what(
        right: Right[InferenceRequest], model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        inference = right()
        mixed = when(model, request)
        return replace(inference, id=_last(right, inference.id)) if mixed else inference

    return what


fault("concurrent-ids-mixed", "C6", Behavior.read_request)(
    "Responses to concurrent requests have the id of the last one.",
    _mixes_ids(lambda model, request: True),
)
fault("concurrent-ids-of-json-mixed", "C6", Behavior.read_request)(
    "Responses to concurrent requests without a header length have the id of the last one.",
    _mixes_ids(lambda model, request: _path(request) == "json"),
)
fault("concurrent-ids-in-codings-mixed", "C6", Behavior.read_request)(
    "Responses to concurrent requests in a content coding have the id of the last one.",
    _mixes_ids(lambda model, request: is_coded(request)),
)


def _static(right: Right[Buffer]) -> Buffer:
    """Return what the last request in progress read, if it is as long."""
    mine = right()
    last: Buffer = _last(right, mine)
    return last if len(last) == len(mine) else mine


fault("concurrent-json-texts-mixed", "C6", Behavior.json_blob)(
    "Texts in the JSON of concurrent requests are read into one buffer.",
    lambda right, entry: _static(right) if entry.spec.datatype == "BYTES" else right(),
)


@fault("answers-read-late-mixed", "C6", Behavior.writes)
def _(right: Right[Iterator[Buffer]], pieces: Sequence[Buffer]) -> Iterator[Buffer]:
    """Answers over 1 MiB are written from one buffer: of one that is read late, the rest is that of
    the last one."""
    for data in right():
        right.state["latest"] = data
        for start in range(0, len(data), _A_WRITE):
            latest = right.state["latest"]
            other = len(data) > _LONG and len(latest) == len(data)
            yield memoryview(latest if other else data)[start : start + _A_WRITE]


def _dies_of(killing: Breach) -> What[None]:
    return ends_server(lambda breach: breach is killing)


for _name, _breach, _text in (
    ("unfinished-chunks-kill-server", Breach.LEFT_IN_CHUNKS,
     "The server dies if a body in chunks ends before its last chunk."),
    ("reset-kills-server", Breach.RESET,
     "The server dies if a client resets its connection, or does not read its response."),
    ("broken-chunk-kills-server", Breach.FRAMING,
     "The server dies of a chunk without a proper size or end."),
    ("content-length-allocated", Breach.TOO_LONG,
     "The server allocates as many bytes as Content-Length claims, and dies of it."),
):  # fmt: skip
    fault(_name, "C8", Behavior.broken_off, base=CrashingServer)(_text, _dies_of(_breach))


def _lock_kept(when: Callable[[Request], object]) -> type[Behavior]:
    """A server that keeps a lock for some requests if a client leaves in the body of one."""

    class LockKept(Silent):
        locked = False

        def __init__(self, profiles: Collection[str] = SERVER_PROFILES) -> None:
            super().__init__(profiles)
            self.begun = threading.local()

        def check_head(self, request: Request) -> None:
            self.begun.locks = when(request)
            super().check_head(request)

        def broken_off(self, breach: Breach) -> None:
            in_body = breach in (Breach.LEFT_IN_BODY, Breach.RESET)
            self.locked = self.locked or bool(in_body and getattr(self.begun, "locks", False))

        def infer(self, model: ModelContract, request: Request) -> Response:
            response = super().infer(model, request)
            return replace(response, status=0) if self.locked and when(request) else response

    return LockKept


for _name, _text, _when in (
    ("lock", "A client that leaves in a body keeps the models locked: nobody is answered again.",
     lambda request: True),
    ("lock-for-gzip", "A client that leaves in a body in gzip locks out all others with one.",
     lambda request: request.values("content-encoding") == ["gzip"]),
):  # fmt: skip
    fault.several(f"{_name}-kept-if-client-leaves", "C8", _text)(_lock_kept(_when))
