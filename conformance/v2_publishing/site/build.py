"""Builds a site: the files of each report as it is admitted, then everything that is about all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from v2_conformance.formats import badge
from v2_conformance.formats.html import page as report_page
from v2_conformance.formats.registry import BADGES, PAGE
from v2_conformance.report.files import as_json_bytes, write_atomically
from v2_conformance.suite.cases import Case
from v2_conformance.suite.library import digest
from v2_conformance.suite.requirements import catalogue_version
from v2_conformance.version import __version__
from v2_publishing.matrix.page import render as render_matrix
from v2_publishing.matrix.product import ProductVersion, render_product
from v2_publishing.site.admission import admit, stage
from v2_publishing.site.entries import Entry, entry_of
from v2_publishing.site.names import CLIENTS, PAGES, SERVERS, free_slugs, slug
from v2_publishing.site_index import INDEX, SITE_FORMAT, SiteIndex, SiteMaker, SiteProduct

_FOLDERS = {"server": SERVERS, "client": CLIENTS}


@dataclass(frozen=True)
class Admission:
    """The standard for judging reports: all cases of this installation. With
    `outdated`, reports of another version or catalogue are taken as well."""

    cases: Sequence[Case]
    outdated: bool


def add_report(source: Path, staged: Path, home: str, by: Admission) -> Entry:
    """Admit a report and write its files into the new folder `staged`.

    Its page and its badges are made again: those that came with it may say anything. Raises
    RefusedError, and UsageError if a file cannot be written.
    """
    copy = stage(source, staged)
    admitted = admit(copy, by.cases, outdated=by.outdated)
    report = admitted.verified.shown
    svg, endpoint = (form.file_name for form in BADGES)
    write_atomically(staged / PAGE.file_name, report_page.render(report))
    write_atomically(staged / svg, badge.svg(report))
    write_atomically(staged / endpoint, badge.endpoint(report))
    return entry_of(source, staged, home, admitted)


def build(entries: Sequence[Entry], built: Path, base_url: str | None) -> list[str]:
    """Write a site of these reports, which have their folders, to the new folder `built`; its
    files, relative to that. Raises UsageError."""
    files = []
    for entry in entries:
        entry.staged.rename(built / entry.folder)
        site = entry.site
        files += [site.report, site.page, site.badge, site.endpoint]
    products = _products(entries)
    for product, versions in products:
        _write(
            built / product.page, _product_page(product, versions, built, base_url), files, built
        )
    for kind, page in PAGES.items():
        shown = [entry for entry in entries if entry.kind == kind]
        if shown or kind == "server":
            pages = {e.site.id: p.page for p, group in products for e in group}
            columns = [
                (
                    e.site.id,
                    replace(
                        e.column,
                        page=e.site.page,
                        versions=pages[e.site.id],
                    ),
                )
                for e in shown
            ]
            other = next((p for k, p in PAGES.items() if k != kind and _has(entries, k)), "")
            _write(built / page, render_matrix(columns, kind=kind, other=other), files, built)
    files.append(INDEX)
    index = SiteIndex(
        SiteMaker("v2-conformance", __version__, digest(), SITE_FORMAT, catalogue_version()),
        base_url,
        tuple(entry.site for entry in entries),
        tuple(product for product, _ in products),
        tuple(sorted(files)),
    )
    write_atomically(built / INDEX, msgspec.json.format(as_json_bytes(index), indent=1) + b"\n")
    return files


def _has(entries: Sequence[Entry], kind: str) -> bool:
    return any(entry.kind == kind for entry in entries)


def _write(path: Path, content: str, files: list[str], built: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    write_atomically(path, content)
    files.append(path.relative_to(built).as_posix())


def _products(entries: Sequence[Entry]) -> list[tuple[SiteProduct, list[Entry]]]:
    """Every server and client, with its reports, the oldest version first."""
    groups: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        groups.setdefault((entry.kind, entry.site.name), []).append(entry)
    results = []
    for kind, folder in _FOLDERS.items():
        names = [name for there, name in groups if there == kind]
        pages = free_slugs([(slug(name), name) for name in names])
        for name, page in zip(names, pages, strict=True):
            group = groups[kind, name]
            ids = tuple(entry.site.id for entry in group)
            product = SiteProduct(group[0].site.kind, name, f"{folder}/{page}.html", ids)
            results.append((product, group))
    return results


def _product_page(
    product: SiteProduct, versions: Sequence[Entry], built: Path, base_url: str | None
) -> str:
    return render_product(
        product.name,
        product.kind,
        PAGES[product.kind],
        [
            ProductVersion(
                column=entry.column,
                site=entry.site,
                badge=(built / entry.site.badge).read_text("utf-8"),
            )
            for entry in versions
        ],
        base_url,
    )
