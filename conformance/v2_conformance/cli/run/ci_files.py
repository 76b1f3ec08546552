"""A report in the formats of CI services."""

from __future__ import annotations

from v2_conformance.formats.registry import Format, make_folder
from v2_conformance.options.runs import CiOptions
from v2_conformance.redaction import Mask
from v2_conformance.report.document import Report
from v2_conformance.report.files import write_atomically

_FORMATS = ("junit_xml", "ctrf", "sarif")
"""Options, and modules of `formats.ci`."""


def write_ci_files(report: Report, options: CiOptions, mask: Mask) -> None:
    """Write the files that were asked for. Raises UsageError."""
    for name in _FORMATS:
        path = getattr(options, name)
        if path is not None:
            renderer = f"v2_conformance.formats.ci.{name}:render"
            content = Format(path.name, renderer).render(report)
            mask.check(content, str(path))
            make_folder(path.parent)
            write_atomically(path, content)
