"""What every exchange has to keep, judged over all exchanges of a run. Pure.

`observe` looks at the exchanges of one case when they are there, and keeps only what it found; the
verdict on an observed case is folded from that, so that no body need be kept. It depends on no
order: cases that run at the same time, and a report that is judged again, come to the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from v2_conformance.judging.checks import check_binary_type, check_data_or_size, check_json_type
from v2_conformance.judging.errors import check_error_body, has_error_body, is_error
from v2_conformance.judging.http_syntax import Syntax, fields_syntax, read_syntax
from v2_conformance.judging.request import ReadRequest, read_request
from v2_conformance.judging.response import (
    asked_size,
    decode_body,
    decoded_limit,
    read_header_length,
)
from v2_conformance.judging.response_json import parse_noting
from v2_conformance.judging.verdict import Finding, Verdict
from v2_conformance.protocol.message import MessageError
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.suite.cases import ObservedCase, SentCase
from v2_conformance.suite.causes import Cause, NotKept
from v2_conformance.suite.findings import (
    BytesAfterResponse,
    Count,
    HeaderLengthUnexpected,
    RepeatedMember,
    WrongId,
    WrongStatus,
    excerpt,
    printable,
)
from v2_conformance.suite.observations import (
    AllKept,
    HttpRule,
    NotContinued,
    NothingObserved,
    Observed,
    StrayBytes,
    UnannouncedClose,
)
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_conformance.wire.transcript import Ending, Response, Transcript

_SHOWN = 10
_SIZE = "binary_data_size"
_AT_ONCE_S = 0.5
"""A connection that a server closes within this time was not closed because it was idle."""
_PATIENCE_S = 0.5
"""A client that waits less before it sends its body leaves a server no time to ask for it."""

OF_THE_PATH = frozenset(
    {401, 403, 407, 408, 411, 413, 414, 417, 421, 425, 426, 428, 429, 431}
    | {501, 502, 503, 504, 505, 511}
)
"""Statuses of errors that a proxy, or the HTTP layer, finds before the inference server sees the
request: their bodies are not the inference server's (docs/disputes.md)."""

_OF_THE_DECODER = frozenset({400, 415})


class Seen(msgspec.Struct, frozen=True):
    """What the exchanges of one case show of one thing that is observed.

    `wrong` of the `judged` exchanges do not keep it; `first` is what is wrong in the first of them.
    """

    what: Observed
    case: str
    judged: Count
    wrong: Count
    first: Cause | None = None


def observe(case: SentCase, exchanges: Iterable[tuple[Purpose, Transcript]]) -> tuple[Seen, ...]:
    """What the recorded exchanges of a case show of everything that is observed.

    One with a streamed tensor shows nothing: only the beginnings of its messages are there.
    """
    looks = [
        _Look(case, purpose, transcript)
        for purpose, transcript in exchanges
        if transcript.streamed is None
    ]
    # Almost all responses break no rule of HTTP, and so show as much of one as of another.
    unbroken = not any(look.syntax.broken for look in looks)
    shown = sum(map(_shows_syntax, looks)) if unbroken else 0
    found = (
        Seen(what, case.id, shown, 0)
        if unbroken and what in _RULES
        else _seen(what, case.id, check, looks)
        for what, check in _CHECKS.items()
    )
    return tuple(seen for seen in found if seen.judged)


