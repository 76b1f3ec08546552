"""Requirements, levels and profiles, read from cases/requirements.yaml."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, get_args

import msgspec

from v2_conformance.errors import UsageError
from v2_conformance.own_files import own_document
from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.suite.outcomes import Harm
from v2_conformance.terminal_safe_text import did_you_mean

Level = Literal["MUST", "SHOULD", "MAY", "DISPUTED"]
Blocks = Literal["conformant", "robust"]
Basis = Literal["text", "oip", "http", "derived"]
Layer = Literal["http"]
# The strictest first, and what blocks most.
LEVELS: tuple[Level, ...] = get_args(Level)
BLOCKS: tuple[Blocks, ...] = get_args(Blocks)

_FILE = "requirements.yaml"


@dataclass(frozen=True)
class Document:
    """A document that requirements cite.

    Its text is that of `commit` (REPOSITORY@COMMIT on GitHub), or of `date`: the month in which an
    RFC was published, or the day on which a page was read. `sha256` is the text's digest, None for
    an RFC, which never changes.
    """

    title: str
    url: str
    commit: str | None = None
    date: str | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class Citation:
    """Where a document says it: a key of `documents()`, a heading ("A > B" is B below A) or an
    RFC's section, and a paragraph or list item in that, from 1."""

    document: str
    section: str
    paragraph: int


@dataclass(frozen=True)
class Requirement:
    """One requirement. `follows` says why a derived one holds; it is empty for every other basis.

    `datatypes` are those that it is about, if it is about some: a server that has none of them need
    not meet it. Every other requirement holds whatever datatypes a server lacks.
    `untested` says why it has no case; it is empty for a requirement that has one.
    `blocks` says what a server is not if a MUST case fails, and `harm` what its user loses; both
    are None if it cannot have one.
    `level_in` maps a profile to the level that the requirement has for a server that claims it.
    `layer` is "http" if the HTTP library below a client usually does it.
    `since` is the version of the catalogue that introduced it. `superseded_by` are the requirements
    that replaced it; it is then no longer judged.
    `findings` are kinds of causes: whatever case shows one of them, it is about this requirement.
    `prerequisite_of` are the requirements that cannot hold if this one does not. `ordinary` says
    that its requests have mistakes of any client's users, `varies` that its cases send in another
    way what others test plainly, `combines` that they only combine what others test. `blobs` says
    how they tell what is wrong with the blobs of requests (cases/requirements.yaml).
    `report.root_causes` reads all of these: `findings` to `blobs`.
    """

    id: str
    since: str
    level: Level
    basis: Basis
    profile: str
    title: str
    statement: str
    cite: tuple[Citation, ...]
    blocks: Blocks | None = None
    harm: Harm | None = None
    layer: Layer | None = None
    follows: str = ""
    note: str = ""
    untested: str = ""
    level_in: Mapping[str, Level] = field(default_factory=dict, hash=False)
    superseded_by: tuple[str, ...] = ()
    datatypes: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    prerequisite_of: tuple[str, ...] = ()
    ordinary: bool = False
    varies: bool = False
    combines: bool = False
    blobs: Literal["elements", "everywhere", "typed", "reordered"] | None = None

    @property
    def family(self) -> str:
        """The letter of the id, a key of `families()`."""
        return self.id[0]

    def level_for(self, profiles: Collection[str]) -> Level:
        """The level for a server that claims `profiles`, the strictest that they name."""
        if not self.level_in:
            return self.level
        raised = [level for profile, level in self.level_in.items() if profile in profiles]
        return min(raised, key=LEVELS.index) if raised else self.level


def grade(level: str, blocks: Blocks | None) -> str:
    """Return a level with what a failure at it blocks, such as "MUST (blocks robust)"."""
    return level if blocks is None else f"{level} (blocks {blocks})"


GRADES: tuple[str, ...] = (
    *(grade("MUST", blocks) for blocks in BLOCKS),
    *(level for level in LEVELS if level != "MUST"),
)
"""Every grade, the strictest first."""


@cache
def catalogue() -> dict[str, Requirement]:
    """Every requirement by id, in the order of the file."""
    result = msgspec.convert(own_document(_FILE)["requirements"], list[Requirement])
    return {requirement.id: requirement for requirement in result}


@cache
def catalogue_version() -> str:
    """The catalogue's own version, MAJOR.MINOR.PATCH: docs/governance.md says what changes it."""
    return str(own_document(_FILE)["version"])


@cache
def families() -> dict[str, str]:
    """Family letter to title, in the order of the file."""
    return dict(own_document(_FILE)["families"])


@cache
def documents() -> dict[str, Document]:
    """The documents that citations name, by their key."""
    return msgspec.convert(own_document(_FILE)["documents"], dict[str, Document])


def check_profile(name: str) -> None:
    """Raise UsageError, with what may have been meant, unless `name` is a profile of servers."""
    if name not in SERVER_PROFILES:
        known = f"expected one of {', '.join(SERVER_PROFILES)}; for clients see `client --help`"
        raise UsageError(f"unknown profile {name!r}: {did_you_mean(name, SERVER_PROFILES, known)}")
