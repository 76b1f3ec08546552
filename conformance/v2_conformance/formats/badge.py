"""A badge for a README: badge.svg, and badge.json for services that draw badges themselves."""

from __future__ import annotations

import json
import math
import textwrap

from markupsafe import escape

from v2_conformance.report.document import INCOMPLETE, Report
from v2_conformance.report.verdict.standing import Standing, claim, claimed, standing
from v2_conformance.report.words import priced
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.terminal_safe_text import on_one_line, short, visible

LABEL = "V2 binary tensors"
# Colors that differ for color-blind eyes, and on which white text has a contrast of 5 to 1.
_COLORS = {
    Outcome.PASS: "075c96",
    Outcome.INCONCLUSIVE: "735500",
    Outcome.FAIL: "a33a00",
    Outcome.NOT_RUN: "59626d",
}
_PADDING, _LINE = 7, 14
_LONGEST, _SHORT = 100, 20
_WRAPPED = 48  # characters of a line: phones shrink what is wider beyond recognition
# Widths of 11 px Verdana, wider than what stands in for it, in tenths of a pixel, rounded up.
_WIDTHS = {"il": 31, ",. ": 40, "frt": 48, "():;": 50, "cs": 58, "V": 76, "m": 108}
_OTHER = 71


def endpoint(report: Report) -> str:
    """The JSON that shields.io's endpoint badge reads."""
    message, color = _message(report, standing(report))
    # What reads it may go by lines, as a step of GitHub Actions does.
    document = {"schemaVersion": 1, "label": LABEL, "message": on_one_line(message), "color": color}
    return json.dumps(document) + "\n"


def svg(report: Report) -> str:
    """The badge as a drawing that loads nothing; its title names server, profiles and date."""
    stands = standing(report)
    message, color = _message(report, stands)
    lines = textwrap.wrap(message, _WRAPPED, break_on_hyphens=False)
    left, right = _width(LABEL), max(map(_width, lines))
    height = 6 + _LINE * len(lines)
    texts = [_text(LABEL, 0, height // 2 + 4)]
    texts += [_text(line, left, _LINE * number) for number, line in enumerate(lines, 1)]
    tested = f"{claimed(report)}, {report.started[:10]}, {report.suite.in_words}"
    about = escape(short(visible(f"{LABEL}: {stands.words} ({tested})"), 400))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{height}" '
        f'viewBox="0 0 {left + right} {height}" role="img" aria-label="{about}">\n'
        f"<title>{about}</title>\n"
        f'<clipPath id="r"><rect width="{left + right}" height="{height}" rx="3"/></clipPath>\n'
        '<g clip-path="url(#r)">'
        f'<rect width="{left}" height="{height}" fill="#3b4148"/>'
        f'<rect x="{left}" width="{right}" height="{height}" fill="#{color}"/></g>\n'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11">\n'
        f"{''.join(texts)}</g>\n</svg>\n"
    )


def _message(report: Report, stands: Standing) -> tuple[str, str]:
    verdict, color = report.verdict, _COLORS[stands.tone]
    words = priced(report)
    if not verdict.good or stands.words == INCOMPLETE:
        return words, color
    release = ".".join(report.suite.catalogue_version.split(".")[:2])
    about = f" (catalogue {short(visible(release), _SHORT)})" if release else ""
    of = ":" if words == stands.words else "; of"
    return f"{words}{of} {short(visible(claim(report)), _LONGEST)}{about}", color


def _text(text: str, left: int, y: int) -> str:
    # textLength makes it fit, whatever font the reader has.
    inner = _width(text) - 2 * _PADDING
    return f'<text x="{left + _PADDING}" y="{y}" textLength="{inner}">{escape(text)}</text>\n'


def _width(text: str) -> int:
    tenths = sum(next((w for some, w in _WIDTHS.items() if c in some), _OTHER) for c in text)
    return 2 * _PADDING + math.ceil(tenths / 10)
