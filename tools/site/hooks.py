"""Adds to docs/ what the site has besides: pages of the repository, the standard, the reports."""

from __future__ import annotations

import posixpath
import re
from typing import Any

from mkdocs.structure.files import File

from tools import ROOT
from tools.site.standard import pages
from tools.traceability.page import write_page
from v2_conformance.public_address import REPOSITORY, SITE, is_known
from v2_conformance.version import __version__

ELSEWHERE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "reports/README.md": "published.md",
    "examples/README.md": "examples.md",
    "benchmarks/README.md": "benchmarks.md",
    "tools/site/site.css": "site.css",
    "tools/site/site.js": "site.js",
}
"""Files of the repository that are not in docs/, and where the site has them."""
_PLACES = {**ELSEWHERE, "cases/requirements.yaml": "standard/index.md"}
_PLACES["reports"] = "reports/index.html"
_LINK_OR_FENCE = re.compile(r"(?ms)^ *```.*?^ *```$|(?<=\]\()(?![a-z]+:|#)([^)\s#]+)")
_LEFT_OUT = ("README.md", ".json", ".jsonl")
_API = "\n\n## All names\n\n::: v2_conformance\n"


def on_config(config: Any) -> None:
    """Give the site its address, and the page that is made of the suite."""
    config.site_url = SITE if is_known() else ""
    write_page()


def on_files(files: Any, config: Any) -> None:
    """Add the files that are not in docs/."""
    for path, name in ELSEWHERE.items():
        files.append(File.generated(config, name, abs_src_path=str(ROOT / path)))
    for report in sorted((ROOT / "reports").rglob("*")):
        if report.is_file() and not report.name.endswith(_LEFT_OUT):
            name = report.relative_to(ROOT).as_posix()
            files.append(File.generated(config, name, abs_src_path=str(report)))
    for name, text in pages():
        files.append(File.generated(config, f"standard/{name}", content=text))


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Return the page with links that hold on the site, or lead to the repository."""
    name = page.file.src_uri
    source = {there: path for path, there in ELSEWHERE.items()}.get(name, f"docs/{name}")

    def mended(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), found[1]))
        there = _PLACES.get(path, path.removeprefix("docs/"))
        if files.get_file_from_path(there) is not None:
            return there
        return f"https://github.com/{REPOSITORY}/blob/v{__version__}/{path}"

    if name.startswith("standard/"):
        return markdown
    if name == "index.md":
        page.meta["hide"] = ["toc"]  # so that its diagram has room
    return _LINK_OR_FENCE.sub(mended, markdown) + (_API if name == "api.md" else "")
