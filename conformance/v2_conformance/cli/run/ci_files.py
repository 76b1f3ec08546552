"""The options that write a report in the formats of CI services."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cloup

from v2_conformance.cli.command import FILE

if TYPE_CHECKING:
    from v2_conformance.redaction import Mask
    from v2_conformance.report.document import Report

CI_FILES = ("junit_xml", "ctrf", "sarif")
"""The names of the options' parameters."""

_RENDERERS = {
    "junit_xml": "v2_conformance.formats.ci.junit_xml:render",
    "ctrf": "v2_conformance.formats.ci.ctrf:render",
    "sarif": "v2_conformance.formats.ci.sarif:render",
}


def ci_files() -> Callable[[Any], Any]:
    """A decorator; made anew for each command, as a group of options has to be."""
    return cloup.option_group(
        "Files for CI services",
        cloup.option(
            "--junit-xml",
            type=FILE,
            metavar="FILE",
            help="Also write JUnit XML: a test for each case, in a class for each family.",
        ),
        cloup.option(
            "--ctrf",
            type=FILE,
            metavar="FILE",
            help="Also write JSON in the Common Test Report Format (ctrf.io).",
        ),
        cloup.option(
            "--sarif",
            type=FILE,
            metavar="FILE",
            help="Also write SARIF 2.1.0: a result for each case that failed.",
        ),
    )


def write_ci_files(report: Report, wanted: Mapping[str, Path | None], mask: Mask) -> None:
    """Write the `wanted` files, by the names of the options. Raises UsageError."""
    from v2_conformance.formats.registry import Format, make_folder
    from v2_conformance.report.files import write_atomically

    for name, path in wanted.items():
        if path is not None:
            content = Format(path.name, _RENDERERS[name]).render(report)
            mask.check(content, str(path))
            make_folder(path.parent)
            write_atomically(path, content)
