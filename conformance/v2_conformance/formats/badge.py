"""A badge for a README: badge.svg, and badge.json for services that draw badges themselves."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import escape

from v2_conformance.errors import UsageError
from v2_conformance.report.annotate import visible
from v2_conformance.report.recorder import BADGE_JSON, BADGE_SVG, write_atomically
from v2_conformance.report.standing import profiles, server_name, short, standing

LABEL = "V2 binary tensors"
# Colours that differ for colour-blind eyes, and on which white text has a contrast of 5 to 1.
_COLOURS = {"pass": "075c96", "inconclusive": "735500", "fail": "a33a00", "not_run": "59626d"}
_PADDING = 7
# Widths of 11 px Verdana, wider than what stands in for it, in tenths of a pixel, rounded up.
_WIDTHS = {"il": 31, ", ": 40, "frt": 48, "cs": 58, "V": 76, "m": 108}
_OTHER = 71


def endpoint(report: Mapping[str, Any]) -> dict[str, Any]:
    """The document that shields.io's endpoint badge reads."""
    found = standing(report)
    return {
        "schemaVersion": 1,
        "label": LABEL,
        "message": found.words,
        "color": _COLOURS[found.tone],
    }


def svg(report: Mapping[str, Any]) -> str:
    """The badge as a drawing that loads nothing; its title names server, profiles and date."""
    found = standing(report)
    left, right = _width(LABEL), _width(found.words)
    about = (
        f"{LABEL}: {found.words} ({server_name(report)}, profiles {profiles(report)}, "
        f"{report['started'][:10]}, {report['suite']['name']} {report['suite']['version']})"
    )
    about = escape(short(visible(about), 400))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" '
        f'viewBox="0 0 {left + right} 20" role="img" aria-label="{about}">\n'
        f"<title>{about}</title>\n"
        f'<clipPath id="r"><rect width="{left + right}" height="20" rx="3"/></clipPath>\n'
        '<g clip-path="url(#r)">'
        f'<rect width="{left}" height="20" fill="#3b4148"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="#{_COLOURS[found.tone]}"/></g>\n'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11">\n'
        f"{_text(LABEL, 0, left)}\n{_text(found.words, left, right)}\n</g>\n</svg>\n"
    )


def write_badges(directory: Path, report: Mapping[str, Any]) -> list[Path]:
    """Write both files into `directory` and return their paths. Raises UsageError."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write into {directory}: {error.strerror}") from error
    paths = [directory / BADGE_SVG, directory / BADGE_JSON]
    write_atomically(paths[0], svg(report))
    write_atomically(paths[1], json.dumps(endpoint(report)) + "\n")
    return paths


def _text(text: str, start: int, width: int) -> str:
    # textLength makes it fit, whatever font the reader has.
    inner = width - 2 * _PADDING
    return f'<text x="{start + _PADDING}" y="14" textLength="{inner}">{escape(text)}</text>'


def _width(text: str) -> int:
    tenths = sum(next((w for some, w in _WIDTHS.items() if c in some), _OTHER) for c in text)
    return 2 * _PADDING + math.ceil(tenths / 10)
