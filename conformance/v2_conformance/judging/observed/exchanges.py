"""Judges rules for every exchange over all exchanges of a run. Pure.

`observe` looks at the exchanges of one case once they are there, and keeps only its findings; the
verdict on an observed case is folded from those, so that no body need be kept. Order does not
matter: concurrent cases, and a report that is judged again, give the same result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

import msgspec

from v2_conformance.judging.checks import check_binary_type, check_data_or_size, check_json_type
from v2_conformance.judging.messages.response import declared_sizes
from v2_conformance.judging.messages.response_json import is_error
from v2_conformance.judging.observed.look import Look
from v2_conformance.judging.verdict import Finding, Verdict
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.suite.cases import ObservedCase, SentCase
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.causes.base import Count, excerpt, printable
from v2_conformance.suite.causes.causes import Cause, NotKept
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending
from v2_conformance.wire.transport import asks_to_close

READINGS = "readings"
"""The rule about what requests mean that the documents dispute; see `observe_verdict`."""
_SHOWN = 10
_LONGEST_READING = 100
_AT_ONCE_MS = 500.0
"""A connection that a server closes within this time was not closed because it was idle."""
_PATIENCE_MS = 500.0
"""A client that waits less before it sends its body leaves a server no time to ask for it."""

OF_THE_PATH = frozenset(
    {401, 403, 407, 408, 411, 413, 414, 417, 421, 425, 426, 428, 429, 431}
    | {501, 502, 503, 504, 505, 511}
)
"""Statuses of errors that a proxy, or the HTTP layer, finds before the inference server sees the
request: their bodies are not the inference server's (docs/disputes.md)."""

_OF_THE_DECODER = frozenset({400, 415})
_ABILITIES = frozenset({"chunked_requests", "zero_elements"})
"""Optional features, which a server that has them anywhere must have everywhere."""


class Observation(msgspec.Struct, frozen=True):
    """Result of one case's exchanges for one observed rule.

    `wrong` of the `judged` exchanges break it; `first` is what is wrong in the first of them.
    `rare` says that no common client sends such requests.
    """

    what: str
    case: str
    judged: Count
    wrong: Count
    first: Cause | None = None
    rare: bool = False


def observe(case: SentCase, exchanges: Iterable[Exchange]) -> tuple[Observation, ...]:
    """Return what the recorded exchanges of a case show about every observed rule."""
    judged: Counter[str] = Counter()
    wrong: dict[str, list[Cause]] = {}
    for look in (Look(case, exchange) for exchange in exchanges):
        renamed = _BY_HTTP_1_0 if look.request.version == "1.0" else {}
        for rule, check in _CHECKS.items():
            what = renamed.get(rule, rule)
            try:
                shown = check(look)
            except Finding as finding:
                shown = True
                wrong.setdefault(what, []).append(finding.cause)
            judged[what] += shown
    results = []
    for what, count in judged.items():
        causes = wrong.get(what)
        if causes:
            results.append(Observation(what, case.id, count, len(causes), causes[0], case.rare))
        elif count:
            results.append(Observation(what, case.id, count, 0))
    return tuple(results)


class Observations:
    """Observations of the cases of a run; the last one added for a case counts."""

    def __init__(self) -> None:
        self._seen: dict[str, dict[str, Observation]] = {}  # by what was seen, then by case

    def add(self, seen: Iterable[Observation]) -> None:
        """Add what `observe` found in a case."""
        for one in seen:
            self._seen.setdefault(one.what, {})[one.case] = one

    def replace(self, case: str, seen: Iterable[Observation]) -> None:
        """Put what is now found in a case in the place of all that was added for it."""
        for known in self._seen.values():
            known.pop(case, None)
        self.add(seen)

    def are_wrong(self, what: str) -> bool:
        """Return True if some exchange was seen to break the rule."""
        return any(one.wrong for one in self._seen.get(what, {}).values())

    def verdict(self, case: ObservedCase) -> Verdict:
        """Return the verdict on the observed `case`, from everything that was added."""
        results = list(self._seen.get(case.observed, {}).values())
        judged = sum(one.judged for one in results)
        if case.observed == READINGS and (different := _different(results)):
            return Verdict(Outcome.FAIL, kinds.ReadingsDiffer(different))
        # Those about requests of ordinary clients before those about rare ones.
        wrong = sorted((one for one in results if one.wrong), key=lambda one: (one.rare, one.case))
        count = sum(one.wrong for one in wrong)
        if not judged or (case.observed in _ABILITIES and count == judged):
            answers = sum(one.judged for one in self._seen.get("status_lines", {}).values())
            outcome = Outcome.UNSUPPORTED if answers else Outcome.INCONCLUSIVE
            return Verdict(outcome, kinds.NothingObserved(answers))
        if not wrong or wrong[0].first is None:
            return Verdict(Outcome.PASS, kinds.AllKept(judged))
        cases = tuple(one.case for one in wrong)
        more = len(cases[_SHOWN:])
        cause = NotKept(count, judged, cases[:_SHOWN], more, wrong[0].first, wrong[0].rare)
        return Verdict(Outcome.FAIL, cause)


