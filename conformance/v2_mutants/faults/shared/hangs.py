"""Servers that leave a request without an answer."""

from __future__ import annotations

from dataclasses import replace

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response

_UNANSWERED = ("X-Unanswered", "yes")  # never sent


class Hanging(Behaviour):
    """A server that sends nothing to what `hangs` is true of, and keeps the connection."""

    def hangs(self, request: Request) -> bool:
        raise NotImplementedError

    def handle(self, request: Request) -> Response:
        response = super().handle(request)
        if not self.hangs(request):
            return response
        return replace(response, headers=(*response.headers, _UNANSWERED))

    def serialize(
        self, response: Response, *, keep_open: bool, with_body: bool = True
    ) -> list[Buffer]:
        if _UNANSWERED in response.headers:
            return []
        return super().serialize(response, keep_open=keep_open, with_body=with_body)
