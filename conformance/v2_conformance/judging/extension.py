"""Decides whether a server leaves the extension out: it claims nothing and serves nothing. Pure.

A run stops once its cases have shown that, and the verdict on its report follows from the same
rule. Whatever is only broken, unclear or slow is not left out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from v2_conformance.judging.verdict import Verdict
from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.names import EXTENSION, HEADER_LENGTH
from v2_conformance.suite.causes.base import counted
from v2_conformance.suite.causes.causes import Cause, died
from v2_conformance.suite.causes.kinds import ExtensionLeftOut, Hung, RoleAbsent
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.messages import one_number, read_head
from v2_conformance.wire.response import Response

LEFT_OUT = Verdict(Outcome.NOT_RUN, ExtensionLeftOut())
_METADATA = "P1"
SHOWN_BY = frozenset(
    (_METADATA, "P2", "P12", "P13", "P14", "D9", "D11", "M6", "O1", "O2", "O4", "O5", "W1", "W2")
)
"""Requirements whose cases show it. All are correct requests: with blobs of every datatype, raw
ones, JSON inputs with binary outputs, and plain JSON."""

# Any other outcome leaves open what the server does.
_CLEAR = frozenset({Outcome.PASS, Outcome.FAIL, Outcome.DISPUTED, Outcome.UNSUPPORTED})


@dataclass(frozen=True)
class Tried:
    """One case, with its requests and the whole response to each, None if there was none."""

    requirement: str
    outcome: Outcome
    cause: Cause | None
    exchanges: Sequence[tuple[Buffer, Response | None]]

    @cached_property
    def refusals(self) -> list[int]:
        """The status of every rejection of a request with a blob."""
        return [
            answer.status
            for request, answer in self.exchanges
            if answer is not None and answer.status >= 400 and _has_blob(request)
        ]

    @property
    def is_served(self) -> bool:
        """True if a request with a blob was accepted, or a response had binary data."""
        return any(
            answer is not None
            and answer.status < 400
            and (answer.values(HEADER_LENGTH.lower()) or _has_blob(request))
            for request, answer in self.exchanges
        )

    @property
    def leaves_open(self) -> bool:
        """True if the server does not answer as one without the extension that works otherwise."""
        if died(self.cause) or isinstance(self.cause, Hung):
            return True
        if self.requirement not in SHOWN_BY:
            return False
        if self.requirement == _METADATA:
            all_json = all(_is_json(answer) for _, answer in self.exchanges)
            return self.outcome is not Outcome.FAIL or not all_json
        if self.outcome not in _CLEAR and not isinstance(self.cause, RoleAbsent):
            return True
        return any(a is None or (a.status < 400 and not _is_json(a)) for _, a in self.exchanges)

    @property
    def shows_json(self) -> bool:
        """True if plain JSON inference got the right answer."""
        if self.requirement == _METADATA or self.outcome is not Outcome.PASS:
            return False
        return any(a is not None and a.status < 400 for _, a in self.exchanges)


def left_out(
    tried: Collection[Tried], planned: Mapping[str, int], extensions: Collection[str]
) -> str:
    """Return what shows that a server leaves the extension out, in a sentence; "" if it does not.

    `tried` are all cases of a run so far, `planned` the number of cases of each requirement, and
    `extensions` what the server's metadata lists. Every planned case of `SHOWN_BY` must be there.
    """
    there = Counter(case.requirement for case in tried)
    if EXTENSION in extensions or not planned.get(_METADATA):
        return ""
    if any(there[name] != planned.get(name, 0) for name in SHOWN_BY):
        return ""
    if any(case.is_served or case.leaves_open for case in tried):
        return ""
    shown = [case for case in tried if case.requirement in SHOWN_BY]
    refused = Counter(status for case in shown for status in case.refusals)
    if not refused or not any(case.shows_json for case in shown):
        return ""
    statuses = " or ".join(str(status) for status in sorted(refused))
    return (
        f"the server does not implement the extension: GET /v2 does not list {EXTENSION}, "
        f"{counted(refused.total(), 'correct request')} with blobs got {statuses}, and no response "
        "had binary data; plain JSON is served"
    )


def _has_blob(request: Buffer) -> bool:
    """Return True if a request's header length says that something follows its JSON.

    A body that is all JSON is not one: a server that ignores the header may well serve it.
    """
    data = bytes(request)
    head = read_head(data)
    length = one_number(head.values(HEADER_LENGTH.lower()))
    return length is not None and length < len(data) - head.end and not _parses(data[head.end :])


def _is_json(answer: Response | None) -> bool:
    return answer is not None and answer.status < 400 and _parses(bytes(answer.body))


def _parses(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True