def _different(results: Iterable[Observation]) -> tuple[str, ...]:
    """Return how requests of one entry were read, if that differs: "CASE: reading"."""
    entries: dict[str, dict[Cause | None, str]] = {}
    for one in sorted(results, key=lambda one: one.case):
        readings = entries.setdefault(one.case.partition("[")[0], {})
        words = "" if one.first is None else printable(one.first.words(), _LONGEST_READING)
        reading = None if isinstance(one.first, kinds.Rejected) else one.first  # with any status
        readings.setdefault(reading, f"{one.case}: {words}")
    return next((tuple(all_.values()) for all_ in entries.values() if len(all_) > 1), ())


Check = Callable[[Look], bool]
"""True if the exchange shows whether the rule holds. Raises Finding if the exchange breaks it."""


def _error_status(look: Look) -> bool:
    response = look.response
    if response is None or not is_error(response):
        return False
    if response.status < 400:
        raise Finding(kinds.WrongStatus("4xx or 5xx", response.status, excerpt(response.body)))
    return True


def _error_bodies(look: Look) -> bool:
    """Check errors of the inference server, not those that a proxy or the HTTP layer finds."""
    response = look.error or look.unlabeled_error
    if response is None or look.purpose.canary or response.status in OF_THE_PATH:
        return False
    problem = look.error_problem
    if problem is None:
        return True
    if isinstance(problem, kinds.ReadsNoDeeper):
        return False
    if _from_below(look, response.status):
        return False
    raise Finding(problem)


def _from_below(look: Look, status: int) -> bool:
    """Return True if the HTTP layer, its router or its decoder may have found the error in the
    request.
    """
    request = look.request
    if not request.plain:
        return True
    if request.method in ("GET", "HEAD") and request.body:  # RFC 9110, sections 9.3.1 and 9.3.2
        return True
    if status not in _OF_THE_DECODER or not request.values("content-encoding"):
        return False
    # Of a coding that a server only should know, the decoder may know nothing.
    return request.decoded() is None or look.case.level == "SHOULD"


def _client_errors(look: Look) -> bool:
    """Check only definite client errors: requests that every server must reject."""
    response, case = look.error, look.case
    if response is None or look.purpose.canary or response.status in OF_THE_PATH:
        return False
    if case.expects != "reject" or case.level == "MAY" or "server_limit" in case.expect:
        return False
    if response.status >= 500:
        raise Finding(kinds.WrongStatus("4xx", response.status, excerpt(response.body)))
    return True


def _error_types(look: Look) -> bool:
    """Check only errors that are JSON: text labeled as text has the right type."""
    response = look.error
    if response is None or response.status in OF_THE_PATH or look.error_problem is not None:
        return False
    check_json_type(response)
    return True


def _error_header_lengths(look: Look) -> bool:
    response = look.error
    if response is None:
        return False
    got = response.value(HEADER_LENGTH)
    if got is not None and got != str(len(response.body)):
        raise Finding(kinds.HeaderLengthUnexpected(printable(got, 60)))
    return True


def _ids(look: Look) -> bool:
    if look.json is None:
        return False
    sent = look.request.id()
    if sent is None:
        return False
    got = look.json.get("id")
    if got != sent:
        raise Finding(kinds.WrongId(ascii(sent)[:200], ascii(got)[:200]))
    return True


