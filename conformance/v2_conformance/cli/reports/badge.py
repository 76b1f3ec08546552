"""The command `badge`: writes the badges of a report."""

from __future__ import annotations

from v2_conformance.cli.command import command
from v2_conformance.options.reports import BadgeOptions


@command(
    "badge",
    BadgeOptions,
    examples={
        "v2-conformance badge reports/report.json docs": (
            "Write docs/badge.svg and docs/badge.json."
        ),
    },
)
def badge(options: BadgeOptions) -> int:
    """Write badge.svg and badge.json of a report.

    badge.json is for services, such as shields.io, that draw badges from an endpoint.
    """
    from v2_conformance.formats.registry import BADGES, write_formats
    from v2_conformance.report.files import load_report

    for path in write_formats(options.directory, load_report(options.report), BADGES):
        print(path)
    return 0
