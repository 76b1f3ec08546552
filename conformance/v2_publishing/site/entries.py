"""The reports of a site: what is kept of each in memory, which of them are on the same, and the
folder that each gets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

import msgspec

from v2_conformance.report.document import Report
from v2_conformance.report.verdict.standing import claim
from v2_conformance.suite.outcomes import FAILED
from v2_conformance.suite.requirements import LEVELS
from v2_conformance.terminal_safe_text import short
from v2_publishing.matrix.columns import Column, column_of
from v2_publishing.site.admission import Admitted
from v2_publishing.site.names import free_slugs, slug
from v2_publishing.site_index import LevelCount, SiteReport
from v2_publishing.trend import version_order

_NAME, _WORD, _TEXT, _MOST = 200, 60, 1000, 50
_EVER = datetime.min.replace(tzinfo=timezone.utc)


@dataclass(frozen=True)
class Entry:
    """A report that is published.

    `source` is where it came from, `staged` the folder that has its files now, `home` the folder
    of the site that it is in already, "" if it is not, and `folder` the one that it gets. `subject`
    is what it is about: two reports with the same subject would say two things of one server.
    """

    source: Path
    staged: Path
    home: str
    subject: tuple[object, ...]
    started: datetime
    column: Column
    site: SiteReport
    folder: str = ""

    @property
    def kind(self) -> str:
        """A server or a client."""
        return self.site.kind

    @property
    def order(self) -> tuple[object, ...]:
        """The key that puts the reports of a site in order."""
        site = self.site
        name = (site.kind != "server", site.name.casefold(), site.name)
        return (*name, version_order(site.version), self.started, site.digest)


def entry_of(source: Path, staged: Path, home: str, admitted: Admitted) -> Entry:
    """The entry of a report that was admitted; it has no folder yet."""
    report = admitted.verified.shown
    column = column_of(report, "")
    return Entry(
        source=source,
        staged=staged,
        home=home,
        subject=_subject(admitted.verified.report),
        started=report.moment or _EVER,
        column=column,
        site=_site_report(admitted, column),
    )


def same_subjects(entries: Iterable[Entry]) -> list[list[Entry]]:
    """The entries by subject, each group with the newest first."""
    groups: dict[tuple[object, ...], list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.subject, []).append(entry)
    return [sorted(group, key=lambda e: e.started, reverse=True) for group in groups.values()]


def placed(entries: Sequence[Entry]) -> list[Entry]:
    """The entries in order, each with its folder.

    What is already in the site stays where it is, because others link to it. A new one gets the
    name and the version of its server; if others would have the same, each gets what tells it apart
    as well.
    """
    ordered = sorted(entries, key=lambda entry: entry.order)
    new = [entry for entry in ordered if not entry.home]
    wanted = [(slug(entry.site.name, entry.site.version), entry.subject) for entry in new]
    names = dict(
        zip(
            (entry.site.digest for entry in new),
            free_slugs(wanted, {entry.home for entry in ordered if entry.home}),
            strict=True,
        )
    )
    folders = [entry.home or names[entry.site.digest] for entry in ordered]
    return [
        replace(entry, folder=folder, site=_in(folder, entry))
        for entry, folder in zip(ordered, folders, strict=True)
    ]


def _in(folder: str, entry: Entry) -> SiteReport:
    """Return what index.json says of an entry, once it has its folder."""
    site = entry.site
    names = {"page": site.page, "report": site.report, "badge": site.badge}
    paths = {member: f"{folder}/{name}" for member, name in names.items()}
    return msgspec.structs.replace(site, id=folder, endpoint=f"{folder}/{site.endpoint}", **paths)


def _subject(report: Report) -> tuple[object, ...]:
    target, relations = report.target, report.relations
    models = () if relations is None else tuple(model.role for model in relations.models)
    return (
        target.what,
        target.server.name,
        target.server.version,
        tuple(sorted(target.profiles)),
        tuple(sorted(target.unsupported)),
        models,
    )


def _site_report(admitted: Admitted, column: Column) -> SiteReport:
    verified = admitted.verified
    report = verified.shown
    target, verdict, suite = report.target, report.verdict, report.suite
    return SiteReport(
        id="",
        kind="server" if target.client is None else "client",
        name=short(target.server.name, _NAME),
        version=short(target.server.version, _NAME),
        verdict=column.standing.words,
        conformant=verdict.conformant,
        robust=verdict.robust,
        complete=admitted.confirmed and report.complete and not column.left,
        consistent=verdict.consistent,
        confirmed=admitted.confirmed,
        claim=short(claim(report), _TEXT),
        profiles=tuple(short(name, _WORD) for name in target.profiles[:_MOST]),
        started=short(report.started, _WORD),
        suite=short(suite.version, _WORD),
        catalogue=short(suite.catalogue, _WORD),
        digest=verified.digest,
        levels={
            level: LevelCount(*column.passing(level), column.failing(level))
            for level in LEVELS
            if column.passing(level)[1]
        },
        requirements={id: row.outcome for id, row in column.requirements.items()},
        grades={id: r.grade for id, r in column.requirements.items() if r.outcome in FAILED},
        page="report.html",
        report="report.json.gz",
        badge="badge.svg",
        endpoint="badge.json",
        catalogue_version=short(suite.catalogue_version, _WORD),
    )
