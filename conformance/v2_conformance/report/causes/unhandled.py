"""Malformed requests that a server answers with 5xx, as if nobody had caught an error. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from v2_conformance.suite.causes.causes import Cause, NotKept
from v2_conformance.suite.causes.kinds import WrongStatus


def unhandled_error(cause: Cause | None) -> WrongStatus | None:
    """Return the first such answer that exchanges of a run show, None for any other cause."""
    first = cause.first if isinstance(cause, NotKept) else None
    if isinstance(first, WrongStatus) and first.expected == "4xx" and first.got >= 500:
        return first
    return None


def is_unhandled(causes: Sequence[Cause | None]) -> bool:
    """Return True if exchanges of a run show such answers."""
    return any(unhandled_error(cause) is not None for cause in causes)


def shown_in(causes: Sequence[Cause | None], errors: Sequence[Cause | None]) -> bool:
    """Return True if only the exchanges that show `errors` show these causes."""
    whole = [cause for cause in errors if isinstance(cause, NotKept)]
    observed = [cause for cause in causes if isinstance(cause, NotKept)]
    return len(observed) == len(causes) and all(
        any(set(one.cases) <= set(of.cases) and one.more in (0, of.more) for of in whole)
        for one in observed
    )
