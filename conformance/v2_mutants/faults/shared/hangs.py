"""Servers that leave a request without an answer."""

from __future__ import annotations

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Response

NO_RESPONSE = Response(0, keep_open=False)
"""In place of a response, the connection is closed."""


class Silent(Behaviour):
    """A server that sends nothing in place of a response with the status 0."""

    def serialize(
        self, response: Response, *, keep_open: bool, with_body: bool = True
    ) -> list[Buffer]:
        if not response.status:
            return []
        return super().serialize(response, keep_open=keep_open, with_body=with_body)