def _binary_types(look: Look) -> bool:
    if look.response is None or not look.blob_bytes:
        return False
    check_binary_type(look.response)
    return True


def _json_types(look: Look) -> bool:
    response = look.response
    if response is None or look.json is None or declared_sizes(look.json["outputs"]):
        return False
    if response.values(HEADER_LENGTH):
        return False
    check_json_type(response)
    return True


def _unique_members(look: Look) -> bool:
    if look.json is None:
        return False
    if look.repeated is not None:
        raise Finding(kinds.RepeatedMember(printable(look.repeated, 60)))
    return True


def _data_or_size(look: Look) -> bool:
    if look.json is None or not look.blob_bytes:
        return False
    outputs = look.json["outputs"]
    if sum(n for n in declared_sizes(outputs) if isinstance(n, int)) != look.blob_bytes:
        return False
    check_data_or_size(outputs)
    return True


def _keeps(rules: Collection[kinds.HttpRule], look: Look) -> bool:
    broken = next((one for one in look.syntax.broken if one.rule in rules), None)
    if broken is not None:
        raise Finding(broken)
    # An incomplete response can break a rule, but not show that it is kept.
    return look.syntax.judged and look.exchange.ending in (Ending.COMPLETE, Ending.MALFORMED)


def _nothing_after(look: Look) -> bool:
    if look.exchange.stray_before:
        raise Finding(kinds.StrayBytes(look.exchange.stray_before))
    response = look.exchange.response
    if response is None:
        return False
    if response.excess:
        raise Finding(kinds.BytesAfterResponse(response.excess))
    return True


def _announced_closes(look: Look) -> bool:
    exchange = look.exchange
    if exchange.response is None:
        return False
    closed_ms = exchange.closed_before_ms
    if closed_ms is not None and closed_ms <= _AT_ONCE_MS:
        raise Finding(kinds.UnannouncedClose(round(closed_ms)))
    return exchange.open


def _closes_after(asks: Check, look: Look) -> bool:
    """Check a connection that the server is to close after the answer."""
    if look.exchange.ending is not Ending.COMPLETE or not asks(look):
        return False
    if look.exchange.open:
        raise Finding(kinds.LeftOpen())
    return True


def _continues(look: Look) -> bool:
    """Check only a client that waited before it sent its body, and only if both sides speak
    HTTP/1.1.
    """
    exchange = look.exchange
    waited_ms, first_ms = exchange.pause_ms, exchange.first_byte_ms
    if waited_ms < _PATIENCE_MS or first_ms is None:
        return False
    expects = "100-continue" in map(str.lower, look.request.values("expect"))
    old = look.request.version == "1.0" or exchange.received.start(8) == b"HTTP/1.0"
    if old or not expects:
        return False
    if first_ms >= waited_ms:
        raise Finding(kinds.NotContinued(round(waited_ms)))
    return True


_RULES: Mapping[str, tuple[kinds.HttpRule, ...]] = {
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
_BY_HTTP_1_0: Mapping[str, str] = {
    "transfer_codings": "transfer_codings_to_http_1_0",
    "interim_responses": "interim_responses_to_http_1_0",
}
"""Rules that are stricter for clients of HTTP/1.0, which have cases of their own."""

_CHECKS: Mapping[str, Check] = {
    "error_status": _error_status,
    "nothing_after": _nothing_after,
    "announced_closes": _announced_closes,
    "asked_closes": partial(
        _closes_after, lambda look: asks_to_close(bytes(look.exchange.request))
    ),
    "closes_after_two_lengths": partial(
        _closes_after,
        lambda look: all(map(look.request.values, ("transfer-encoding", "content-length"))),
    ),
    "continues": _continues,
    "error_bodies": _error_bodies,
    "client_errors": _client_errors,
    "error_types": _error_types,
    "error_header_lengths": _error_header_lengths,
    "ids": _ids,
    "binary_types": _binary_types,
    "json_types": _json_types,
    "unique_members": _unique_members,
    "data_or_size": _data_or_size,
    **{what: partial(_keeps, rules) for what, rules in _RULES.items()},
}
"""Every rule that an exchange can show, under the name that a case gives as `observed`."""

OF_EXCHANGES = frozenset({*_CHECKS, *_BY_HTTP_1_0.values()})
