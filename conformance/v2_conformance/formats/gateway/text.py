"""The effects of a gateway, in 80 columns for a terminal. All text is printable ASCII."""

from __future__ import annotations

from collections.abc import Iterator

from v2_conformance.report.comparing.gateway import Effect, GatewayReport
from v2_conformance.report.comparing.proxy_signs import signs_line
from v2_conformance.terminal_safe_text import WIDTH, plain, wrapped

_SHOWN = 5
_MOST_WORDS = 160


def gateway_lines(report: GatewayReport) -> Iterator[str]:
    """The verdict on the gateway last, as a run's is."""
    yield from ("", plain(f"gateway {report.through.url}")[:WIDTH])
    if report.direct_signs:
        yield from wrapped(f"even without it {signs_line(report.direct_signs)}", "  ", first="  ")
    if report.signs:
        yield from wrapped(
            f"it shows: {'; '.join(s.words for s in report.signs)}", "  ", first="  "
        )
    for row in report.properties:
        mark = {"kept": "+", "not kept": "-", "not shown": "?"}[row.state]
        text = f"{mark} {row.name.words}: {row.words}"
        yield from wrapped(text, "    ", first="  ")
        if row.first:
            yield from wrapped(f"first: {row.first}", "      ", first="    ")
    for effect in Effect:
        cases = report.of(effect)
        if effect is Effect.CHANGED or not cases:
            continue
        yield from ("", f"{effect.words} ({len(cases)})")
        for case in cases[:_SHOWN]:
            yield from wrapped(f"{case.grade} {case.id}: {case.outcomes}", "      ", first="  ")
            text = case.what_changed[:_MOST_WORDS]
            if text:
                yield from wrapped(text, "    ", 3, first="    ")
        if len(cases) > _SHOWN:
            yield f"  … and {len(cases) - _SHOWN} more"
    yield from ("", f"through the gateway: {report.counts}")
    yield f"directly {report.direct.verdict}; through the gateway {report.through.verdict}"
    reasons = f": {'; '.join(report.reasons)}" if report.reasons else ""
    yield from wrapped(f"gateway {report.transparency.upper()}{reasons}", "  ")
