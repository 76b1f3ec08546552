"""Kinds of cases: a request to a model, a plain GET, all generated requests of a run, a scenario
for a client, or an observation of all exchanges.

Cases are data. `entries.case_files` reads them from cases/*.yaml, `entries.scenario_files` those
for clients from cases/clients/*.yaml, `library` has those of a run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any, Literal

from v2_conformance.protocol.content_codings import known
from v2_conformance.suite.case_base import CaseBase
from v2_conformance.suite.models import ModelContract, Sample, contract
from v2_conformance.suite.observations import OF_CLIENTS, Observed
from v2_conformance.suite.requirements import Citation
from v2_conformance.suite.variations import variation

CanaryForm = Literal["binary", "json"]

ROUNDS = 5
"""How many requests each of the connections sends that are used at once, unless a case says it."""


@dataclass(frozen=True, kw_only=True)
class RequestCase(CaseBase):
    """One inference request and what must come of it.

    `model` is a role of the contract. `request` is as in schemas/case.schema.json, with every axis
    filled in. `canary` is the form of the known-good request to send afterwards, None for none
    beyond what a negative case gets. `together` is on how many connections it is sent at once, and
    `rounds` how often on each. `first` is sent before it on the same connection, as many `times` as
    that says, whatever comes of that. Connections that are
    used at once send this request and `members` in turn. `next` leave in the same write behind a
    pipelined one. `foreign_ids` are the ids of `first` and `members`.
    `variations` are names of cases/variations.yaml, in the order in which they apply; `request` has
    what they change of it already. `last_negative` is false if another negative case of its
    requirement comes after it.
    """

    model: str
    request: Mapping[str, Any]
    canary: CanaryForm | None = None
    together: int = 1
    rounds: int = ROUNDS
    times: int = 1
    variations: tuple[str, ...] = ()
    first: RequestCase | None = None
    members: tuple[RequestCase, ...] = ()
    next: tuple[RequestCase, ...] = ()
    foreign_ids: tuple[str, ...] = ()
    last_negative: bool = True

    @property
    def others(self) -> tuple[RequestCase, ...]:
        """The other requests that belong to the case."""
        return (*((self.first,) if self.first else ()), *self.members, *self.next)

    def member(self, number: int) -> RequestCase:
        """The request of connection `number`, of those that are used at once."""
        return (self, *self.members)[number % (1 + len(self.members))]

    @property
    def _company(self) -> Mapping[str, Any]:
        """See CaseBase."""
        told: dict[str, Any] = {}
        if self.first is not None:
            told["first"] = self.first.content
        if self.members:
            told["members"] = [member.content for member in self.members]
        if self.next:
            told["next"] = [one.content for one in self.next]
        if self.rounds != ROUNDS:
            told["rounds"] = self.rounds
        if self.times != 1:
            told["times"] = self.times
        return told

    @property
    def _spelling(self) -> Mapping[str, Any]:
        """See CaseBase."""
        definitions = [variation(name).definition for name in self.variations]
        return {"variations": definitions} if definitions else {}

    @property
    def cite(self) -> tuple[Citation, ...]:
        """See CaseBase."""
        return tuple(dict.fromkeys(variation(name).cite for name in self.variations))

    @property
    def alone(self) -> bool:
        """See CaseBase."""
        watches = self.canary is not None or self.together > 1 or bool(self.others)
        # Any answer passes a disputed case, another request's too.
        return super().alone or watches or self.expects == "disputed"

    @property
    def role(self) -> str:
        """See CaseBase."""
        return self.model

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """See CaseBase."""
        others = self.others
        return (
            tuple(dict.fromkeys((self.model, *(o.model for o in others))))
            if others
            else (self.model,)
        )

    @cached_property
    def datatypes(self) -> frozenset[str]:
        """See CaseBase."""
        return _datatypes_of(self.roles)

    @property
    def versioned(self) -> tuple[str, ...]:
        """See CaseBase."""
        varied = [one for one in (self, *self.others) if one.variations]
        return tuple(
            one.model
            for one in varied
            if any(variation(name).operation == "version_path" for name in one.variations)
        )

    @property
    def codings(self) -> frozenset[str]:
        """See CaseBase."""
        named = [
            one.request["encoding"] for one in (self, *self.others) if "encoding" in one.request
        ]
        return frozenset(coding for name in named if (coding := known(str(name))) is not None)

    @property
    def profiles(self) -> tuple[str, ...]:
        """See CaseBase. Those of its models and codings belong to them."""
        of_codings = ("compression",) if self.codings else ()
        return tuple(dict.fromkeys((self.profile, *_profiles_of(self.roles), *of_codings)))


@cache
def _profiles_of(roles: tuple[str, ...]) -> tuple[str, ...]:
    """The profiles of the models in these roles; a model that was named has none."""
    return tuple(contract()[role].profile for role in roles if role in contract())


@cache
def _datatypes_of(roles: tuple[str, ...]) -> frozenset[str]:
    """The datatypes of the inputs of the models in these roles."""
    return frozenset(spec.datatype for role in roles for spec in contract()[role].inputs)


@lru_cache(maxsize=256)
def _digest(sample: Sample) -> str:
    return f"{list(sample.shape)} {hashlib.sha256(sample.blob).hexdigest()}"


@dataclass(frozen=True, kw_only=True)
class RelationCase(RequestCase):
    """A case of the suite for a model whose answers nobody knows (`wire.relations.cases`).

    What must come back is what the model `of` answered to its plain request. `relation` is a name
    of cases/relations.yaml: what has to hold between the two answers.
    """

    of: ModelContract
    relation: str

    @property
    def _company(self) -> Mapping[str, Any]:
        """See CaseBase. What is sent of the model's samples, whichever others it takes."""
        entries = [dict(entry) for entry in self.request.get("inputs", ())]
        sets = {entry.pop("special", None): None for entry in entries}
        sent = [self.of.samples[0] if n is None else self.of.special[n] for n in sets]
        tensors = [str(spec) for spec in (*self.of.inputs, *self.of.outputs)]
        told = {"request": {**self.request, "inputs": entries}, "of": [self.of.model, *tensors]}
        return {**super()._company, **told, "sent": [list(map(_digest, one)) for one in sent]}

    @property
    def datatypes(self) -> frozenset[str]:
        """See CaseBase. Empty: a model that was named has to be there."""
        return frozenset()