class Observations:
    """What was seen of the cases of a run; what is added last of a case counts."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], Seen] = {}

    def add(self, seen: Iterable[Seen]) -> None:
        """Take what `observe` found of a case."""
        self._seen.update({(one.what, one.case): one for one in seen})

    def verdict(self, case: ObservedCase) -> Verdict:
        """The verdict on what `case` is about, from everything that was added."""
        found = [one for (what, _), one in self._seen.items() if what == case.observed]
        judged = sum(one.judged for one in found)
        if not judged:
            answers = sum(s.judged for (what, _), s in self._seen.items() if what == "status_lines")
            outcome = Outcome.UNSUPPORTED if answers else Outcome.INCONCLUSIVE
            return Verdict(outcome, NothingObserved(answers))
        wrong = sorted((one for one in found if one.first is not None), key=lambda one: one.case)
        if not wrong or wrong[0].first is None:
            return Verdict(Outcome.PASS, AllKept(judged))
        cases = tuple(one.case for one in wrong)
        count = sum(one.wrong for one in wrong)
        cause = NotKept(count, judged, cases[:_SHOWN], len(cases[_SHOWN:]), wrong[0].first)
        return Verdict(Outcome.FAIL, cause)


@dataclass(frozen=True)
class _Look:
    """An exchange, read as far as anything that is observed needs it, each part once."""

    case: SentCase
    purpose: Purpose
    transcript: Transcript

    @cached_property
    def request(self) -> ReadRequest:
        return read_request(self.transcript.request)

    @cached_property
    def response(self) -> Response | None:
        """The response without its content coding, None if there is none that can be read."""
        response = self.transcript.response
        if response is None:
            return None
        try:
            return decode_body(response, limit=decoded_limit(asked_size(self.transcript.request)))
        except Finding:
            return None

    @cached_property
    def syntax(self) -> Syntax:
        """What the bytes of the response show of HTTP's rules; over HTTP/2, what its fields do."""
        response = self.transcript.response
        if self.transcript.http2 is not None:
            return fields_syntax(() if response is None else response.headers)
        offered = ",".join(self.request.values("te")).lower().split(",")
        codings = {coding.partition(";")[0].strip().encode() for coding in offered}
        old = self.request.version == "1.0"
        return read_syntax(self.transcript.received, offered=codings, old_client=old)

    @cached_property
    def error(self) -> Response | None:
        """The response, if it is an error with the status of one."""
        response = self.response
        return response if response is not None and response.status >= 400 else None

    @property
    def unlabeled_error(self) -> Response | None:
        """The response as it came, if it is an error in a coding that no Content-Encoding names."""
        response = self.transcript.response
        if response is None or self.response is not None or response.status < 400:
            return None
        return None if response.values("Content-Encoding") else response

    @cached_property
    def json_end(self) -> int | None:
        """Where the JSON of a successful response ends, None if it cannot be found."""
        response = self.response
        if response is None or response.status != 200:
            return None
        try:
            length = read_header_length(response)
        except Finding:
            return None
        end = len(response.body) if length is None else length
        return end if end <= len(response.body) else None

    @cached_property
    def parsed(self) -> tuple[dict[str, Any], str | None] | None:
        """The JSON of a successful inference, and the first member that is there twice."""
        if self.json_end is None or self.response is None:
            return None
        try:
            document, repeated = parse_noting(self.response.body[: self.json_end])
        except MessageError:
            return None
        return (document, repeated) if isinstance(document.get("outputs"), list) else None

    @property
    def has_blobs(self) -> bool:
        """Whether bytes follow the JSON of a successful inference."""
        if self.parsed is None or self.response is None or self.json_end is None:
            return False
        return self.json_end < len(self.response.body)

    @property
    def sizes(self) -> list[Any]:
        """The sizes that the outputs of a successful inference declare."""
        outputs = self.parsed[0]["outputs"] if self.parsed else []
        entries = [entry for entry in outputs if isinstance(entry, dict)]
        given = [entry.get("parameters") for entry in entries]
        return [one[_SIZE] for one in given if isinstance(one, dict) and one.get(_SIZE) is not None]

    @property
    def sizes_fit(self) -> bool:
        """Whether as many bytes follow the JSON as the sizes declare."""
        if self.response is None or self.json_end is None:
            return False
        declared = sum(size for size in self.sizes if isinstance(size, int))
        return declared == len(self.response.body) - self.json_end


Check = Callable[[_Look], bool]
"""Whether an exchange shows the thing. Raises Finding if it does not keep it."""


def _seen(what: Observed, case: str, check: Check, looks: Iterable[_Look]) -> Seen:
    judged = 0
    wrong: list[Cause] = []
    for look in looks:
        try:
            judged += check(look)
        except Finding as finding:
            judged += 1
            wrong.append(finding.cause)
    return Seen(what, case, judged, len(wrong), wrong[0] if wrong else None)


def _error_status(look: _Look) -> bool:
    response = look.response
    if response is None or not is_error(response):
        return False
    if response.status < 400:
        raise Finding(WrongStatus("4xx or 5xx", response.status, excerpt(response.body)))
    return True


def _error_bodies(look: _Look) -> bool:
    response = look.error or look.unlabeled_error
    if response is None or response.status in OF_THE_PATH:
        return False
    if _found_below(look.request, response.status) and not has_error_body(response):
        return False
    check_error_body(response)
    return True


def _found_below(request: ReadRequest, status: int) -> bool:
    """Whether the HTTP layer, its router or its decoder may have found the error in `request`."""
    if not request.plain:
        return True
    return status in _OF_THE_DECODER and request.decoded() is None


def _client_errors(look: _Look) -> bool:
    """Only what is a client's mistake for certain: a request that every server must reject."""
    response, case = look.error, look.case
    if response is None or look.purpose.canary or response.status in OF_THE_PATH:
        return False
    if case.expects != "reject" or case.level == "MAY" or "server_limit" in case.expect:
        return False
    if response.status >= 500:
        raise Finding(WrongStatus("4xx", response.status, excerpt(response.body)))
    return True


