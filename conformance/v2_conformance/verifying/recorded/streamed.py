"""Checks an exchange whose tensor was streamed, so that the report does not contain it.

The tensor sent, and so its digest, follows from the case. Of the received one the report has the
beginning, and lengths that must fit each other; the rest is believed (`Belief.STREAMED`).
"""

from __future__ import annotations

from v2_conformance.suite.values.offset_pattern import pattern_bytes, pattern_digest
from v2_conformance.wire.http1.response import ResponseReader
from v2_conformance.wire.messages import members
from v2_conformance.wire.streamed import Streamed, StreamedTensor
from v2_conformance.wire.streamed_response import json_length
from v2_conformance.wire.transcript import Ending, Limits, Response, Transcript


def streamed_problem(tensor: StreamedTensor | None, transcript: Transcript) -> str | None:
    """Return how the record of a tensor differs from what the suite sends, None if it does not."""
    found = transcript.streamed
    if tensor is None or found is None:
        both_none = tensor is None and found is None
        return None if both_none else "either it or the record has a huge tensor, but not both"
    if found.size != tensor.size:
        return f"its tensor has {tensor.size} bytes, the record says {found.size}"
    sent = max(0, transcript.sent - len(transcript.request))
    if found.sha256 != pattern_digest(min(sent, tensor.size)):
        return f"the digest of the {sent} bytes of its tensor that were sent is another one"
    return None


def streamed_contradiction(transcript: Transcript, found: Streamed) -> str | None:
    """Return why no exchange can have produced this record, None if one can."""
    kept, response, ending = len(transcript.received), transcript.partial, transcript.ending
    if kept > found.came:
        return f"the record has {kept} bytes of a response of {found.came}"
    if response is None:
        return _without_head(transcript, found)
    if len(response.body) > found.body or found.body > found.came:
        return "the record has more of the response's body than came"
    length = response.value("content-length") if response.framing == "content-length" else None
    if ending is Ending.COMPLETE and length is not None and length != str(found.body):
        return f"the response has {found.body} bytes of body, its Content-Length is {length}"
    json_end = json_length(response.status, response.headers)
    tensor = 0 if json_end is None else max(0, found.body - json_end)
    if tensor != found.tensor:
        return f"{tensor} bytes follow the JSON, the record says {found.tensor}"
    whole = ending is Ending.COMPLETE and transcript.sent == transcript.asked
    if transcript.open and (not whole or found.excess or asks_to_close(response)):
        return "the record says the connection was left open, which its bytes rule out"
    return None if json_end is None else _difference(bytes(response.body[json_end:]), found)


def asks_to_close(response: Response) -> bool:
    """Return True if a response announces that the connection closes after it."""
    if response.framing == "close":
        return True
    return "close" in members(response.values("connection"))


def _without_head(transcript: Transcript, found: Streamed) -> str | None:
    """Return the same for a record without the head of a response."""
    if transcript.ending is Ending.COMPLETE or transcript.open:
        return "the recorded response has no head, but it is said to be complete"
    if found.body or found.tensor or found.difference or found.came != len(transcript.received):
        return "the record has a tensor of a response without a head"
    reader = ResponseReader(Limits())
    if transcript.received:
        reader.feed(bytes(transcript.received))
    if bool(reader.error) is not (transcript.ending in (Ending.MALFORMED, Ending.TOO_LARGE)):
        return f"the recorded response does not end as the record says: {transcript.ending}"
    return None


def _difference(kept: bytes, found: Streamed) -> str | None:
    """Return why the start of a tensor and its first difference contradict each other, None if they
    do not.
    """
    kept = kept[: found.size]
    same = pattern_bytes(0, len(kept))
    at = next((i for i, (a, b) in enumerate(zip(kept, same, strict=True)) if a != b), None)
    difference = found.difference
    if difference is None:
        return None if at is None else f"byte {at} of its tensor differs, but the record says no"
    if at is not None and at != difference.offset:
        return f"the first byte of its tensor that differs is {at}, not {difference.offset}"
    if at is None and difference.offset < len(kept):
        return f"byte {difference.offset} of its tensor does not differ"
    got = bytes.fromhex(difference.got)
    shown = difference.offset - difference.start
    if not 0 <= shown < len(got) or difference.start + len(got) > min(found.tensor, found.size):
        return "what is recorded around the first difference is not there"
    want = pattern_bytes(difference.start, difference.start + len(got))
    if got[:shown] != want[:shown] or got[shown] == want[shown] or not difference.differing:
        return "what is recorded around the first difference does not differ there first"
    return None
