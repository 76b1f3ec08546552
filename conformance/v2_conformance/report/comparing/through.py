"""Finds what a gateway changed in one exchange: the same request sent with and without it.

Facts about the wire, from the recorded bytes alone; `gateway` compares them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import h11

from v2_conformance.judging.availability import GATEWAY_STATUSES
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.report.document import CaseResult
from v2_conformance.report.evidence import RecordedExchange
from v2_conformance.report.kept_bytes import beginning
from v2_conformance.suite.outcomes import Outcome, Purpose, Told
from v2_conformance.wire.messages import read_head
from v2_conformance.wire.transcript import Ending, Response

_BODY_REFUSED = frozenset({411, 413})
_HAS_HEADER_LENGTH = HEADER_LENGTH.lower()
# Its cases are about clients that break off or close half of the connection: what becomes of those
# is between them and the gateway.
_BREAKING_OFF = "C8"
_WORKS = (Outcome.PASS, Outcome.DISPUTED)


class Property(Told):
    """The properties that a gateway must keep for the extension to work through it."""

    HEADER = ("header", "The header-length field arrives, both ways")
    LENGTH = ("length", "Its value fits the body that arrives")
    CODING = ("coding", "Content codings are kept")
    BODIES = ("bodies", "No limit on bodies, with or without a length")
    ERRORS = ("errors", "Errors keep their status and JSON body")
    EARLY_REJECTION = ("early_rejection", "Early rejections arrive early")
    CONNECTIONS = ("connections", "Connections stay open, and every request is answered")


class Change(Told):
    """A way in which what came through the gateway differs from what came directly."""

    HEADER_DROPPED = ("header_dropped", "the response's header-length field is gone")
    LENGTH_WRONG = ("length_wrong", "the response's header length does not fit its body")
    RECODED = ("recoded", "the response has another content coding")
    BODY_REFUSED = ("body_refused", "the gateway refuses the body of the request (413 or 411)")
    ERROR_REPLACED = (
        "error_replaced",
        "the error has another status, or a body that is not the server's JSON",
    )
    ERROR_HIDDEN = ("error_hidden", "the error arrives as a success")
    REQUEST_SPOILED = (
        "request_spoiled",
        "the request is rejected, though the server accepts it directly",
    )
    REJECTED_LATER = ("rejected_later", "the rejection comes only after the whole request")
    CLOSED = ("closed", "the connection is closed, though the server keeps it open")
    UNAVAILABLE = ("unavailable", "the gateway got no answer (502, 503 or 504)")
    NO_ANSWER = ("no_answer", "no complete answer came")
    OTHER_STATUS = ("other_status", "the answer has another status")


Difference = tuple[Change, Property | None]
"""A change, and the property that is not kept; None if it is none that HTTP or the extension asks
a gateway to keep."""


@dataclass(frozen=True)
class Pair:
    """The last of a case's own exchanges directly, and through the gateway.

    `works` is whether the case has the outcome that it should have through the gateway, `whole`
    whether its client waits for the answer. `interrupted` is whether the gateway said of another
    exchange of the case, or before a retry, that it got no answer, although the server is fine.
    """

    direct: RecordedExchange
    through: RecordedExchange
    works: bool = False
    whole: bool = True
    interrupted: bool = False

    @cached_property
    def answer(self) -> Response | None:
        """The direct answer; None if no whole one came."""
        return _answer(self.direct)

    @cached_property
    def answer_through(self) -> Response | None:
        """The answer through the gateway; None if no whole one came."""
        return _answer(self.through)

    @cached_property
    def request_fields(self) -> frozenset[str]:
        """The names of the request's header fields, in lower case."""
        return frozenset(
            one.name.decode("latin-1") for one in read_head(self.direct.request).fields
        )

    @cached_property
    def well_formed(self) -> bool:
        """True if the request is whole and right HTTP/1.1 with one way to find its end.

        A gateway has to read what it passes on, so it answers anything else itself.
        """
        if not self.whole or {"content-length", "transfer-encoding"} <= self.request_fields:
            return False
        parser = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 20)
        try:
            parser.receive_data(bytes(self.direct.request))
            while (event := parser.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
                if isinstance(event, h11.EndOfMessage):
                    return True
        except h11.RemoteProtocolError:
            pass
        return False

    @property
    def early(self) -> bool:
        """True if the direct answer came before the whole counted body was sent."""
        counted = "transfer-encoding" not in self.request_fields
        return self.answer is not None and counted and _unsent(self.direct)

    @cached_property
    def answered_by_gateway(self) -> bool:
        """True if the answer through the gateway is the gateway's own error: not in the words of
        the inference server, and not the direct answer.
        """
        there, here = self.answer_through, self.answer
        if there is None or there.status < 400 or is_json_error(there):
            return False
        return here is None or (here.status, bytes(here.body)) != (there.status, bytes(there.body))


def pair(direct: CaseResult, through: CaseResult) -> Pair | None:
    """The exchanges to compare of two results of a case; None if one of them has none, or their
    requests are not the same, as those of generated cases need not be."""
    ours, theirs = _last(direct.exchanges), _last(through.exchanges)
    if ours is None or theirs is None or _body(ours) != _body(theirs):
        return None
    interrupted = direct.outcome in _WORKS and _interrupted(through) and not _interrupted(direct)
    whole = through.requirement != _BREAKING_OFF
    return Pair(ours, theirs, through.outcome in _WORKS, whole, interrupted)


def _interrupted(case: CaseResult) -> bool:
    """Return True if 502, 503 or 504 came for anything but the case's own request."""
    others = [one for one in case.exchanges if not one.purpose.own]
    retried = any(one.purpose is Purpose.RETRIED for one in case.exchanges)
    statuses = (read_head(beginning(one.response_kept, 16)).status for one in others)
    return retried or any(status in GATEWAY_STATUSES for status in statuses)


def _last(exchanges: Sequence[RecordedExchange]) -> RecordedExchange | None:
    return next((one for one in reversed(exchanges) if one.purpose.own), None)


def _body(exchange: RecordedExchange) -> bytes:
    """Return the request without its head, which may differ in Host, path and credentials."""
    return exchange.request[read_head(exchange.request).end :]


def is_json_error(response: Response) -> bool:
    """Return True if an error has a body as the inference server writes it: a JSON object."""
    if response.status < 400:
        return False
    try:
        return isinstance(json.loads(bytes(response.body)), dict)
    except (ValueError, RecursionError):
        return False


def compared(both: Pair) -> Iterator[Property]:
    """The properties that the pair shows: what a gateway could have failed to keep in it."""
    here = both.answer
    if here is None:
        return
    if here.value(HEADER_LENGTH) is not None:
        yield Property.LENGTH
        yield Property.HEADER
    elif _HAS_HEADER_LENGTH in both.request_fields and here.status < 400:
        yield Property.HEADER
    if here.value("content-encoding") or both.request_fields & {
        "content-encoding",
        "accept-encoding",
    }:
        yield Property.CODING
    if here.status < 400 and not both.request_fields.isdisjoint(
        {"content-length", "transfer-encoding"}
    ):
        yield Property.BODIES
    if is_json_error(here):
        yield Property.ERRORS
    if both.early and here.status >= 400:
        yield Property.EARLY_REJECTION
    if here.status < 400 and both.direct.open:
        yield Property.CONNECTIONS


def changes(both: Pair) -> Iterator[Difference]:
    """Everything that the gateway changed, each with the property that it does not keep."""
    found = list(_changes(both))
    for change, kind in found:
        yield change, kind if both.well_formed else None
    if (
        both.interrupted
        and both.whole
        and all(change is not Change.UNAVAILABLE for change, _ in found)
    ):
        yield Change.UNAVAILABLE, Property.CONNECTIONS


def _changes(both: Pair) -> Iterator[Difference]:
    here, there = both.answer, both.answer_through
    if here is None:
        return  # nothing to keep
    if there is None:
        if both.through.ending is not Ending.LEFT:
            yield Change.NO_ANSWER, None if both.works else Property.CONNECTIONS
        return
    failed = _failure(both, here, there)
    if failed is not None:
        yield failed
    elif here.status < 400:
        yield from _of_successes(both, here, there)
    elif both.early and not _unsent(both.through):
        yield Change.REJECTED_LATER, Property.EARLY_REJECTION


def _failure(both: Pair, here: Response, there: Response) -> Difference | None:
    """Return how the answer differs in meaning from the direct one, None if it does not."""
    if there.status in GATEWAY_STATUSES and here.status not in GATEWAY_STATUSES:
        return Change.UNAVAILABLE, Property.CONNECTIONS
    if there.status in _BODY_REFUSED and here.status not in _BODY_REFUSED:
        return Change.BODY_REFUSED, Property.BODIES
    if here.status >= 400:
        return _failure_of_error(both, here, there)
    if there.status >= 400:
        if "content-encoding" in both.request_fields:
            return Change.REQUEST_SPOILED, Property.CODING
        if is_json_error(there) and _HAS_HEADER_LENGTH in both.request_fields:
            return Change.REQUEST_SPOILED, Property.HEADER
        return Change.REQUEST_SPOILED, None
    return None if here.status == there.status else (Change.OTHER_STATUS, None)


def _failure_of_error(both: Pair, here: Response, there: Response) -> Difference | None:
    # Chunks end at the next hop: an error about them need not come from behind the gateway.
    kind = None if "transfer-encoding" in both.request_fields else Property.ERRORS
    if there.status < 400:
        return Change.ERROR_HIDDEN, kind
    if _coding(here) != _coding(there):
        return Change.RECODED, Property.CODING
    if {here.status, there.status} <= _BODY_REFUSED:
        kind = None  # too large for both
    if is_json_error(here) and (here.status != there.status or not is_json_error(there)):
        return Change.ERROR_REPLACED, kind
    return None


def _of_successes(both: Pair, here: Response, there: Response) -> Iterator[Difference]:
    ours, theirs = here.value(HEADER_LENGTH), there.value(HEADER_LENGTH)
    recoded = _coding(here) != _coding(there)
    if recoded:
        yield Change.RECODED, Property.CODING
    if ours is not None and theirs is None:
        yield Change.HEADER_DROPPED, Property.HEADER
    elif ours is not None and theirs is not None and not recoded:
        same_body = bytes(here.body) == bytes(there.body)
        if _fits(ours, here) and (not _fits(theirs, there) or (same_body and ours != theirs)):
            yield Change.LENGTH_WRONG, Property.LENGTH
    if both.direct.open and not both.through.open:
        yield Change.CLOSED, Property.CONNECTIONS


def _fits(length: str, response: Response) -> bool:
    """Return True if a header length ends where the JSON at the start of the body does.

    A body with a content coding is not looked into: that it fits is what its case shows.
    """
    if _coding(response):
        return True
    if not (length.isascii() and length.isdigit() and len(length) <= 12):
        return False
    end = int(length)
    try:
        json.loads(bytes(response.body[:end]))
    except (ValueError, RecursionError):
        return False
    return end <= len(response.body)


def _coding(response: Response) -> str:
    return ", ".join(response.values("content-encoding")).strip().lower().replace("identity", "")


def _unsent(exchange: RecordedExchange) -> bool:
    return exchange.sent < exchange.request_size


def _answer(exchange: RecordedExchange) -> Response | None:
    if exchange.ending is not Ending.COMPLETE or exchange.omitted:
        return None
    return exchange.read()
