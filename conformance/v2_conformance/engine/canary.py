"""A known-good request for each model, to see whether the server survived a case."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

from v2_conformance.engine.discovery import Server
from v2_conformance.engine.patience import Patience, liveness
from v2_conformance.engine.result import Calibrated, Exchange
from v2_conformance.engine.target import Target
from v2_conformance.judging.known_good import Form, answer, known_good, problem_with, rank
from v2_conformance.suite.cause_base import describe
from v2_conformance.suite.causes import Cause
from v2_conformance.suite.circumstances import Unavailable
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.wire.encode import Prepared
from v2_conformance.wire.transcript import Ending, Transcript
from v2_conformance.wire.transport import Connection

_UNCLEAR = "no exact answer while other cases ran"


@dataclass(frozen=True)
class _Known:
    """A canary and the answer `expected` to it: None for the exact one, or else the one at first.

    `silence` says why there was none, which is no answer that a case could be judged by. `lasting`
    says whether it is about the model, and not about a server that was away or asked to wait.
    """

    prepared: Prepared
    expected: str | None
    silence: str
    lasting: bool = True


@dataclass(frozen=True)
class Seen:
    """An answer to a canary, and what is wrong with it, None if it is as calibrated.

    `liveness` is the answer to a GET of /v2/health/live while a gateway could not reach the server,
    None if it could.
    """

    transcript: Transcript
    problem: Cause | None
    liveness: Transcript | None = None


class Canary:
    """Known-good requests. Each is calibrated: the first form that this server answers exactly,
    before any case has touched the model, so that a canary's failure is news."""

    def __init__(self, target: Target, server: Server, patience: Patience) -> None:
        self._patience = patience
        self._target = target
        self._server = server
        self._known: dict[tuple[str, Form], _Known] = {}
        self._right: dict[tuple[str, Form], bytes] = {}
        self._lock = threading.Lock()
        self._finding: dict[tuple[str, Form], threading.Lock] = {}
        self._news: list[Calibrated] = []
        self.slowest_s = 0.0  # how long a known-good request took at most when it was calibrated

    def news(self) -> list[Calibrated]:
        """The calibrations since this was last called."""
        with self._lock:
            found, self._news = self._news, []
        return found

    def calibrate(
        self, role: str, connection: Connection, *, form: Form = "binary", beside: bool = False
    ) -> str:
        """Find the canary for `role`, once, in `form`.

        `connection` is the caller's own, opened anew and closed afterwards: a second one beside it
        would wait forever for a server that serves one at a time. What is not answered exactly
        while other cases run (`beside`) is not kept: that may be their doing.

        Returns why the model cannot be tested, "" if it can: it answers known-good requests, though
        perhaps not well.
        """
        with self._lock:
            finding = self._finding.setdefault((role, form), threading.Lock())
        with finding:
            known = self._known.get((role, form))
            if known is not None:
                return known.silence
            binding = self._server.present[role]
            forms = known_good(role, self._target.address, binding, form=form)
            known, transcripts = self._find(forms, connection)
            if beside and known.expected is not None:
                return known.silence or _UNCLEAR
            if known.lasting:
                self._known[role, form] = known
                asked = Purpose.CALIBRATION
                exchanges = [Exchange(one, asked, asked.note) for one in transcripts]
                with self._lock:
                    self._news.append(Calibrated(role, form, tuple(exchanges)))
            return known.silence

    def found(self, role: str, form: Form) -> bool:
        """Whether the canary for `role` is known in `form`."""
        return (role, form) in self._known

    def answered(self, role: str, form: Form) -> bool:
        """Whether the canary for `role` is known in `form`, and that it is answered."""
        known = self._known.get((role, form))
        return known is not None and not known.silence

    def forms(self, role: str) -> list[Form]:
        """The forms in which the canary for `role` was seen to be answered exactly."""
        return [form for one, form in list(self._known) if one == role and self.serves(role, form)]

    def forget(self) -> None:
        """Forget every canary: each is calibrated again when it is needed."""
        self._known.clear()

    def begin(self, role: str, connection: Connection, *, form: Form = "binary") -> None:
        """Send the canary if it can be sent ahead; `send` reads the answer."""
        connection.begin(self._known[role, form].prepared.request)

    def send(
        self, role: str, connection: Connection, *, form: Form = "binary"
    ) -> tuple[Transcript, Cause | None]:
        """Send the canary. What is wrong with its answer, None if it is as calibrated."""
        known = self._known[role, form]
        transcript = connection.exchange(known.prepared.request)
        return transcript, self._problem(role, known, transcript, form=form)

    def serves(self, role: str, form: Form) -> bool:
        """Whether the canary for `role` was seen to be answered exactly in `form`."""
        known = self._known.get((role, form))
        return known is not None and not known.silence and known.expected is None

    def send_patiently(self, role: str, connection: Connection) -> Seen:
        """Send the canary on a fresh connection, again while the server is unavailable."""
        alive: list[Transcript] = []
        known = self._known[role, "binary"]
        transcript, _ = self._patience.exchange(
            connection,
            known.prepared.request,
            fresh=True,
            unasked=True,
            at_loss=lambda: alive.append(liveness(connection, self._target.address)),
        )
        problem = self._problem(role, known, transcript, form="binary")
        return Seen(transcript, problem, alive[0] if alive else None)

    def _problem(
        self, role: str, known: _Known, transcript: Transcript, *, form: Form
    ) -> Cause | None:
        if known.expected is None:
            right = self._right.get((role, form))
            if transcript.ending is Ending.COMPLETE and transcript.received == right:
                return None  # byte for byte an answer that was found right before
        problem = problem_with(known.prepared, known.expected, transcript)
        if problem is None and problem_with(known.prepared, None, transcript) is None:
            self._right[role, form] = bytes(transcript.received)
            self._known[role, form] = replace(known, expected=None)  # from now on it must be exact
        return problem

    def expected(self, role: str, *, form: Form = "binary") -> str | None:
        """The answer that the canary must get again, None for the exact one."""
        return self._known[role, form].expected

    def _find(
        self, forms: Sequence[Prepared], connection: Connection
    ) -> tuple[_Known, list[Transcript]]:
        found: list[_Known] = []
        transcripts: list[Transcript] = []
        try:
            for prepared in forms:
                # Fresh: a server may have closed after the form before, which it refused.
                transcript, _ = self._patience.exchange(
                    connection, prepared.request, fresh=True, unasked=True
                )
                transcripts.append(transcript)
                if transcript.response is not None:
                    self.slowest_s = max(self.slowest_s, transcript.duration_s)
                problem = problem_with(prepared, None, transcript)
                exact = problem is None
                _, silence = rank(transcript)
                if isinstance(problem, Unavailable):
                    silence = describe(problem)
                away = transcript.ending is Ending.REFUSED or isinstance(problem, Unavailable)
                expected = None if exact else answer(transcript)
                found.append(_Known(prepared, expected, silence, lasting=not away))
                if exact or isinstance(problem, Unavailable):
                    return found[-1], transcripts
        finally:
            connection.close()
        _, least = min(zip(transcripts, found, strict=True), key=lambda pair: rank(pair[0]))
        return least, transcripts
