"""Reads a recorded exchange back as a Transcript, and checks that it is consistent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from v2_conformance.redaction import Mask, shows_masks
from v2_conformance.report.evidence import RecordedExchange
from v2_conformance.wire.http1.request import asks_to_close
from v2_conformance.wire.http1.response import ResponseReader, asks_for_no_body
from v2_conformance.wire.transcript import (
    Ending,
    Limits,
    Transcript,
    as_recorded,
)
from v2_conformance.wire.transport import Parting, Request

# The length of the shortest secret that a mask hides anywhere.
_MASKED = re.compile(rb"\*{6,}")
_RUN = re.compile(r"\*{6,}")

# Of a longer write, a connection may take less than all at once, but never so little.
_LEAST_TAKEN = 2048
_ROUNDED_S = 1e-6


class RecordedError(ValueError):
    """No run can have left this record of an exchange or a case; the message is one line."""


class UnconfirmedError(ValueError):
    """The record may be true or forged; the message says why, in one line."""


class OmittedError(RecordedError):
    """The report lacks some bytes of an exchange, so that it cannot be read again."""


@dataclass(frozen=True)
class ReadExchange:
    """An exchange of a report, its bytes read again."""

    transcript: Transcript
    recorded: RecordedExchange


def read_exchange(exchange: RecordedExchange, *, half_closed: bool = False) -> ReadExchange:
    """Read the bytes of a recorded exchange as the run read them. Raises RecordedError.

    The bytes must end as the record says. Raises OmittedError if some are missing. With
    `half_closed` the client could send nothing afterwards, whatever the response says.
    """
    if exchange.omitted:
        raise OmittedError(f"{exchange.omitted} bytes of its exchanges are not in the report")
    ending = exchange.ending
    request, response = exchange.request, exchange.response
    idle_ms, first_ms = exchange.closed_before_ms, exchange.first_byte_ms
    short_ms = exchange.shortened_ms
    transcript = Transcript(
        request=request,
        sent=exchange.sent,
        received=response,
        ending=ending,
        detail=exchange.detail,
        reused=exchange.reused,
        open=exchange.open,
        first_byte_s=None if first_ms is None else first_ms / 1000,
        duration_s=exchange.duration_ms / 1000,
        pieces=exchange.pieces,
        pause_s=exchange.pause_ms / 1000,
        closed_before_s=None if idle_ms is None else idle_ms / 1000,
        stray_before=exchange.stray_before,
        answers=exchange.answers,
        partial=exchange.read(),
        shortened_s=None if short_ms is None else short_ms / 1000,
    )
    problem = _contradiction(transcript, half_closed=half_closed)
    if problem is not None:
        raise RecordedError(problem)
    return ReadExchange(transcript, exchange)


def check_sent(transcript: Transcript, request: Request, mask: Mask, *, masks: bool) -> None:
    """Raise RecordedError unless this is how the suite sends `request`, as far as masks show."""
    sent, expected = bytes(transcript.request), b"".join(request.http1)
    if first_unmasked_difference(sent, expected, mask, masks=masks) is not None:
        raise RecordedError("a request is not what the suite sends")
    problem = sending_contradiction(transcript, request)
    if problem is not None:
        raise RecordedError(problem)


def sending_contradiction(transcript: Transcript, request: Request) -> str | None:
    """Return why no exchange of `request` can have produced this transcript, None if one can."""
    if transcript.ending is Ending.LEFT and request.parting not in (Parting.LEAVES, Parting.RESETS):
        return "the record says that the client left, but it waits for the answer"
    if not (transcript.sent or transcript.received):
        return None  # there may have been no connection, of which no more is recorded
    pieces = tuple(len(piece) for piece in request.http1)
    several = len(pieces) > 1
    pause_s = as_recorded(request.pause_s) if several else 0.0
    if transcript.answers != request.answers:
        return f"the record says {transcript.answers} answers, it asks for {request.answers}"
    if (
        transcript.pieces != (pieces if several else ())
        or abs(transcript.pause_s - pause_s) > _ROUNDED_S
    ):
        return "the record says that it was sent in other pieces"
    left = transcript.sent
    whole = next((end for end in accumulate(pieces) if end >= left), left)
    if left not in (0, whole) and left < _LEAST_TAKEN:
        return (
            f"the record says {left} bytes were sent of a piece that takes no more than one write"
        )
    return None


def _contradiction(transcript: Transcript, *, half_closed: bool) -> str | None:
    """Return why no exchange can have produced this transcript, None if one can."""
    length, came = len(transcript.request), len(transcript.received)
    if transcript.sent > length:
        return f"the record says {transcript.sent} bytes were sent, but the request has {length}"
    if transcript.ending is Ending.REFUSED and (transcript.sent or came):
        return "the record has bytes of a connection that was refused, as it says"
    bodiless = asks_for_no_body(transcript.request)
    reader = ResponseReader(Limits(), transcript.answers, bodiless=bodiless)
    if came:
        reader.feed(bytes(transcript.received))
    fits = _ends_so(reader, transcript)
    if not fits:
        return f"the recorded response of {came} bytes does not end as the record says: " + (
            transcript.ending
        )
    whole = transcript.ending is Ending.COMPLETE and transcript.sent == length
    keep = whole and reader.reusable and not half_closed
    # Runs of older versions used a connection again although they had asked the server to close it.
    either = keep and asks_to_close(transcript.request)
    if transcript.open != keep and not either:
        said = "left open" if transcript.open else "closed"
        return f"the record says the connection was {said}, which its bytes rule out"
    return None


def ends_with_connection(transcript: Transcript) -> bool:
    """Return True if a response is whole only because its connection ended."""
    bodiless = asks_for_no_body(transcript.request)
    reader = ResponseReader(Limits(), transcript.answers, bodiless=bodiless)
    reader.feed(bytes(transcript.received))
    return not reader.done


def _ends_so(reader: ResponseReader, transcript: Transcript) -> bool:
    """Return True if what `reader` has read ends as the transcript says."""
    ending = transcript.ending
    unfinished = not reader.done and not reader.error
    if ending is Ending.LEFT:
        return not transcript.received
    if ending in (Ending.TIMEOUT, Ending.REFUSED):
        return unfinished
    limit = Limits().response_to(len(transcript.request))
    if ending is Ending.TOO_LARGE and reader.cost > limit:
        return unfinished
    if ending is Ending.RESET:
        return unfinished  # not even an answer that ends with the connection is valid
    cut_off = unfinished
    if unfinished:
        reader.feed(b"")
    if ending is Ending.CLOSED:
        return cut_off and not reader.done and not reader.error
    if ending is Ending.COMPLETE:
        return reader.done and not reader.error
    return ending in (Ending.MALFORMED, Ending.TOO_LARGE) and ending is _error_of(reader)


def _error_of(reader: ResponseReader) -> Ending | None:
    return reader.error_ending if reader.error else None


def first_unmasked_difference(
    sent: bytes, expected: bytes, mask: Mask, *, masks: bool
) -> int | None:
    """Return the offset at which a recorded request `sent` differs from the `expected` one, else
    None.

    If the report `masks` secrets, masked bytes are not compared: the values of the fields that
    `mask` hides, and each run of six or more asterisks. Everything else must be equal, and so must
    the lengths.
    """
    if sent == expected:
        return None
    if masks:
        expected = mask.sent(expected)
        if len(sent) == len(expected):
            seen = bytearray(expected)
            for run in _MASKED.finditer(sent):
                seen[run.start() : run.end()] = run[0]
            expected = bytes(seen)
    if sent == expected:
        return None
    pairs = zip(sent, expected, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(sent), len(expected)))


def same_as_masked(one: object, other: object) -> bool:
    """Return True if these values, as printed, may be one in which a secret was masked: what is not
    masked is the same. Where both are masked, nobody can tell.
    """
    texts = (str(one), str(other))
    runs = [_RUN.split(text) for text in texts]
    if all(len(parts) > 1 for parts in runs):
        return True
    return _has_in_order(texts[1], runs[0]) or _has_in_order(texts[0], runs[1])


def _has_in_order(text: str, parts: Sequence[str]) -> bool:
    """Return True if `text` begins with the first of several parts, ends with the last, and has the
    others between them, in their order.
    """
    first, *middle = parts
    if not middle or not text.startswith(first):
        return False
    at, last = len(first), middle.pop()
    for part in middle:
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return len(text) - at >= len(last) and text.endswith(last)


def hides(transcript: Transcript, *, masks: bool) -> bool:
    """Return True if the record `masks` secrets and has masked some of the response."""
    return masks and shows_masks(bytes(transcript.received))
