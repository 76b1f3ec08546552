"""A known-good request for each model, to see whether the server survived a case."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from conformance.contract import contract
from conformance.discovery import Server
from conformance.encode import Prepared, prepare
from conformance.http1 import COMPLETE, REFUSED, TIMEOUT, Connection, Transcript
from conformance.judge import canary_verdict
from conformance.plan import Case
from conformance.target import Target

# What a server may know: the extension both ways, binary inputs only, plain JSON.
_FORMS = (("binary", True), ("binary", False), ("json", False))


@dataclass(frozen=True)
class _Known:
    """A canary and what came of it at first: the `exact` answer, or else this `answer`.

    `silence` says why there was none, which is no answer that a case could be judged by.
    """

    prepared: Prepared
    exact: bool
    ending: str
    answer: str
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
                known = self._find(role, _FORMS[-1:] if json else _FORMS)
                if known.ending != REFUSED:  # that says nothing about the model
                    self._known[role, json] = known
        return known.silence

    def send(
        self, role: str, connection: Connection, *, json: bool = False
    ) -> tuple[Transcript, str]:
        """Send the canary. What is wrong with its answer, "" where it is as calibrated."""
        known = self._known[role, json]
        transcript = connection.exchange(known.prepared.pieces)
        if known.exact:
            right = self._right.get((role, json))
            if transcript.ending == COMPLETE and transcript.received == right:
                return transcript, ""  # byte for byte an answer that was found right before
            problem = canary_verdict(known.prepared.expected, transcript)
            if not problem:
                self._right[role, json] = bytes(transcript.received)
            return transcript, problem
        # No form is answered exactly by this server: then the same answer again is survival.
        now = _answer(transcript)
        same = now == known.answer
        return transcript, "" if same else f"{known.answer} as before wanted, {now} came"

    def _find(self, role: str, forms: Sequence[tuple[str, bool]]) -> _Known:
        connection = Connection(self._target.endpoint(), self._target.limits)
        found: list[_Known] = []
        try:
            for form, binary in forms:
                prepared = self._prepare(role, form, binary)
                transcript = connection.exchange(prepared.pieces)
                exact = not canary_verdict(prepared.expected, transcript)
                ending = transcript.ending
                silence = transcript.detail if ending in (TIMEOUT, REFUSED) else ""
                found.append(_Known(prepared, exact, ending, _answer(transcript), silence))
                if exact:
                    return found[-1]
        finally:
            connection.close()
        return min(found, key=lambda known: (known.ending != COMPLETE, known.silence))

    def _prepare(self, role: str, form: str, binary: bool) -> Prepared:
        model = contract()[role]
        inputs: list[dict[str, Any]] = [
            {"shape": [3 if n == -1 else n for n in spec.dims], "values": "ones", "form": form}
            for spec in model.inputs
        ]
        outputs = range(len(model.outputs))
        request: dict[str, Any] = {"inputs": inputs}
        if binary:
            request["outputs"] = [{"tensor": i, "binary_data": True} for i in outputs]
        expect = {"outcome": "success", "outputs": {str(i): "any" for i in outputs}}
        case = Case(f"canary {role}", "", "", "", "", role, "", request, expect, False, "", 1)
        return prepare(case, self._target.address, self._server.present[role])


def _answer(transcript: Transcript) -> str:
    response = transcript.response
    return transcript.ending if response is None else f"status {response.status}"
