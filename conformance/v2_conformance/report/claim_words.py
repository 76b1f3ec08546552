"""The words for a verdict and for what it is about: the same everywhere that people read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from v2_conformance.suite.causes import Cause
from v2_conformance.suite.circumstances import NotOverHttp2, RoleAbsent
from v2_conformance.suite.outcomes import Outcome

INCOMPLETE = "incomplete run"
CONSISTENT, NOT_CONSISTENT, NOT_SHOWN = "consistent", "not consistent", "consistency not shown"
CONFORMANT, NOT_ROBUST, NOT_CONFORMANT = (
    "conformant, robust",
    "conformant, not robust",
    "not conformant",
)
_BFLOAT = ("bf16", "BF16")  # the profile and its datatype
_SENT_NOTHING = frozenset({Outcome.UNSUPPORTED, Outcome.NOT_RUN})


class _Case(Protocol):
    @property
    def requirement(self) -> str: ...
    @property
    def outcome(self) -> Outcome: ...
    @property
    def cause(self) -> Cause | None: ...


class _Row(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def cases(self) -> Mapping[Outcome, int]: ...


def verdict_words(
    *,
    conformant: bool,
    robust: bool,
    complete: bool,
    consistent: bool | None = None,
    contradicted: bool = True,
) -> str:
    """A verdict as people say it; a run without all of its cases is only `INCOMPLETE`.

    `consistent` is None for a run with the models of the contract. `contradicted` says whether a
    MUST failed in one about relations: else its consistency was only not shown.
    """
    if not complete:
        return INCOMPLETE
    if consistent is not None:
        not_so = NOT_CONSISTENT if contradicted else NOT_SHOWN
        return CONSISTENT if consistent else not_so
    if not conformant:
        return NOT_CONFORMANT
    return CONFORMANT if robust else NOT_ROBUST


def claim_words(
    profiles: Iterable[str],
    unsupported: Iterable[str],
    cases: Iterable[_Case],
    rows: Sequence[_Row],
    binding: str | None = None,
    *,
    http2: bool = False,
    about: Iterable[str] = (),
) -> str:
    """What a verdict is about, such as "binary, raw; without BF16; 14 requirements untested".

    Without are the datatypes and codings that the server does not claim, and the optional models
    that cases would have needed. A `binding` is named. A requirement is untested if no case of it
    was sent. A run over HTTP/2 names those that are about HTTP/1.1 alone, which it did not ask.
    `about` are clauses that come first.
    """
    cases = list(cases)
    claimed = list(profiles)
    without = list(unsupported)
    profile, datatype = _BFLOAT
    if profile not in claimed and datatype not in without:
        without.append(datatype)
    without += dict.fromkeys(
        f"the model {case.cause.role}"
        for case in cases
        if case.outcome is Outcome.UNSUPPORTED and isinstance(case.cause, RoleAbsent)
    )
    parts = [", ".join(claimed) or "none", *about]
    if without:
        parts.append(f"without {', '.join(without)}")
    if binding is not None:
        parts.append(f"binding {binding}")
    untested = {row.id for row in rows if _SENT_NOTHING.issuperset(row.cases)}
    if http2:
        asked = {case.requirement for case in cases if not isinstance(case.cause, NotOverHttp2)}
        about_http1 = [row.id for row in rows if row.id in untested - asked and row.cases]
        untested -= set(about_http1)
        words = f", which does not ask {', '.join(about_http1)}" if about_http1 else ""
        parts.append(f"over HTTP/2{words}")
    if untested:
        parts.append(f"{len(untested)} requirement{'s' if len(untested) > 1 else ''} untested")
    return "; ".join(parts)
