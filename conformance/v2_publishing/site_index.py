"""index.json of a site of reports, as types: what other programs read of it.

schemas/site.schema.json is generated from these types (`tools.schemas`), and a test keeps
the two equal. Members and what they mean stay; new members may be added at any time.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from v2_conformance.report.tested import ReportPart
from v2_conformance.suite.outcomes import Outcome

SITE_FORMAT = 2
"""The version of the format of index.json. It changes with every incompatible change."""

INDEX = "index.json"

SitePath = Annotated[str, Meta(description="A path relative to the folder of index.json.")]
Kind = Annotated[
    Literal["server", "client"], Meta(description="What was tested: a server or a client.")
]


class SiteMaker(ReportPart, frozen=True):
    """The suite that built the site."""

    name: Literal["v2-conformance"]
    version: str
    catalogue: str
    """Digest of what that suite asks and expects."""
    format: Annotated[int, Meta(ge=SITE_FORMAT, le=SITE_FORMAT)]
    """Version of this format."""
    catalogue_version: str = ""
    """Version of the catalogue by which all reports were judged again."""


class LevelCount(ReportPart, frozen=True):
    """The requirements of a level: how many pass whole, and which fail."""

    passed: Annotated[int, Meta(ge=0)]
    total: Annotated[int, Meta(ge=0)]
    failed: tuple[str, ...]


class SiteReport(ReportPart, frozen=True, kw_only=True):
    """A published report."""

    id: Annotated[str, Meta(pattern="^[a-z0-9._-]+$")]
    """The folder of its files, unique in the site."""
    kind: Kind
    name: str
    """The name of the server or client, as it says itself."""
    version: str
    """Its version, as it says itself."""
    verdict: str
    """The verdict as people say it, such as `conformant, robust`."""
    conformant: bool
    robust: bool
    complete: bool
    """Whether every case of a whole run is in it."""
    consistent: bool | None
    """Whether relations hold, in a run about any model; else null."""
    confirmed: bool
    """Whether the verdict came out the same when every case was judged again. False for a report of
    a catalogue that asks or expects something else."""
    claim: str
    """What the verdict is about, such as `binary, raw; without BF16`."""
    profiles: tuple[str, ...]
    started: Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
    suite: str
    """The version of the suite that made the report."""
    catalogue: str
    """Digest of what that suite asks and expects."""
    digest: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    """`integrity.digest` of the report."""
    levels: dict[str, LevelCount]
    """Level (MUST, SHOULD, MAY, DISPUTED) to numbers."""
    requirements: dict[str, Outcome]
    """Requirement to the worst outcome of its cases."""
    page: SitePath
    report: SitePath
    badge: SitePath
    """badge.svg, relative to index.json."""
    endpoint: SitePath
    """badge.json, for services that draw badges, likewise."""
    catalogue_version: str = ""
    """Version of the catalogue that the verdict is about; empty if old."""
    grades: dict[str, str] = msgspec.field(default_factory=dict)
    """Failed requirement to the strictest grade of its failed cases, such as `MUST (blocks
    robust)`."""


class SiteProduct(ReportPart, frozen=True):
    """A server or a client in all its published versions."""

    kind: Kind
    name: str
    page: SitePath
    reports: tuple[str, ...]
    """The `id` of each report, the oldest version first."""


class SiteIndex(ReportPart, frozen=True):
    """Everything that a site of reports has."""

    site: SiteMaker
    base_url: str | None
    """Where the site is published, without a slash at the end."""
    reports: tuple[SiteReport, ...]
    products: tuple[SiteProduct, ...]
    files: tuple[SitePath, ...]
    """Every file of the site. What else is in the folder is somebody else's."""


class _OldMaker(msgspec.Struct):
    name: str
    format: int


class OldSite(msgspec.Struct):
    """The part of the index.json of an older site, of any format, that has to be known."""

    site: _OldMaker
    files: tuple[str, ...] = ()
