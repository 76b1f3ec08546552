"""Causes that a pass or a reading adds: what the server did, where it may do several things."""

from __future__ import annotations

from v2_conformance.suite.causes.base import CauseBase


class Rejected(CauseBase, frozen=True):
    """The request was rejected, as it must or may be."""

    says = "rejected with status {status}"
    status: int


class Accepted(CauseBase, frozen=True):
    """The request was accepted, which it may be."""

    says = "accepted"


class AnsweredInJson(CauseBase, frozen=True):
    """The response is strict JSON, which is all that the case asks for."""

    says = "answered in strict JSON"


class AnsweredInForm(CauseBase, frozen=True):
    """The reading of a disputed requirement: the forms of the response's outputs."""

    forms: tuple[str, ...]

    def words(self) -> str:
        return f"the server answered in {' and '.join(self.forms)} form"


class AnsweredWith(CauseBase, frozen=True):
    """The values that came back, if the documents leave open what the server makes of a request.

    `values` are the first ones of each output, as people write them.
    """

    says = "the server answered with {values}"
    values: str


class GeneratedRequests(CauseBase, frozen=True):
    """`count` generated requests were answered exactly.

    All of them, except for those that the server may decline (`LengthRequired`, `BodyTooLarge`) and
    those to models that it lacks. `seed` and `hypothesis` are what made them in a report of an
    older version; None since they are data.
    """

    count: int
    seed: int | None
    hypothesis: str | None

    def words(self) -> str:
        text = f"{self.count} generated requests"
        return (
            text
            if self.seed is None
            else f"{text} (seed {self.seed}, Hypothesis {self.hypothesis})"
        )
