"""gateway.html: one self-contained page without a script, made from a gateway report alone."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Template

from v2_conformance.formats.html.page import case_anchor
from v2_conformance.formats.templates import environment
from v2_conformance.report.comparing.gateway import Effect, GatewayReport, Transparency

_SIGNS = {
    Transparency.TRANSPARENT: ("pass", "✓"),
    Transparency.NOT_TRANSPARENT: ("fail", "✗"),
    Transparency.UNDECIDED: ("inconclusive", "○"),
}
_MARKS = {"kept": ("pass", "✓"), "not kept": ("fail", "✗"), "not shown": ("not_run", "–")}


def render(report: GatewayReport, *, direct: str, through: str) -> str:
    """The page. `direct` and `through` are links to the reports' own pages, "" for none."""
    tone, sign = _SIGNS[report.transparency]
    return _template().render(
        report=report,
        tone=tone,
        sign=sign,
        effects=[effect for effect in Effect if effect is not Effect.KEPT],
        marks=_MARKS,
        pages=(direct, through),
    )


@cache
def _template() -> Template:
    made = environment(Path(__file__).parent, "gateway", scripted=False)
    made.filters["case_anchor"] = case_anchor
    return made.get_template("gateway.html.j2")
