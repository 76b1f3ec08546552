"""A recorded exchange as a Transcript again, and whether what it says can be true together."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from v2_conformance.redaction import Mask
from v2_conformance.wire.http1 import (
    CLOSED,
    COMPLETE,
    MALFORMED,
    REFUSED,
    TIMEOUT,
    TOO_LARGE,
    Limits,
    ResponseReader,
    Transcript,
)

# The shortest secret that a mask hides wherever it stands is as long.
_MASKED = re.compile(rb"\*{6,}")


class RecordedError(ValueError):
    """The record of an exchange is not the record of any exchange; the message is one line."""


@dataclass(frozen=True)
class Recorded:
    """An exchange of a report. `note`, `wanted` and `entry` are as `runner.Exchange` has them."""

    transcript: Transcript
    note: str
    wanted: str
    entry: Mapping[str, Any] | None = None


def recorded(entry: Mapping[str, Any]) -> Recorded:
    """The exchange of which `entry` is the record. Raises RecordedError.

    Its bytes are read again as the run read them, and have to end as the record says.
    """
    try:
        transcript = Transcript(
            request=base64.b64decode(entry["request"], validate=True),
            sent=entry["sent"],
            received=base64.b64decode(entry["response"], validate=True),
            ending=entry["ending"],
            detail=entry["detail"],
            reused=entry["reused"],
            open=entry["open"],
            duration_s=entry["duration_ms"] / 1000,
        )
    except KeyError as error:
        raise RecordedError(f"the record of an exchange lacks {error}") from error
    except (ValueError, OverflowError) as error:
        raise RecordedError(f"the record of an exchange is not one: {error}") from error
    problem = _contradiction(transcript)
    if problem:
        raise RecordedError(problem)
    return Recorded(transcript, entry["note"], entry.get("wanted", ""), entry.get("entry"))


def _contradiction(transcript: Transcript) -> str:
    """Why no exchange can have left this transcript, "" where one can."""
    length, came = len(transcript.request), len(transcript.received)
    if transcript.sent > length:
        return f"{transcript.sent} bytes are said to be sent of a request of {length}"
    if transcript.ending == REFUSED and (transcript.sent or came):
        return "bytes went over a connection that is said to be refused"
    reader = ResponseReader(Limits())
    if came:
        reader.feed(bytes(transcript.received))
    fits = _ends_so(reader, transcript)
    if not fits:
        return f"the recorded response of {came} bytes does not end as it is said to: " + (
            transcript.ending
        )
    keep = transcript.ending == COMPLETE and reader.reusable and transcript.sent == length
    if transcript.open != keep:
        said = "left open" if transcript.open else "closed"
        return f"the connection is said to be {said}, which these bytes do not allow"
    return ""


def _ends_so(reader: ResponseReader, transcript: Transcript) -> bool:
    """Whether what `reader` has read ends as the transcript says."""
    ending = transcript.ending
    unfinished = not reader.done and not reader.error
    if ending in (TIMEOUT, REFUSED):
        return unfinished
    limit = Limits().response_to(len(transcript.request))
    if ending == TOO_LARGE and len(transcript.received) > limit:
        return unfinished
    if ending == CLOSED and transcript.detail != "the server closed the connection":
        return unfinished  # it was reset, so that even an answer up to the end is none
    cut_off = unfinished
    if unfinished:
        reader.feed(b"")
    if ending == CLOSED:
        return cut_off and not reader.done and not reader.error
    if ending == COMPLETE:
        return reader.done and not reader.error
    return ending in (MALFORMED, TOO_LARGE) and ending == _error_of(reader)


def _error_of(reader: ResponseReader) -> str:
    return reader.error_ending if reader.error else ""


def first_difference(sent: bytes, wanted: bytes, mask: Mask) -> int | None:
    """The offset at which a recorded request `sent` differs from the one `wanted`, else None.

    Where `mask` hides fields, what the record has masked is not compared: their values, and each
    run of six asterisks or more. Everything else has to be equal, and so do the lengths.
    """
    if sent == wanted:
        return None
    if mask.fields:
        wanted = mask.data(wanted)
        if len(sent) == len(wanted):
            seen = bytearray(wanted)
            for run in _MASKED.finditer(sent):
                seen[run.start() : run.end()] = run[0]
            wanted = bytes(seen)
    if sent == wanted:
        return None
    pairs = zip(sent, wanted, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(sent), len(wanted)))


def hides(transcript: Transcript, mask: Mask) -> bool:
    """Whether the record may have masked some of the response's body, which is judged."""
    body = bytes(transcript.received).partition(b"\r\n\r\n")[2]
    return bool(mask.fields) and _MASKED.search(body) is not None
