"""The folder that MkDocs reads: the manual with its links mended, the standard, the reports."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tools.site.published import published
from tools.site.standard import Standard
from v2_conformance.formats.templates import base
from v2_conformance.public_address import REPOSITORY, SITE, is_known
from v2_conformance.version import __version__
from v2_publishing.site.names import IN_A_FOLDER

ASSETS = Path(__file__).parent / "assets"
NAV: Sequence[tuple[str, Sequence[str]]] = (
    ("Try it", ("index.md", "tour.md")),
    ("Your server", ("running.md", "targets.md", "kits.md", "verdicts.md")),
    ("In CI", ("ci.md",)),
    ("Your client", ("clients.md",)),
    ("Vectors", ("vectors.md", "examples.md", "proposal.md")),
    ("Publish", ("reports.md", "certification.md", "published.md")),
    (
        "The standard",
        ("standard/index.md", "governance.md", "disputes.md", "traceability.md", "bugs.md"),
    ),
    ("Write a case", ("contributing.md", "authoring-cases.md", "extending.md")),
    ("How it works", ("architecture.md", "decisions.md", "api.md", "benchmarks.md")),
    ("The project", ("versions.md", "changelog.md", "releasing.md", "security.md", "conduct.md")),
)
"""The pages in the order in which people need them. A page of docs/ that is not here comes last."""
ELSEWHERE: Mapping[str, str] = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "reports/README.md": "published.md",
    "examples/README.md": "examples.md",
    "benchmarks/README.md": "benchmarks.md",
    "cases/requirements.yaml": "standard/index.md",
}
"""Pages of the repository that are not in docs/, and where the site has them."""
_LINK = re.compile(
    r"(?<!!)\[((?:[^\[\]\n]|\n(?!\n)|!\[[^\]]*\]\([^)]*\)){1,400})\]\((?![a-z]+:|#)([^)\s]+)\)"
)
_IMAGE = re.compile(r"!\[([^\]]*)\]\((?![a-z]+:)([^)\s]+)\)")
_FENCE = re.compile(r"(?ms)^( *```.*?^ *```$)")
_SLUGS = "as GitHub makes anchors"
_AS_GITHUB = "!!python/object/apply:pymdownx.slugs.slugify {kwds: {case: lower}}"
_API = "\n\n## All names\n\n::: v2_conformance\n    options:\n      members_order: source\n"
_HOME = "---\nhide: [toc]\n---\n\n"  # so that its diagram has room


def stage(root: Path, folder: Path) -> None:
    """Write `folder`/docs and `folder`/mkdocs.yml from the checkout in `root`."""
    shutil.rmtree(folder, ignore_errors=True)
    docs = folder / "docs"
    docs.mkdir(parents=True)
    sources = {f"docs/{path.name}": path.name for path in sorted((root / "docs").glob("*.md"))}
    sources |= {page: name for page, name in ELSEWHERE.items() if page.endswith(".md")}
    for source, name in sources.items():
        text = mended((root / source).read_text("utf-8"), source, root)
        before, after = _HOME if name == "index.md" else "", _API if name == "api.md" else ""
        (docs / name).write_text(before + text + after, "utf-8")
    for image in (root / "docs").glob("*.png"):
        shutil.copy(image, docs)
    standard = docs / "standard"
    standard.mkdir()
    for name, text in Standard(root, published(root)).pages():
        (standard / name).write_text(text, "utf-8")
    _copy_reports(root / "reports", docs / "reports")
    shutil.copytree(ASSETS, docs / "assets")
    shutil.copy(base("js"), docs / "assets")
    settings = configuration(root, sorted(sources.values()))
    text = yaml.safe_dump(settings, sort_keys=False).replace(_SLUGS, _AS_GITHUB)
    (folder / "mkdocs.yml").write_text(text, "utf-8")


def mended(text: str, source: str, root: Path) -> str:
    """Return a page of the repository whose links hold on the site. What the site does not have
    is linked in the repository if its address is known, and is plain text otherwise."""
    pieces = _FENCE.split(text)
    return "".join(p if n % 2 else _mended(p, source, root) for n, p in enumerate(pieces))


def _mended(text: str, source: str, root: Path) -> str:
    def target(link: str) -> str:
        path, sign, anchor = link.partition("#")
        place = ((root / source).parent / path).resolve()
        inside = place.relative_to(root.resolve()).as_posix() if path else source
        if inside.startswith("docs/") and inside.count("/") == 1:
            return inside.removeprefix("docs/") + sign + anchor
        if inside in ELSEWHERE:
            return ELSEWHERE[inside] + sign + anchor
        name = Path(inside).name
        if inside.startswith("reports/") and (place.suffix == ".html" or name in IN_A_FOLDER):
            return inside + sign + anchor
        if inside == "reports":
            return "reports/index.html"
        return f"https://github.com/{REPOSITORY}/blob/v{__version__}/{inside}" if is_known() else ""

    def linked(found: re.Match[str]) -> str:
        there = target(found[2])
        return f"[{found[1]}]({there})" if there else found[1]

    def shown(found: re.Match[str]) -> str:
        return f"![{found[1]}]({target(found[2])})"

    return _LINK.sub(linked, _IMAGE.sub(shown, text))


def _copy_reports(source: Path, target: Path) -> None:
    shutil.copytree(
        source, target, ignore=shutil.ignore_patterns("README.md", "report.json", "*.jsonl")
    )


def configuration(root: Path, pages: Sequence[str]) -> dict[str, Any]:
    """Return mkdocs.yml. Everything that a page loads is in the site."""
    listed = {name for _, names in NAV for name in names}
    nav: list[dict[str, Any]] = []
    for title, names in NAV:
        there = [name for name in names if name in pages or name == "standard/index.md"]
        if there:
            nav.append({title: there})
    nav[-1][next(iter(nav[-1]))].extend(name for name in pages if name not in listed)
    return {
        "site_name": "v2-conformance",
        "site_url": SITE if is_known() else "",
        "site_description": "A conformance suite for binary tensors in the V2 inference protocol",
        "use_directory_urls": False,
        "theme": {
            "name": "material",
            "font": False,
            "language": "en",
            "features": [
                "navigation.tabs",
                "navigation.top",
                "search.highlight",
            ],
            "palette": [
                {
                    "media": f"(prefers-color-scheme: {name})",
                    "scheme": scheme,
                    "primary": "blue grey",
                    "toggle": {"icon": icon, "name": words},
                }
                for name, scheme, icon, words in (
                    ("light", "default", "material/weather-night", "Dark"),
                    ("dark", "slate", "material/weather-sunny", "Light"),
                )
            ],
        },
        "plugins": [
            "search",
            "offline",
            {
                "mkdocstrings": {
                    "handlers": {
                        "python": {
                            "paths": [str(root.resolve() / "conformance")],
                            "options": {"show_source": False, "show_root_heading": False},
                        }
                    }
                }
            },
        ],
        "markdown_extensions": [
            "attr_list",
            "md_in_html",
            "tables",
            "pymdownx.superfences",
            {"toc": {"permalink": True, "toc_depth": 3, "slugify": _SLUGS}},
        ],
        "extra": {
            "polyfills": ["assets/iframe-worker.js"],
            "generator": False,
            "homepage": "index.html",
        },
        "extra_javascript": ["assets/site.js", "assets/base.js"],
        "extra_css": ["assets/site.css"],
        "not_in_nav": "/standard/*\n/reports/**",
        "nav": nav,
        "validation": {
            "links": {"anchors": "warn", "absolute_links": "warn", "unrecognized_links": "warn"}
        },
    }
