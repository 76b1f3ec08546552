"""An exchange, read once per part, as far as observed rules need it. Pure."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import Any

from v2_conformance.judging.messages.request import ReadRequest, read_request
from v2_conformance.judging.messages.response import decode_answer, json_end, read_header_length
from v2_conformance.judging.messages.response_json import error_problem, parse_noting
from v2_conformance.judging.observed.http_syntax import Syntax
from v2_conformance.judging.verdict import Finding
from v2_conformance.protocol.message import MessageError
from v2_conformance.suite.cases import SentCase
from v2_conformance.suite.causes.causes import Cause
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.messages import members
from v2_conformance.wire.response import Response
from v2_conformance.wire.response_reader import asks_for_no_body


class Look:
    """An exchange of `case` as observed rules see it.

    `response` is without its content coding, None if there is none that can be read, or no body to
    read, as of a HEAD. `error` is the response, if it is an error with the status of one.
    `json_end` is where the JSON of a successful response ends, None if it cannot be found, `json`
    that of an inference, and `repeated` the first member that is in it twice.
    """

    def __init__(self, case: SentCase, exchange: Exchange) -> None:
        self.case = case
        self.purpose = exchange.purpose
        self.exchange = exchange
        self._bodiless = asks_for_no_body(exchange.request.start(5))
        self.response = response = None if self._bodiless else _decoded(exchange)
        self.error = response if response is not None and response.status >= 400 else None
        self.json_end: int | None = None
        self.json: dict[str, Any] | None = None
        self.repeated: str | None = None
        if response is not None and response.status == 200:
            self._read(response)

    def _read(self, response: Response) -> None:
        with suppress(Finding, MessageError):
            self.json_end = end = json_end(read_header_length(response), response.body)
            document, repeated = parse_noting(response.body[:end])
            if isinstance(document.get("outputs"), list):
                self.json, self.repeated = document, repeated

    @cached_property
    def request(self) -> ReadRequest:
        """The request as read."""
        return read_request(bytes(self.exchange.request))

    @cached_property
    def syntax(self) -> Syntax:
        """Breaches of HTTP's rules in the response's bytes."""
        offered = members(self.request.values("te"))
        codings = {coding.partition(";")[0].strip().encode() for coding in offered}
        return Syntax(
            bytes(self.exchange.received),
            offered=codings,
            old_client=self.request.version == "1.0",
            bodiless=self._bodiless,
        )

    @property
    def unlabeled_error(self) -> Response | None:
        """The response as received, if it is an error in a coding that no
        Content-Encoding names.
        """
        response = self.exchange.response
        if response is None or self._bodiless or self.response or response.status < 400:
            return None
        return None if response.values("Content-Encoding") else response

    @cached_property
    def error_problem(self) -> Cause | None:
        """The problem with the body of `error` or else of `unlabeled_error` (R2)."""
        response = self.error or self.unlabeled_error
        return None if response is None else error_problem(response)

    @property
    def blob_bytes(self) -> int:
        """Number of bytes after the JSON of a successful inference."""
        if self.response is None or self.json_end is None or self.json is None:
            return 0
        return len(self.response.body) - self.json_end


def _decoded(exchange: Exchange) -> Response | None:
    response = exchange.response
    try:
        return None if response is None else decode_answer(response, bytes(exchange.request))
    except Finding:
        return None
