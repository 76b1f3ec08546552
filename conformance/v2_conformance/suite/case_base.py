"""What all kinds of cases have in common, and what a report says of a case."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal

import msgspec

from v2_conformance.suite.causes.causes import Cause, NotKept
from v2_conformance.suite.requirements import (
    LEVELS,
    Basis,
    Blocks,
    Citation,
    Level,
    catalogue,
    grade,
)

Expects = Literal["success", "reject", "either", "disputed", "survives"]

_TOLD_ELSEWHERE = frozenset(
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

    @property
    def grade(self) -> str:
        """The level and what a failure blocks, as people read it."""
        return grade(self.level, self.blocks)


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
        """A digest of what is sent and expected: a case with another digest is another case, even
        under the same id.
        """
        names = (field.name for field in fields(self))
        told = {name: getattr(self, name) for name in names if name not in _TOLD_ELSEWHERE}
        # Cases of earlier versions had this member, and keep their digests.
        told |= {"thorough": False, **self._spelling, **self._company}
        text = json.dumps({"case": type(self).__name__, **told}, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def facts(self, profiles: Collection[str], cause: Cause | None = None) -> CaseFacts:
        """Return what a report on a server that claims `profiles` says of the case, if it ended
        for `cause`: what was read exactly from a malformed request never fails a MUST, and what
        only rare requests show never blocks *conformant*.
        """
        requirement = catalogue()[self.requirement]
        own = self.level == requirement.level
        level = requirement.level_for(profiles) if own else self.level
        if cause is not None and cause.found.lenient:
            level = max(level, "SHOULD", key=LEVELS.index)
        blocks = self._blocked(level)
        rare = isinstance(cause, NotKept) and cause.only_rare
        return CaseFacts(
            id=self.id,
            requirement=self.requirement,
            profile=self.profile,
            level=level,
            blocks="robust" if blocks and rare else blocks,
            basis=requirement.basis,
            why=self.why,
            content=self.content,
        )

    @property
    def grade(self) -> str:
        """Its own level, and what a failure blocks, as people read it."""
        return grade(self.level, self._blocked(self.level))

    def _blocked(self, level: Level) -> Blocks | None:
        """Return what a failure at `level` blocks. A case of one's own can be a MUST of a SHOULD
        requirement, which blocks nothing itself."""
        if level != "MUST":
            return None
        return self.blocks or catalogue()[self.requirement].blocks or "conformant"

    @cached_property
    def rare(self) -> bool:
        """True if no client of the documents sends such requests (docs/disputes.md)."""
        requirement = catalogue()[self.requirement]
        if self.blocks is None and requirement.ordinary:
            return False
        blocks = self.blocks or requirement.blocks
        return blocks == "robust" or (blocks is None and requirement.basis == "derived")

    @property
    def cite(self) -> tuple[Citation, ...]:
        """The places that allow the way in which it is sent, besides those that its requirement
        cites."""
        return ()

    @property
    def template(self) -> str:
        """The id without the values of axes, as the entry in the case file has it."""
        return self.id.partition("[")[0]

    @cached_property
    def negative(self) -> bool:
        """True if a server may answer with an error, so that it must be seen to survive."""
        return self.expects in ("reject", "either", "survives")

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
        return () if self.role is None else (self.role,)

    @property
    def _spelling(self) -> Mapping[str, Any]:
        """The spelling of the request, if not the usual one."""
        return {}

    @property
    def _company(self) -> Mapping[str, Any]:
        """The other requests that belong to it."""
        return {}

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
