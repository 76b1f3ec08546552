"""A known-good request for each model, to see whether the server survived a case."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from v2_conformance.engine.discovery import Server
from v2_conformance.engine.target import Target
from v2_conformance.judging.known_good import answer, known_good, problem_with
from v2_conformance.suite.causes import Cause
from v2_conformance.wire.encode import Prepared
from v2_conformance.wire.transcript import Ending, Transcript
from v2_conformance.wire.transport import Connection


@dataclass(frozen=True)
class _Known:
    """A canary and the answer `expected` to it: None for the exact one, or else the one at first.

    `silence` says why there was none, which is no answer that a case could be judged by.
    """

    prepared: Prepared
    expected: str | None
    ending: Ending
    silence: str


class Canary:
    """Known-good requests. Each is calibrated: the first form that this server answers exactly,
    before any case has touched the model, so that a canary's failure is news."""

    def __init__(self, target: Target, server: Server) -> None:
        self._target = target
        self._server = server
        self._known: dict[tuple[str, bool], _Known] = {}
        self._right: dict[tuple[str, bool], bytes] = {}
        self._lock = threading.Lock()

    def calibrate(self, role: str, connection: Connection, *, json: bool = False) -> str:
        """Find the canary for `role`, once; with `json` one without blobs.

        `connection` is the caller's own, opened anew and closed afterwards: a second one beside it
        would wait forever for a server that serves one at a time.

        Returns why the model cannot be tested, "" if it can: it answers known-good requests, though
        perhaps not well.
        """
        with self._lock:
            known = self._known.get((role, json))
            if known is None:
                binding = self._server.present[role]
                forms = known_good(role, self._target.address, binding, json=json)
                known = self._find(forms, connection)
                if known.ending is not Ending.REFUSED:  # that says nothing about the model
                    self._known[role, json] = known
        return known.silence

    def send(
        self, role: str, connection: Connection, *, json: bool = False
    ) -> tuple[Transcript, Cause | None]:
        """Send the canary. What is wrong with its answer, None if it is as calibrated."""
        known = self._known[role, json]
        transcript = connection.exchange(known.prepared.request)
        if known.expected is None:
            right = self._right.get((role, json))
            if transcript.ending is Ending.COMPLETE and transcript.received == right:
                return transcript, None  # byte for byte an answer that was found right before
        problem = problem_with(known.prepared, known.expected, transcript)
        if problem is None and known.expected is None:
            self._right[role, json] = bytes(transcript.received)
        return transcript, problem

    def expected(self, role: str, *, json: bool = False) -> str | None:
        """The answer that the canary must get again, None for the exact one."""
        return self._known[role, json].expected

    def _find(self, forms: Sequence[Prepared], connection: Connection) -> _Known:
        found: list[_Known] = []
        try:
            for prepared in forms:
                # Fresh: a server may have closed after the form before, which it refused.
                transcript = connection.exchange(prepared.request, fresh=True)
                exact = problem_with(prepared, None, transcript) is None
                ending = transcript.ending
                silence = transcript.detail if ending in (Ending.TIMEOUT, Ending.REFUSED) else ""
                expected = None if exact else answer(transcript)
                found.append(_Known(prepared, expected, ending, silence))
                if exact:
                    return found[-1]
        finally:
            connection.close()
        return min(found, key=lambda known: (known.ending is not Ending.COMPLETE, known.silence))
