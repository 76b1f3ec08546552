"""Cases: what is sent, what must come back, and what a report says of it.

A case is data: `case_files` reads those for servers from cases/*.yaml and those for clients from
cases/clients/*.yaml, and `library` has those of a run. A case says for itself what a run needs to
send it: which models, datatypes, codings and profiles it needs, whether it may do harm, and whether
others may run at the same time. Its `content` is a digest of all that is sent and expected: reports
made at different times compare a case with itself only if that is the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import Any, Literal

import msgspec

from v2_conformance.protocol.content_codings import known
from v2_conformance.suite.causes.causes import Cause, NotKept, harm_by
from v2_conformance.suite.models import ModelContract, Sample, contract
from v2_conformance.suite.requirements import (
    LEVELS,
    Basis,
    Blocks,
    Citation,
    Level,
    catalogue,
    grade,
)
from v2_conformance.suite.variations import variation

Expects = Literal["success", "reject", "either", "disputed", "survives"]
CanaryForm = Literal["binary", "json"]

ROUNDS = 3
"""How many requests each concurrent connection sends, unless a case says otherwise."""

# Members that do not count for a case's content, or that `_also_sent` has.
_NOT_IN_CONTENT = frozenset(
    {"id", "why", "blocks", "variations", "first", "members", "foreign_ids", "last_negative", "of"}
    | {"next", "times", "rounds"}
)


class CaseFacts(msgspec.Struct, frozen=True):
    """Facts about a case that a report has whatever its outcome."""

    id: str
    requirement: str
    profile: str
    level: Level
    blocks: Blocks | None
    basis: Basis
    why: str
    content: str


@dataclass(frozen=True, kw_only=True)
class CaseBase:
    """Members that all kinds of cases have.

    `expect` is as in schemas/case.schema.json. `large` cases are planned only when asked for;
    `dangerous` ones may end the server, so they run last. `blocks` is None for what its requirement
    blocks.
    """

    id: str
    requirement: str
    why: str
    level: Level
    profile: str
    expect: Mapping[str, Any]
    blocks: Blocks | None = None
    dangerous: bool = False
    large: bool = False

    @property
    def expects(self) -> Expects:
        """The answer that is expected."""
        expects: Expects = self.expect["outcome"]
        return expects

    @cached_property
    def content(self) -> str:
        """A digest of what is sent and expected, by which cases of one id are told apart."""
        names = (field.name for field in fields(self))
        counting = {name: getattr(self, name) for name in names if name not in _NOT_IN_CONTENT}
        # Cases of earlier versions had the member `thorough`, and keep their digests.
        counting |= {"case": type(self).__name__, "thorough": False, **self._also_sent}
        text = json.dumps(counting, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def facts(self, profiles: Collection[str], cause: Cause | None = None) -> CaseFacts:
        """Return what a report on a server that claims `profiles` says of the case, given the
        `cause` of its outcome: an exact answer to a malformed request never fails a MUST, and what
        only rare requests show blocks *conformant* only if the answer has wrong numbers.
        """
        requirement = catalogue()[self.requirement]
        own = self.level == requirement.level
        level = requirement.level_for(profiles) if own else self.level
        if cause is not None and cause.root.lenient:
            level = max(level, "SHOULD", key=LEVELS.index)
        return CaseFacts(
            id=self.id,
            requirement=self.requirement,
            profile=self.profile,
            level=level,
            blocks=self._blocked(level, cause),
            basis=requirement.basis,
            why=self.why,
            content=self.content,
        )

    @property
    def grade(self) -> str:
        """Its own level, and what a failure blocks, as people read it."""
        return grade(self.level, self._blocked(self.level))

    def _blocked(self, level: Level, cause: Cause | None = None) -> Blocks | None:
        """Return what a failure at `level` for `cause` blocks. A case of one's own can be a MUST of
        a SHOULD requirement, which blocks nothing itself."""
        if level != "MUST":
            return None
        if isinstance(cause, NotKept) and cause.only_rare:
            return "robust"
        usual = catalogue()[self.requirement].blocks or "conformant"
        # Other numbers in the answer to a correct request are wrong, however rarely it is sent so.
        correct = self.expect.get("outcome") in ("success", "either")
        wrong = cause is not None and harm_by(cause, "wrong-numbers") == "wrong-numbers"
        counts = correct and wrong and not self.expect.get("ambiguous")
        return usual if counts else self.blocks or usual

    @cached_property
    def rare(self) -> bool:
        """True if no common client sends such requests (docs/disputes.md)."""
        requirement = catalogue()[self.requirement]
        if self.blocks is None and requirement.ordinary:
            return False
        blocks = self.blocks or requirement.blocks
        return blocks == "robust" or (blocks is None and requirement.basis == "derived")

    @property
    def template(self) -> str:
        """The id without the values of axes, as the entry in the case file has it."""
        return self.id.partition("[")[0]

    @cached_property
    def negative(self) -> bool:
        """True if a server may answer with an error, so that it must be seen to survive."""
        return self.expects in ("reject", "either", "survives")

    # Subclasses override what follows.

    @property
    def alone(self) -> bool:
        """True if no other case may run at the same time: it may harm the server, or its result
        depends on what others do to that."""
        return self.negative or self.dangerous or self.large

    @property
    def of_clients(self) -> bool:
        """True if it is for a run that tests a client, not a server."""
        return False

    @property
    def role(self) -> str | None:
        """The role of the model that it is sent to, None if it is not about one model."""
        return None

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles of all models that it is sent to."""
        return ()

    @property
    def datatypes(self) -> frozenset[str]:
        """The datatypes that the server needs for it."""
        return frozenset()

    @property
    def versioned(self) -> tuple[str, ...]:
        """The roles of the models whose version its requests name."""
        return ()

    @property
    def codings(self) -> frozenset[str]:
        """The content codings of its request that the server needs for it, unless unknown."""
        return frozenset()

    @property
    def profiles(self) -> tuple[str, ...]:
        """All profiles that a server must claim to get it, its own first."""
        return (self.profile,)

    @property
    def cite(self) -> tuple[Citation, ...]:
        """The places that allow the way in which it is sent, besides those of its requirement."""
        return ()

    @property
    def _also_sent(self) -> Mapping[str, Any]:
        """Return what counts for its content besides its members."""
        return {}


