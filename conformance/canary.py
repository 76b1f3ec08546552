"""A known-good request for each model, to see whether the server survived a case."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from conformance.contract import contract
from conformance.discovery import Server
from conformance.encode import Prepared, prepare
from conformance.http1 import COMPLETE, Connection, Transcript
from conformance.judge import canary_verdict
from conformance.plan import Case
from conformance.target import Target

# What a server may know: the extension both ways, binary inputs only, plain JSON.
_FORMS = (("binary", True), ("binary", False), ("json", False))


class Canary:
    """Known-good requests. Each is calibrated: the first form that this server answers exactly,
    before any case has touched the model, so that a canary's failure is news."""

    def __init__(self, target: Target, server: Server) -> None:
        self._target = target
        self._server = server
        self._known: dict[tuple[str, bool], tuple[Prepared, int | None]] = {}
        self._lock = threading.Lock()

    def calibrate(self, role: str, *, json: bool = False) -> None:
        """Find the canary for `role`, once; with `json` one without blobs."""
        with self._lock:
            if (role, json) not in self._known:
                self._known[role, json] = self._find(role, _FORMS[-1:] if json else _FORMS)

    def send(
        self, role: str, connection: Connection, *, json: bool = False
    ) -> tuple[Transcript, str]:
        """Send the canary. What is wrong with its answer, "" where it is as calibrated."""
        prepared, status = self._known[role, json]
        transcript = connection.exchange(prepared.pieces)
        if status is None:
            return transcript, canary_verdict(prepared.expected, transcript)
        # No form is answered exactly by this server: then the same status again is survival.
        response = transcript.response
        if response is not None and response.status == status:
            return transcript, ""
        came = transcript.ending if response is None else f"status {response.status}"
        return transcript, f"status {status} as before wanted, {came} came"

    def _find(self, role: str, forms: Sequence[tuple[str, bool]]) -> tuple[Prepared, int | None]:
        connection = Connection(self._target.endpoint(), self._target.limits)
        status: int | None = None
        first: Prepared | None = None
        try:
            for form, binary in forms:
                prepared = self._prepare(role, form, binary)
                first = first or prepared
                transcript = connection.exchange(prepared.pieces)
                if not canary_verdict(prepared.expected, transcript):
                    return prepared, None
                if transcript.ending == COMPLETE and transcript.response and status is None:
                    status = transcript.response.status
        finally:
            connection.close()
        assert first is not None
        return first, status if status is not None else 200

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
