"""The command `gateway`: compares two reports of one server, directly and through a gateway."""

from __future__ import annotations

from v2_conformance.cli.command import command
from v2_conformance.options.reports import GatewayOptions


@command(
    "gateway",
    GatewayOptions,
    examples={
        "v2-conformance gateway reports/report.json reports/gateway/report.json": (
            "Show again what `run --through` showed."
        ),
    },
    exit_codes={
        0: "The gateway is transparent.",
        1: "It is not.",
        2: "Wrong usage, or reports that cannot be read or compared.",
        3: "The reports do not show enough to say so.",
    },
)
def gateway(options: GatewayOptions) -> int:
    """Show what a gateway does to the extension.

    Compares two reports of the same server case by case: one of a run without the gateway, one of
    a run through it. `run --through` makes both.
    """
    from v2_conformance.cli.run.gateway_runs import write_gateway_files
    from v2_conformance.formats.gateway.text import gateway_lines
    from v2_conformance.report.comparing.gateway import Transparency, compare_sides
    from v2_conformance.report.files import load_report

    found = compare_sides(load_report(options.direct), load_report(options.through))
    if options.output is not None:
        write_gateway_files(options.output, found)
    for line in gateway_lines(found):
        print(line)
    codes = {Transparency.TRANSPARENT: 0, Transparency.NOT_TRANSPARENT: 1}
    return codes.get(found.transparency, 3)
