"""The page of the commands `matrix` and `matrix run`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote, urlsplit

from v2_conformance.cli.command import PROGRAM
from v2_conformance.errors import UsageError


def write_matrix(reports: Sequence[Path], output: Path, link_base: str = "") -> list[str]:
    """Write the page to `output`; return the lines to print: its path, and what it does not link
    to.

    Links lead to the page beside each report (report.html for report.json), relative to the folder
    of `output`, or below `link_base`. Raises ReportFileError and UsageError.
    """
    from v2_conformance.formats.matrix.columns import column_of
    from v2_conformance.formats.matrix.page import render
    from v2_conformance.report.files import load_report, write_atomically

    if urlsplit(link_base).scheme not in ("", "http", "https"):
        raise UsageError(f"--link-base {link_base!r} is not an http(s) URL or a path")
    # Not Path.resolve, which raises for a link to itself.
    if os.path.realpath(output) in {os.path.realpath(path) for path in reports}:
        raise UsageError(f"{output} is one of the reports: name another --output")
    servers, notes = [], []
    for path in reports:
        page = path.with_name(path.name.removesuffix(".gz")).with_suffix(".html")
        link = ""
        if page.exists():
            link = quote(_relative(page, output))
            link = f"{link_base.rstrip('/')}/{link}" if link_base else link
        else:
            notes.append(
                f"no links to {page}, which does not exist; `{PROGRAM} report {path}` writes it"
            )
        servers.append((_relative(path, output), column_of(load_report(path), link)))
    write_atomically(output, render(servers))
    return [str(output), *notes]


def _relative(path: Path, output: Path) -> str:
    """Return `path` as seen from the folder of `output`."""
    return Path(os.path.relpath(path, output.parent)).as_posix()
