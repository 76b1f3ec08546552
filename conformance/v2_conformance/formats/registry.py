"""The files that are made of a report: one line here for each, one module that renders it.

Runs, the `report` command and the pytest plugin write every file that is listed here unless it is
`on_request`, and a run removes those that an older one left in its folder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import cast

from v2_conformance.errors import UsageError, unwritable
from v2_conformance.report.document import Report
from v2_conformance.report.files import write_atomically
from v2_conformance.terminal_safe_text import plain


@dataclass(frozen=True)
class Format:
    """A file beside report.json, and the function that makes its content, as "module:function",
    which is imported when it is needed. One `on_request` is written only if somebody names it."""

    file_name: str
    renderer: str
    on_request: bool = False

    def render(self, report: Report) -> str | bytes:
        """The file's content; text is written as UTF-8."""
        return cast(Callable[[Report], str | bytes], resolve_name(self.renderer))(report)


_HERE = "v2_conformance.formats"

PAGE = Format("report.html", f"{_HERE}.html.page:render")
BADGES = (
    Format("badge.svg", f"{_HERE}.badge:svg"),
    Format("badge.json", f"{_HERE}.badge:endpoint"),
)
JUNIT = Format("junit.xml", f"{_HERE}.junit:render", on_request=True)
FORMATS: tuple[Format, ...] = (
    PAGE,
    *BADGES,
    JUNIT,
    Format("summary.md", f"{_HERE}.github:markdown", on_request=True),
)


def file_names() -> tuple[str, ...]:
    """The names of the files that every run writes, so an older one may have left them."""
    return tuple(form.file_name for form in FORMATS if not form.on_request)


def named(names: Sequence[str]) -> list[Format]:
    """Return the formats with these file names. Raises UsageError for another name."""
    known = {form.file_name: form for form in FORMATS}
    for name in names:
        if name not in known:
            raise UsageError(f"no format {plain(name)!r}: there are {', '.join(known)}")
    return [known[name] for name in names]


def write_formats(directory: Path, report: Report, formats: Sequence[Format] = ()) -> list[Path]:
    """Write `formats` of `report`, by default those of every run, and return their paths. A report
    has no secret, so what is made of it has none. Raises UsageError."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(error, f"cannot write into {directory}: {error.strerror}") from error
    paths = []
    for form in formats or [form for form in FORMATS if not form.on_request]:
        path = directory / form.file_name
        write_atomically(path, form.render(report))
        paths.append(path)
    return paths
