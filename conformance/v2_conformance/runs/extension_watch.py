"""Notices during a run that the server leaves the extension out, so that the rest is not sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from v2_conformance.conversations.result import Result
from v2_conformance.judging.extension import SHOWN_BY, Tried, left_out
from v2_conformance.protocol.names import EXTENSION
from v2_conformance.suite.cases import Case


class ExtensionWatch:
    """Follows the first cases of a run, one after another, until they show enough.

    `undecided` is true as long as the next case may still show it, `left_out` once all of them
    have shown it. A run of only some of these cases is not followed.
    """

    def __init__(
        self, planned: Sequence[Case], chosen: Sequence[Case], extensions: Collection[str]
    ) -> None:
        """Follow the `chosen` cases out of those `planned`, of a server that lists `extensions`."""
        showing = [case for case in planned if case.requirement in SHOWN_BY]
        self._planned = Counter(case.requirement for case in showing)
        self._extensions = extensions
        self._left = {case.id for case in showing}
        self._tried: list[Tried] = []
        listed = EXTENSION in extensions
        self.undecided = not listed and self._left <= {case.id for case in chosen}
        self.left_out = False

    def note(self, result: Result) -> None:
        """Take in the result of the next case."""
        if not self.undecided:
            return
        tried = tried_in(result)
        self._tried.append(tried)
        self._left.discard(result.case.id)
        if tried.is_served or tried.leaves_open:
            self.undecided = False
        elif not self._left:
            self.undecided = False
            self.left_out = bool(left_out(self._tried, self._planned, self._extensions))


def tried_in(result: Result) -> Tried:
    """Return what a result shows."""
    exchanges = [(bytes(one.request), one.response) for one in result.exchanges]
    return Tried(result.case.requirement, result.outcome, result.cause, exchanges)
