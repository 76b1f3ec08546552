"""A known-good request for each model, to see whether the server survived a case."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from v2_conformance.engine.discovery import Server
from v2_conformance.engine.target import Target
from v2_conformance.judging.survival import answer, canary_problem, known_good
from v2_conformance.wire.encode import Prepared
from v2_conformance.wire.http1 import COMPLETE, REFUSED, TIMEOUT, Connection, Transcript


@dataclass(frozen=True)
class _Known:
    """A canary and what is `wanted` of it: "" for the exact answer, or else the answer at first.

    `silence` says why there was none, which is no answer that a case could be judged by.
    """

    prepared: Prepared
    wanted: str
    ending: str
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

    def calibrate(self, role: str, *, json: bool = False) -> str:
        """Find the canary for `role`, once; with `json` one without blobs.

        Returns why the model cannot be tested, "" where it can: it answers known-good requests,
        though perhaps not well.
        """
        with self._lock:
            known = self._known.get((role, json))
            if known is None:
                binding = self._server.present[role]
                known = self._find(known_good(role, self._target.address, binding, json=json))
                if known.ending != REFUSED:  # that says nothing about the model
                    self._known[role, json] = known
        return known.silence

    def send(
        self, role: str, connection: Connection, *, json: bool = False
    ) -> tuple[Transcript, str]:
        """Send the canary. What is wrong with its answer, "" where it is as calibrated."""
        known = self._known[role, json]
        transcript = connection.exchange(known.prepared.pieces)
        if not known.wanted:
            right = self._right.get((role, json))
            if transcript.ending == COMPLETE and transcript.received == right:
                return transcript, ""  # byte for byte an answer that was found right before
        problem = canary_problem(known.prepared, known.wanted, transcript)
        if not problem and not known.wanted:
            self._right[role, json] = bytes(transcript.received)
        return transcript, problem

    def wanted(self, role: str, *, json: bool = False) -> str:
        """The answer that the canary has to get again, "" for the exact one."""
        return self._known[role, json].wanted

    def _find(self, forms: Sequence[Prepared]) -> _Known:
        connection = Connection(self._target.endpoint(), self._target.limits)
        found: list[_Known] = []
        try:
            for prepared in forms:
                transcript = connection.exchange(prepared.pieces)
                exact = not canary_problem(prepared, "", transcript)
                ending = transcript.ending
                silence = transcript.detail if ending in (TIMEOUT, REFUSED) else ""
                found.append(_Known(prepared, "" if exact else answer(transcript), ending, silence))
                if exact:
                    return found[-1]
        finally:
            connection.close()
        return min(found, key=lambda known: (known.ending != COMPLETE, known.silence))