def _error_types(look: _Look) -> bool:
    """Only of errors that are JSON: text that is typed as text has the right type."""
    response = look.error
    if response is None or response.status in OF_THE_PATH or not has_error_body(response):
        return False
    check_json_type(response)
    return True


def _error_header_lengths(look: _Look) -> bool:
    response = look.error
    if response is None:
        return False
    got = response.value(HEADER_LENGTH)
    if got is not None and got != str(len(response.body)):
        raise Finding(HeaderLengthUnexpected(printable(got, 60)))
    return True


def _ids(look: _Look) -> bool:
    if look.parsed is None:
        return False
    sent = look.request.id()
    if sent is None:
        return False
    got = look.parsed[0].get("id")
    if got != sent:
        raise Finding(WrongId(ascii(sent)[:200], ascii(got)[:200]))
    return True


def _binary_types(look: _Look) -> bool:
    if look.response is None or not look.has_blobs:
        return False
    check_binary_type(look.response)
    return True


def _json_types(look: _Look) -> bool:
    response = look.response
    if response is None or look.parsed is None or look.sizes or response.values(HEADER_LENGTH):
        return False
    check_json_type(response)
    return True


def _unique_members(look: _Look) -> bool:
    if look.parsed is None:
        return False
    if look.parsed[1] is not None:
        raise Finding(RepeatedMember(printable(look.parsed[1], 60)))
    return True


def _data_or_size(look: _Look) -> bool:
    if look.parsed is None or not look.has_blobs or not look.sizes_fit:
        return False
    check_data_or_size(look.parsed[0]["outputs"])
    return True


def _keeps(rules: Collection[HttpRule]) -> Check:
    """A check that a response breaks none of HTTP's `rules`."""

    def check(look: _Look) -> bool:
        broken = look.syntax.first_of(rules)
        if broken is not None:
            raise Finding(broken)
        return _shows_syntax(look)

    return check


def _shows_syntax(look: _Look) -> bool:
    """Whether an exchange that breaks none of HTTP's rules shows that a server keeps them: one that
    did not come whole can break a rule, but shows nothing by keeping it."""
    whole = look.transcript.ending in (Ending.COMPLETE, Ending.MALFORMED)
    return whole and look.syntax.judged


def _nothing_after(look: _Look) -> bool:
    if look.transcript.stray_before:
        raise Finding(StrayBytes(look.transcript.stray_before))
    response = look.transcript.response
    if response is None:
        return False
    if response.excess:
        raise Finding(BytesAfterResponse(response.excess))
    return True


def _announced_closes(look: _Look) -> bool:
    transcript = look.transcript
    if transcript.response is None:
        return False
    closed_s = transcript.closed_before_s
    if closed_s is not None and closed_s <= _AT_ONCE_S:
        raise Finding(UnannouncedClose(round(closed_s * 1000)))
    return transcript.open


def _continues(look: _Look) -> bool:
    """Only of a client that waited before it sent its body, and if both sides speak HTTP/1.1."""
    transcript, request = look.transcript, look.request
    waited_s, first_s = transcript.pause_s, transcript.first_byte_s
    expects = "100-continue" in map(str.lower, request.values("expect"))
    if request.version == "1.0" or bytes(transcript.received[:8]) == b"HTTP/1.0":
        return False
    if not expects or waited_s < _PATIENCE_S or first_s is None:
        return False
    if first_s >= waited_s:
        raise Finding(NotContinued(round(waited_s * 1000)))
    return True


_RULES: Mapping[Observed, tuple[HttpRule, ...]] = {
    "status_lines": ("status_line",),
    "line_ends": ("line_end",),
    "field_names": ("field_name", "space_before_colon"),
    "field_values": ("field_value",),
    "folded_fields": ("folded_line",),
    "single_fields": ("repeated_field",),
    "framing": ("content_length_not_allowed",),
    "content_lengths": ("content_length",),
    "transfer_codings": ("transfer_coding",),
    "chunks": ("chunk",),
    "interim_responses": ("interim_response",),
}
"""Rules of HTTP whose breach is in the bytes of a response."""

_CHECKS: Mapping[Observed, Check] = {
    "error_status": _error_status,
    "error_bodies": _error_bodies,
    "client_errors": _client_errors,
    "error_types": _error_types,
    "error_header_lengths": _error_header_lengths,
    "ids": _ids,
    "binary_types": _binary_types,
    "json_types": _json_types,
    "unique_members": _unique_members,
    "data_or_size": _data_or_size,
    **{what: _keeps(rules) for what, rules in _RULES.items()},
    "nothing_after": _nothing_after,
    "announced_closes": _announced_closes,
    "continues": _continues,
}
