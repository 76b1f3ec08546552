"""The next case of a run, whose request is made, and perhaps sent, before its turn."""

from __future__ import annotations

from typing import TypeGuard

import msgspec

from v2_conformance.suite.cases import Case, GetCase, RequestCase
from v2_conformance.wire.encode import Prepared


class Ahead(msgspec.Struct, frozen=True):
    """`case`, as it is `moved` to a model that the server can have, and its request.

    `started` is when it was sent, if it was, on the clock of `perf_counter`.
    """

    case: Case
    moved: RequestCase | GetCase
    prepared: Prepared
    started: float = 0.0


def goes_ahead(case: Case) -> TypeGuard[RequestCase | GetCase]:
    """Whether `case` is one request, which leaves whole and leaves the server as it was."""
    if isinstance(case, GetCase):
        return not case.dangerous
    if not isinstance(case, RequestCase) or "client" in case.request:
        return False
    return not (case.dangerous or case.large or case.huge or case.first or case.together > 1)
