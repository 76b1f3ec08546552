"""Asks a server for its metadata, and which models of the contract it has."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

from v2_conformance.conversations.discovery import SERVER, Server, discovery
from v2_conformance.conversations.steps import play
from v2_conformance.errors import ConformanceError, NothingRanError, UnreachableError
from v2_conformance.judging.availability import unavailable
from v2_conformance.judging.metadata import MAX_METADATA, ServerInfo, plain_body, server_name
from v2_conformance.judging.survival import stale
from v2_conformance.judging.verdict import Finding
from v2_conformance.protocol.message import MessageError
from v2_conformance.runs.patience import Patience, answered
from v2_conformance.runs.targets.reaching import no_answer, of_status
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.models import models_of_use
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.wire.encode.requests import get_request
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending, Response
from v2_conformance.wire.transport import Request


def discover(target: Target, *, without_models: bool = False) -> Server:
    """Ask the server for its metadata and for that of every model of the claimed profiles.

    Raises UnreachableError if nothing answers or the answer is not from a V2 server, and
    NothingRanError if it has none of the models, unless it may be `without_models`.
    """
    models = models_of_use(target.profiles, target.unsupported)
    wanted = list(map(target.binding, models))

    def answer(path: str) -> Response:
        response = session.get(path)
        if path == SERVER:
            server_name_of(target, response)  # raises the error that a run would show
        return response

    try:
        with closing(MetadataClient(target)) as session:
            found = play(discovery(wanted), answer)
        server = replace(found, asked=tuple(session.asked))
        if not server.present and not without_models:
            # The reason for one of them: one that the target maps, if it maps any.
            mapped = [role for role in target.models if role in server.absent]
            why = server.absent[next(iter(mapped or server.absent))]
            raise NothingRanError(
                f"{target.public_url} has none of the contract's models ({why}): see "
                "`v2-conformance list models`, use a target file, or test others with "
                "`v2-conformance run URL --model NAME`"
            )
        return server
    except ConformanceError as error:
        # A server may echo what it was sent, and an error message may quote that.
        raise type(error)(target.mask.text(str(error))) from None


def server_name_of(target: Target, response: Response) -> ServerInfo:
    """Return the name in the answer to GET /v2. Raises UnreachableError if it is not metadata."""
    where = f"GET {target.public_url}{SERVER}"
    if response.status != 200:
        raise UnreachableError(of_status(where, response, target))
    try:
        body = plain_body(response)
    except Finding as error:
        raise UnreachableError(f"the answer to {where} cannot be read: {error}") from error
    try:
        return server_name(response)
    except (MessageError, Finding) as error:
        kind = "HTML" if body.lstrip()[:1] == b"<" else "something else"
        raise UnreachableError(
            f"{where} answered with {kind}, not with V2 server metadata: {error}"
        ) from error


class MetadataClient:
    """Bounded GETs of small JSON documents, over one connection for as long as the server keeps it.
    Redirections are not followed: a run sends its requests to the target's URL and nowhere else."""

    def __init__(self, target: Target) -> None:
        limits = replace(target.limits, response=MAX_METADATA)
        self._target = replace(target, limits=limits)
        self.address = target.address
        self._connection = self._target.connection()
        self._patience = Patience(limits.exchange_s)
        self.asked: list[Exchange] = []

    def get(self, path: str) -> Response:
        """Return a whole response. Raises UnreachableError, within the target's limits, if there is
        none.

        The request is sent again if the server had closed the kept connection or says that it
        cannot serve right now. It is also sent again, on a fresh connection, if no answer came in
        time, or if the kept one is out of step, as after stray bytes: that is for cases to judge.
        """
        return self.exchange(get_request(self.address, path))

    def exchange(self, request: Request) -> Response:
        """Exchange any request as `get` does."""
        exchange = answered(lambda: self._connection.exchange(request))
        stalled = exchange.ending is Ending.TIMEOUT and exchange.sent > 0
        garbled = exchange.reused and exchange.ending is Ending.MALFORMED
        if stalled or garbled or stale(exchange) or unavailable(exchange):
            ask = partial(self._patience.exchange, self._connection, request)
            exchange = answered(lambda: ask(fresh=True, unasked=True)[0])
        if exchange.response is None:
            path = request.head.target.removeprefix(self.address.prefix)
            url = self._target.public_url.rstrip("/") + path
            raise UnreachableError(no_answer(url, exchange, self._target))
        self.asked.append(exchange.for_purpose(Purpose.DISCOVERY))
        return exchange.response

    def document(self, request: Request) -> Any:
        """Return the JSON of a successful answer, of V2 or not, None for any other."""
        try:
            response = self.exchange(request)
            return json.loads(plain_body(response)) if response.status == 200 else None
        except (UnreachableError, ValueError, RecursionError, Finding):
            return None

    def close(self) -> None:
        """Close the connection, so that a server which serves one at a time serves the next."""
        self._connection.close()
