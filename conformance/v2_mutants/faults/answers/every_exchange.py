"""Faults that show in one corner only: what every exchange has to keep (O, P, R)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject
from v2_conformance.suite.models import ModelContract
from v2_mutants.faults.shared.deliveries import is_chunked
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


def _in_text(_: Request, response: Response) -> Response:
    headers = tuple(pair for pair in response.headers if pair[0] != "Content-Type")
    text = (b"Bad Request",)
    return replace(response, headers=(*headers, ("Content-Type", "text/plain")), body=text)


fault("errors-in-chunks-are-text", "R2", Behaviour.handle)(
    "The error for a chunked request is plain text.",
    _changed_if(lambda request, r: _failed(request, r) and is_chunked(request), _in_text),
)
fault("json-errors-have-header-length", "R6", Behaviour.handle)(
    "The error for a request without a header length has the header length 0.",
    _changed_if(
        lambda request, r: _failed(request, r) and not request.values(HEADER_LENGTH),
        lambda _, r: replace(r, headers=(*r.headers, (HEADER_LENGTH, "0"))),
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