@dataclass(frozen=True, kw_only=True)
class RequestCase(CaseBase):
    """One inference request and the answer that is expected.

    `model` is a role of the contract. `request` is as in schemas/case.schema.json, with every axis
    filled in. `canary` is the form of the known-good request to send afterwards, None for none
    beyond what a negative case gets. `together` is on how many connections it is sent at once, and
    `rounds` how often on each. `first` is sent before it on the same connection, as many `times` as
    that says, whatever the answers. Connections that are used at once send this request and
    `members` in turn. `next` follow it in the same write (pipelining). `foreign_ids` are the
    ids of `first` and `members`. `variations` are names of cases/variations.yaml, in the order in
    which they apply; `request` has what they change of it already. `last_negative` is false if
    another negative case of its requirement comes after it.
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
    def alone(self) -> bool:
        watches = self.canary is not None or self.together > 1 or bool(self.others)
        # Any answer passes a disputed case, another request's too.
        return super().alone or watches or self.expects == "disputed"

    @property
    def role(self) -> str:
        return self.model

    @cached_property
    def roles(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.model, *(one.model for one in self.others))))

    @cached_property
    def datatypes(self) -> frozenset[str]:
        return frozenset(spec.datatype for role in self.roles for spec in contract()[role].inputs)

    @property
    def versioned(self) -> tuple[str, ...]:
        return tuple(
            one.model
            for one in (self, *self.others)
            if any(variation(name).operation == "version_path" for name in one.variations)
        )

    @property
    def codings(self) -> frozenset[str]:
        named = (one.request.get("encoding", "") for one in (self, *self.others))
        return frozenset(coding for name in named if (coding := known(str(name))) is not None)

    @cached_property
    def profiles(self) -> tuple[str, ...]:
        models, of_codings = contract(), ("compression",) if self.codings else ()
        of_models = (models[role].profile for role in self.roles if role in models)
        return tuple(dict.fromkeys((self.profile, *of_models, *of_codings)))

    @property
    def cite(self) -> tuple[Citation, ...]:
        return tuple(dict.fromkeys(variation(name).cite for name in self.variations))

    @property
    def _also_sent(self) -> Mapping[str, Any]:
        also: dict[str, Any] = {
            "variations": [variation(name).definition for name in self.variations],
            "first": None if self.first is None else self.first.content,
            "members": [member.content for member in self.members],
            "next": [one.content for one in self.next],
        }
        also = {name: value for name, value in also.items() if value}
        usual = {"rounds": ROUNDS, "times": 1}
        return also | {
            n: getattr(self, n) for n, value in usual.items() if getattr(self, n) != value
        }


@lru_cache(maxsize=256)
def _digest(sample: Sample) -> str:
    return f"{list(sample.shape)} {hashlib.sha256(sample.blob).hexdigest()}"


@dataclass(frozen=True, kw_only=True)
class RelationCase(RequestCase):
    """A case for a model whose answers nobody knows: the model `of` says what must come back."""

    of: ModelContract

    @property
    def datatypes(self) -> frozenset[str]:
        """None: a model that was named has to be there."""
        return frozenset()

    @property
    def _also_sent(self) -> Mapping[str, Any]:
        """What is sent of the model's samples, whichever others it takes."""
        entries = [dict(entry) for entry in self.request.get("inputs", ())]
        sets = {entry.pop("special", None): None for entry in entries}
        sent = [self.of.samples[0] if n is None else self.of.special[n] for n in sets]
        tensors = [str(spec) for spec in (*self.of.inputs, *self.of.outputs)]
        also = {"request": {**self.request, "inputs": entries}, "of": [self.of.model, *tensors]}
        return {**super()._also_sent, **also, "sent": [list(map(_digest, one)) for one in sent]}


