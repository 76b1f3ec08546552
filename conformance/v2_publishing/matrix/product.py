"""The page of one server, or client, in all its published versions: verdicts, trend, badges."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from jinja2 import Template
from markupsafe import Markup, escape

from v2_conformance.formats.templates import environment, requirement_anchor
from v2_conformance.terminal_safe_text import short
from v2_publishing.matrix.columns import Column
from v2_publishing.matrix.trends import trends
from v2_publishing.site_index import SiteReport

ALTERNATIVE = "V2 binary tensor data: conformance"
"""The alternative text of a badge: fixed, because a README should not show a server's words."""
_NAME = 80


@dataclass(frozen=True)
class ProductVersion:
    """A published report: its column, what index.json says of it, and its badge.svg as text."""

    column: Column
    site: SiteReport
    badge: str


@dataclass(frozen=True)
class Snippet:
    """A way to embed a badge, and the text to copy."""

    title: str
    text: str


@dataclass(frozen=True)
class _Shown:
    version: str
    column: Column
    site: SiteReport
    image: Markup
    snippets: tuple[Snippet, ...]


def render_product(
    name: str,
    kind: str,
    matrix: str,
    versions: Sequence[ProductVersion],
    base_url: str | None,
) -> str:
    """The page, which is one folder below the site's. `versions` has the oldest first, `matrix` is
    the page of all, and `base_url` where the site is published, if that is known."""
    columns = [replace(one.column, page=f"../{one.site.page}") for one in versions]
    shown = [
        _Shown(
            short(one.site.version or "no version", _NAME),
            column,
            one.site,
            _image(one.badge),
            snippets(one.site, base_url),
        )
        for one, column in zip(versions, columns, strict=True)
    ]
    return _template().render(
        name=short(name or f"unnamed {kind}", _NAME),
        kind=kind,
        matrix=f"../{matrix}",
        versions=shown[::-1],
        trend=next(iter(trends(columns)), None),
        anchor=requirement_anchor,
    )


def snippets(site: SiteReport, base_url: str | None) -> tuple[Snippet, ...]:
    """Return what to paste into a README or a page to show a badge that leads to its report."""
    places = [] if base_url is None else [("anywhere", f"{base_url}/")]
    places.append(("in a file beside index.html of this site", ""))
    results = []
    for where, base in places:
        badge, page = base + site.badge, base + site.page
        results.append(Snippet(f"Markdown, {where}", f"[![{ALTERNATIVE}]({badge})]({page})"))
        html = f'<a href="{escape(page)}"><img src="{escape(badge)}" alt="{ALTERNATIVE}"></a>'
        results.append(Snippet(f"HTML, {where}", html))
    return tuple(results)


def _image(svg: str) -> Markup:
    """The drawing as the URL of an image, which no policy has to allow a file for."""
    encoded = base64.b64encode(svg.encode("utf-8", "backslashreplace")).decode()
    return Markup(f"data:image/svg+xml;base64,{encoded}")


@cache
def _template() -> Template:
    made = environment(Path(__file__).parent, "matrix", scripted=False)
    return made.get_template("product.html.j2")
