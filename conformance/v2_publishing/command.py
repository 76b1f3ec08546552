"""The command `publish`: makes a static site of reports."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

import click

from v2_conformance.cli.command import FILE, FOLDER, PROGRAM, command
from v2_conformance.errors import UsageError

if TYPE_CHECKING:
    from v2_publishing.site.build import Admission
    from v2_publishing.site.entries import Entry
    from v2_publishing.site.folder import SiteFolder

_MOST = 1000
_DEEPEST = 6
_LONGEST_URL = 1000


@command(
    "publish",
    examples={
        "v2-conformance publish site reports": "Make a site of every report in a folder.",
        "v2-conformance publish site site new/report.json": "Add a report to a site.",
        "v2-conformance publish site site --base-url https://example.com/conformance": (
            "Build a site again, with badges that other pages can embed."
        ),
    },
    exit_codes={
        0: "The site is built.",
        1: "A report does not hold: judged again, it comes out differently. The site is as it was.",
        2: "Wrong usage, or a report that cannot be read, cannot be confirmed here, or is on the "
        "same server as another one. The site is as it was.",
        3: "The suite itself failed.",
    },
)
@click.argument(
    "directory",
    metavar="DIR",
    type=FOLDER,
    help="Folder of the site: a new one, an empty one, or one that has a site.",
)
@click.argument(
    "reports",
    metavar="REPORT...",
    type=FILE,
    nargs=-1,
    required=True,
    help="Every report of the site, each a report.json, packed with gzip or not, or a folder of "
    "such; DIR stands for the reports that it has.",
)
@click.option(
    "--base-url",
    metavar="URL",
    help="URL where DIR is published. Snippets for badges then have absolute links.",
)
@click.option(
    "--newest",
    is_flag=True,
    help="Of several reports on the same version with the same claims, publish the newest.",
)
@click.option(
    "--outdated",
    is_flag=True,
    help="Also publish reports on another version of the catalogue, marked as outdated.",
)
def publish(
    directory: Path, reports: tuple[Path, ...], base_url: str | None, newest: bool, outdated: bool
) -> int:
    """Verify reports and make a static site of them.

    The site has a matrix, a page for each server with its versions, badges, and index.json. If a
    report does not hold, nothing is written, and a line says what is wrong with it.
    """
    from v2_conformance.suite.causes.base import counted
    from v2_conformance.suite.library import every_case
    from v2_publishing.site.build import Admission, build
    from v2_publishing.site.entries import placed
    from v2_publishing.site.folder import opened, replace_site

    base_url = _base_url(base_url)
    with opened(directory) as folder:
        paths = _report_files(directory, reports)
        entries, codes = _admitted(folder, paths, Admission(every_case(), outdated))
        kept, more = _one_for_each(entries, newest=newest)
        if codes or more:
            print(
                f"{PROGRAM}: nothing was published; {directory} is as it was",
                file=sys.stderr,
            )
            return 1 if 1 in codes else UsageError.exit_code
        entries = placed(kept)
        built = folder.work / "built"
        built.mkdir()
        files = build(entries, built, base_url)
        replace_site(folder, built, files, _derived(directory, paths))
    print(directory / "index.html")
    print(f"{counted(len(entries), 'report')}, {counted(len(files), 'file')}")
    return 0


def _base_url(given: str | None) -> str | None:
    """Return the URL without a slash at its end, safe in any page. Raises UsageError."""
    if given is None:
        return None
    try:
        parts = urlsplit(given)
        valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        valid = False
    if not valid or parts.query or parts.fragment or parts.username or len(given) > _LONGEST_URL:
        raise UsageError(f"--base-url {given[:80]!r} is not the http(s) URL of a folder")
    return quote(given.rstrip("/"), safe=":/%~@!$&+,;=-._[]")


def _report_files(site: Path, given: Sequence[Path]) -> list[Path]:
    """Return every report that is named, and those in the folders that are. Raises UsageError.

    In the site itself, reports are in its folders: what a run left elsewhere in it is not meant.
    """
    result: dict[Path, None] = {}
    for path in given:
        if path.is_dir():
            itself = os.path.realpath(path) == os.path.realpath(site)
            levels = 1 if itself else _DEEPEST
            inside = [one for one in _reports_in(path, levels) if not itself or one.parent != path]
            if not inside:
                raise UsageError(f"{path} has no report.json or report.json.gz in it")
            result.update(dict.fromkeys(inside))
        else:
            result[path] = None
        if len(result) > _MOST:
            raise UsageError(f"more than {_MOST} reports: make several sites")
    return list(result)


def _reports_in(folder: Path, levels: int) -> Iterator[Path]:
    from v2_conformance.report.files import PACKED_REPORT, REPORT
    from v2_publishing.site.folder import WORK

    try:
        inside = sorted(folder.iterdir())
    except OSError as error:
        raise UsageError(f"cannot read the folder {folder}: {error.strerror}") from error
    for path in inside:
        if path.name in (REPORT, PACKED_REPORT) and not path.is_dir():
            yield path
        elif levels and path.name != WORK and path.is_dir() and not path.is_symlink():
            yield from _reports_in(path, levels - 1)


def _admitted(
    folder: SiteFolder, paths: Sequence[Path], by: Admission
) -> tuple[list[Entry], list[int]]:
    """Return the entries of all reports that hold, without duplicates, and the exit code of each
    other one.
    """
    from v2_publishing.site.admission import RefusedError
    from v2_publishing.site.build import add_report

    entries: dict[str, Entry] = {}
    codes = []
    for number, path in enumerate(paths):
        staged = folder.work / str(number)
        staged.mkdir()
        try:
            entry = add_report(path, staged, _home(folder.path, path), by)
        except RefusedError as error:
            _refuse(path, str(error))
            codes.append(error.exit_code)
            continue
        twin = entries.get(entry.site.digest)
        if twin is None or (entry.home and not twin.home):
            entries[entry.site.digest] = entry
    return list(entries.values()), codes


def _home(site: Path, path: Path) -> str:
    """Return the folder of the site that a report is in, "" if it is in none."""
    from v2_publishing.site.names import is_folder_name

    inside = os.path.realpath(path.parent.parent) == os.path.realpath(site)
    return path.parent.name if inside and is_folder_name(path.parent.name) else ""


def _one_for_each(entries: Sequence[Entry], *, newest: bool) -> tuple[list[Entry], bool]:
    """Return one report for each version with the same claims, and whether somebody
    has to choose.
    """
    from v2_conformance.terminal_safe_text import plain
    from v2_publishing.site.entries import same_subjects

    kept, undecided = [], False
    for group in same_subjects(entries):
        first, *others = group
        if others and (not newest or others[0].started == first.started):
            undecided = True
            for other in others:
                _refuse(
                    other.source,
                    f"{first.source} is on the same version with the same claims, "
                    f"{_made(first)}, this one {_made(other)}: leave one out"
                    + ("" if newest else ", or give --newest"),
                )
        home = next((entry.home for entry in group if entry.home), "")
        kept.append(replace(first, home=home))
        if newest:
            for other in others:
                print(plain(f"left out {other.source}: {first.source} is newer"), flush=True)
    return kept, undecided


def _made(entry: Entry) -> str:
    return f"made {entry.site.started[:40]}"


def _refuse(path: Path, reason: str) -> None:
    from v2_conformance.terminal_safe_text import plain

    print(plain(f"{PROGRAM}: refused {path}: {reason}"), file=sys.stderr, flush=True)


def _derived(directory: Path, paths: Sequence[Path]) -> set[str]:
    """Return the files that may be rewritten beside reports that somebody put into the site."""
    from v2_publishing.site.names import IN_A_FOLDER

    homes = {home for path in paths if (home := _home(directory, path))}
    return {f"{home}/{name}" for home in homes for name in IN_A_FOLDER}