@dataclass(frozen=True, kw_only=True)
class GetCase(CaseBase):
    """A plain GET of `path`, and the answer that is expected."""

    path: str


@dataclass(frozen=True, kw_only=True)
class GeneratedCase(CaseBase):
    """Generated requests, all of which must be answered exactly: `requests` are their entries."""

    requests: tuple[Mapping[str, Any], ...]

    @property
    def alone(self) -> bool:
        """True: each is a request of its own, which nothing else may disturb."""
        return True


@dataclass(frozen=True, kw_only=True)
class ObservedCase(CaseBase):
    """A rule for every exchange of a run, by its name in judging/observed (of a client in
    v2_clients): it sends nothing, is judged last, and fails no other case."""

    observed: str

    @property
    def of_clients(self) -> bool:
        return self.requirement.startswith("K")


@dataclass(frozen=True, kw_only=True)
class ClientCase(CaseBase):
    """A scenario of the client bench: requests that a client is asked for, their answers, and what
    is expected of the client.

    `requests` are as in schemas/scenario.schema.json, with every axis filled in, each with the
    `answer` and the `expect` that hold for it. `timeout_s` is the client's time limit, if it is
    shorter than usual.
    """

    requests: tuple[Mapping[str, Any], ...]
    timeout_s: float | None = None

    @property
    def of_clients(self) -> bool:
        return True

    def expected(self, number: int) -> Mapping[str, Any]:
        """`expect` of request `number`."""
        result: Mapping[str, Any] = self.requests[number]["expect"]
        return result

    def answer(self, number: int, attempt: int) -> Mapping[str, Any]:
        """Return the answer to request `number` when it comes for the `attempt`th time, from 0."""
        script: Mapping[str, Any] = self.requests[number]["answer"]
        for _ in range(attempt):
            script = script.get("again", script)
        return script


SentCase = RequestCase | GetCase | GeneratedCase
"""A case that sends something."""

Case = SentCase | ClientCase | ObservedCase
