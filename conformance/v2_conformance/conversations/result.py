"""Results that the engine hands on: exchanges, the result of a case, the events of a run."""

from __future__ import annotations

import msgspec

from v2_conformance.judging.known_good import Form
from v2_conformance.judging.observed.cases import observe_first_answer, observe_verdict
from v2_conformance.judging.observed.exchanges import Observation, observe
from v2_conformance.judging.verdict import Verdict
from v2_conformance.suite.cases import Case, ClientCase, ObservedCase
from v2_conformance.suite.causes.causes import Cause
from v2_conformance.suite.client_lines import Said
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.exchange import Exchange


class Calibrated(msgspec.Struct, frozen=True):
    """The known-good requests of one form to the model in a role, before any case of it. `wrong` is
    that of the FirstAnswer.
    """

    role: str
    form: Form
    exchanges: tuple[Exchange, ...]
    wrong: Cause | None = None

    @property
    def seen(self) -> Observation:
        """The findings about first answers."""
        return observe_first_answer(self.role, self.form, self.wrong)


class Result(msgspec.Struct, frozen=True):
    """Result of one case; of a scenario, also what the client `said`."""

    case: Case
    verdict: Verdict
    duration_s: float = 0.0
    exchanges: tuple[Exchange, ...] = ()
    said: Said | None = None

    def seen(self) -> tuple[Observation, ...]:
        """Return what its exchanges show about rules that every exchange must follow."""
        if isinstance(self.case, ObservedCase | ClientCase) or not self.exchanges:
            return ()
        return (*observe(self.case, self.exchanges), *observe_verdict(self.case, self.verdict))

    @property
    def outcome(self) -> Outcome:
        """The verdict's outcome."""
        return self.verdict.outcome

    @property
    def cause(self) -> Cause | None:
        """The verdict's cause."""
        return self.verdict.cause

    @property
    def message(self) -> str:
        """The verdict in words, for people."""
        return self.verdict.message


class CaseFinished(msgspec.Struct, frozen=True):
    """The event that a run yields, `number` of `total`."""

    result: Result
    number: int
    total: int
