"""Options of commands that write, read and publish reports."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from v2_conformance.options.kinds import file_path, folder_path
from v2_conformance.options.rows import argument, flag, option, repeated

REPORT_HELP = "A report.json, packed with gzip or not, or the report.jsonl of a run."


@dataclass(frozen=True, kw_only=True)
class GateOptions:
    """The gate of CI."""

    SECTION: ClassVar = "Reports"

    require: Literal["conformant", "robust"] = option(
        "--require WHAT",
        "Exit with 0 only if the verdict is this one. If only part of the suite ran: if no case "
        "failed that would block it. With --expect: if all such failures are known.",
        default="conformant",
        shown="conformant",
        choices=("conformant", "robust"),
    )
    strict: bool = flag("--strict", "Require robust and no warnings.")


@dataclass(frozen=True, kw_only=True)
class ReportOptions(GateOptions):
    """Handling of a run's report, for servers and clients alike."""

    SECTION: ClassVar = "Reports"

    report_dir: Path = option(
        "--report-dir DIR",
        "Write report.json, report.html and the other report files to this folder.",
        default=Path("reports"),
    )
    expectation_file: Path | None = option(
        "--expect FILE",
        "Compare the results with the known failures in this file (`v2-conformance expect` writes "
        "it) and exit with 1 only if they differ.",
    )


@dataclass(frozen=True, kw_only=True)
class RewriteOptions:
    """`report`."""

    report: Path = argument(file_path, REPORT_HELP)
    formats: tuple[str, ...] = repeated(
        "--format NAME",
        "Write only the file with this name; junit.xml and summary.md (GitHub's) are written only "
        "if named. A wrong name is answered with all of them.",
    )


@dataclass(frozen=True, kw_only=True)
class BadgeOptions:
    """`badge`."""

    report: Path = argument(file_path, REPORT_HELP)
    directory: Path = argument(folder_path, "Folder to write the badges to.", metavar="DIR")


@dataclass(frozen=True, kw_only=True)
class DiffOptions:
    """`diff`."""

    old: Path = argument(file_path, REPORT_HELP)
    new: Path = argument(file_path, "The report to compare with OLD.")
    markdown: bool = flag("--markdown", "Print Markdown, for a pull request's comment.")
    strict: bool = flag("--strict", "Also exit with 1 if a SHOULD case broke.")
    exit_zero: bool = flag("--exit-zero", "Exit with 0, whatever broke.")


@dataclass(frozen=True, kw_only=True)
class ExpectOptions(GateOptions):
    """`expect`."""

    report: Path = argument(file_path, REPORT_HELP)
    file: Path = argument(
        file_path,
        "File of known failures.",
        default=Path("v2-expect.yaml"),
        shown="v2-expect.yaml",
    )
    write: bool = flag(
        "--write", "Write FILE from the report, or bring it up to date. If FILE is '-', print it."
    )


@dataclass(frozen=True, kw_only=True)
class ShowOptions:
    """`show`."""

    report: Path = argument(file_path, REPORT_HELP)
    case: str = argument(
        str,
        "The id of a case, or a pattern or requirement that only one case of the report matches.",
    )
    full: bool = flag("--full", "Show every body in full, however long it is.")
    replay: Path | None = option(
        "--replay DIR",
        "Write the request, and a script that sends it again, into this folder.",
    )


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """`verify`."""

    report: Path = argument(file_path, REPORT_HELP)


@dataclass(frozen=True, kw_only=True)
class PublishOptions:
    """`publish`."""

    directory: Path = argument(
        folder_path,
        "Folder of the site: a new one, an empty one, or one that has a site.",
        metavar="DIR",
    )
    reports: tuple[Path, ...] = argument(
        file_path,
        "Every report of the site, each a report.json, packed with gzip or not, or a folder of "
        "such; DIR stands for the reports that it has.",
        metavar="REPORT...",
        several=True,
    )
    base_url: str | None = option(
        "--base-url URL",
        "URL where DIR is published. Snippets for badges then have absolute links.",
    )
    newest: bool = flag(
        "--newest",
        "Of several reports on the same version with the same claims, publish the newest.",
    )
    outdated: bool = flag(
        "--outdated",
        "Also publish reports on another version of the catalogue, marked as outdated.",
    )