@dataclass(frozen=True, kw_only=True)
class GetCase(CaseBase):
    """A plain GET of `path`, and what must come of it."""

    path: str


@dataclass(frozen=True, kw_only=True)
class GeneratedCase(CaseBase):
    """Generated requests that are well-formed, so that all must be answered exactly.

    `requests` are entries of a case file with this case's id. A server gets those whose models and
    datatypes it has.
    """

    requests: tuple[Mapping[str, Any], ...]

    @property
    def alone(self) -> bool:
        """See CaseBase. True: each is a request of its own, which nothing else may disturb."""
        return True


@dataclass(frozen=True, kw_only=True)
class ObservedCase(CaseBase):
    """A rule for every exchange of a run: it sends nothing, and is judged last.

    It fails no other case, so that one defect that shows everywhere fails its own requirement.
    """

    observed: Observed

    @property
    def of_clients(self) -> bool:
        """See CaseBase."""
        return self.observed in OF_CLIENTS


@dataclass(frozen=True, kw_only=True)
class ClientCase(CaseBase):
    """A scenario of the client bench: requests that a client is asked for, their answers, and what
    is expected of the client.

    `requests` are as in schemas/scenario.schema.json, with every axis filled in, each with the
    `answer` and the `expect` that hold for it. `timeout_s` are the seconds that the client has, if
    they are fewer than usual.
    """

    requests: tuple[Mapping[str, Any], ...]
    timeout_s: float | None = None

    @property
    def of_clients(self) -> bool:
        """See CaseBase."""
        return True

    def expected(self, number: int) -> Mapping[str, Any]:
        """`expect` of request `number`."""
        found: Mapping[str, Any] = self.requests[number]["expect"]
        return found

    def answer(self, number: int, attempt: int) -> Mapping[str, Any]:
        """Return the answer to request `number` when it comes for the `attempt`th time, counted
        from 0.
        """
        script: Mapping[str, Any] = self.requests[number]["answer"]
        for _ in range(attempt):
            script = script.get("again", script)
        return script


SentCase = RequestCase | GetCase | GeneratedCase
"""A case that sends something."""

Case = SentCase | ClientCase | ObservedCase
