"""Faults that show in one corner only: what every exchange has to keep (O, P, R)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.names import HEADER_LENGTH, JSON_TYPE
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject
from v2_conformance.suite.models import ModelContract
from v2_mutants.faults.shared.deliveries import is_chunked, is_coded, is_raw, is_versioned
from v2_mutants.registry import Right, What, fault, then

_Applies = Callable[[Request, Response], bool]
_Change = Callable[[Request, Response], Response]


def _changed_if(applies: _Applies, change: _Change) -> What[Response]:
    """A server that changes each response to which it applies."""

    def what(right: Right[Response], request: Request) -> Response:
        response = right()
        return change(request, response) if applies(request, response) else response

    return what


def _failed(request: Request, response: Response) -> bool:
    return response.status >= 400


def _answered(request: Request, response: Response) -> bool:
    return response.status == 200 and request.target.endswith("/infer")


def _in_text(_: Request, response: Response) -> Response:
    headers = tuple(pair for pair in response.headers if pair[0] != "Content-Type")
    text = (b"Bad Request",)
    return replace(response, headers=(*headers, ("Content-Type", "text/plain")), body=text)


def _typed(media_type: str) -> _Change:
    def change(_: Request, response: Response) -> Response:
        headers = [(n, media_type if n == "Content-Type" else v) for n, v in response.headers]
        return replace(response, headers=tuple(headers))

    return change


def _is_binary(response: Response) -> bool:
    return any(name == HEADER_LENGTH for name, _ in response.headers)


fault("errors-in-chunks-are-text", "R2", Behaviour.handle)(
    "The error for a chunked request is plain text.",
    _changed_if(lambda request, r: _failed(request, r) and is_chunked(request), _in_text),
)
fault("errors-after-coding-are-text", "R2", Behaviour.handle)(
    "The error for a request with a content coding is plain text.",
    _changed_if(
        lambda request, r: _failed(request, r) and bool(request.values("Content-Encoding")),
        _in_text,
    ),
)
fault("raw-errors-are-text", "R2", Behaviour.handle)(
    "The error for a raw request is plain text.",
    _changed_if(lambda request, r: _failed(request, r) and is_raw(request), _in_text),
)
fault("errors-in-chunks-are-500", "R4", Behaviour.handle)(
    "A malformed request in chunks gets the status 500.",
    _changed_if(
        lambda request, r: _failed(request, r) and is_chunked(request),
        lambda _, response: replace(response, status=500),
    ),
)
fault("unknown-model-typed-html", "R5", Behaviour.handle)(
    "The error for an unknown model is JSON with the Content-Type text/html.",
    _changed_if(lambda _, response: response.status == 404, _typed("text/html")),
)
fault("json-errors-have-header-length", "R6", Behaviour.handle)(
    "The error for a request without a header length has the header length 0.",
    _changed_if(
        lambda request, r: _failed(request, r) and not request.values(HEADER_LENGTH),
        lambda _, r: replace(r, headers=(*r.headers, (HEADER_LENGTH, "0"))),
    ),
)
fault("json-in-binary-request-typed-text", "P9", Behaviour.handle)(
    "A response without blobs to a request with blobs has the Content-Type text/plain.",
    _changed_if(
        lambda request, r: (
            _answered(request, r) and not _is_binary(r) and bool(request.values(HEADER_LENGTH))
        ),
        _typed("text/plain"),
    ),
)
fault("mixed-response-typed-json", "P4", Behaviour.inference_headers)(
    "A response with blobs has the Content-Type application/json if some outputs are JSON.",
    then(
        lambda headers, text, blobs, binary: (
            headers
            if not binary or b'"data":' not in text
            else tuple((n, JSON_TYPE if n == "Content-Type" else v) for n, v in headers)
        )
    ),
)
fault("several-outputs-repeat-member", "P9", Behaviour.dump_document)(
    "The JSON of a response with several outputs has the member `model_name` twice.",
    then(
        lambda text, document: (
            text
            if len(document["outputs"]) < 2
            else text.replace(b"{", b'{"model_name":"other",', 1)
        )
    ),
)


@fault("several-outputs-have-data-and-size", "O11", Behaviour.response_document)
def _(
    right: Right[JsonObject],
    model: ModelContract,
    inference: InferenceRequest,
    entries: list[JsonObject],
) -> JsonObject:
    """The first of several binary outputs also has `data`."""
    if len(entries) > 2 and "data" not in entries[0]:
        entries = [entries[0] | {"data": [0]}, *entries[1:]]
    return right(entries=entries)


@fault("id-lost-with-several-inputs", "O18", Behaviour.response_document)
def _(
    right: Right[JsonObject],
    model: ModelContract,
    inference: InferenceRequest,
    entries: list[JsonObject],
) -> JsonObject:
    """The response has no `id` if more than one input was sent."""
    document = right()
    if len(inference.inputs) > 1:
        document.pop("id", None)
    return document


def _loses_id(when: Callable[[ModelContract, Request], object]) -> What[InferenceRequest]:
    """A server whose way for such requests does not know ids."""
    return then(
        lambda inference, model, request, length: (
            replace(inference, id=None) if when(model, request) else inference
        )
    )


for _kind, _text, _lost in (
    ("coded-requests", "a request in a content coding",
     lambda model, request: is_coded(request)),
    ("coded-answers", "an answer that may be in a content coding",
     lambda model, request: request.values("accept-encoding")),
    ("long-bodies", "a body of more than 64 KiB", lambda model, request: len(request.body) > 2**16),
    ("rank-3", "a model with three dimensions",
     lambda model, request: model.role.startswith("cube/")),
    ("batches", "a batching model", lambda model, request: model.batching),
    ("chunks-for-a-version", "a body in chunks on a path with the model's version",
     lambda model, request: is_chunked(request) and is_versioned(request)),
):  # fmt: skip
    fault(f"id-lost-with-{_kind}", "O18", Behaviour.read_request)(
        f"The response has no `id` with {_text}.", _loses_id(_lost)
    )


# How connections end


def _closing(applies: _Applies) -> type[Behaviour]:
    """A server that closes the connection without a word."""

    class Closing(Behaviour):
        def keeps_open(self, request: Request, response: Response) -> bool:
            return super().keeps_open(request, response) and not applies(request, response)

        def serialize(
            self, response: Response, *, keep_open: bool, with_body: bool = True
        ) -> list[Buffer]:
            return super().serialize(response, keep_open=True, with_body=with_body)

    return Closing


fault.several(
    "closes-after-errors",
    "R8",
    "The server closes the connection after an error that does not say so.",
)(_closing(_failed))
fault.several(
    "closes-after-every-response",
    "R8",
    "The server closes the connection after every response, none of which says so.",
)(_closing(lambda request, response: True))
fault.several(
    "closes-after-chunks",
    "R8",
    "The server closes the connection after a chunked request without saying so.",
)(_closing(lambda request, _: is_chunked(request)))
