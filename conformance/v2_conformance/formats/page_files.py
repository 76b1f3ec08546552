"""Writes what people see of a report into its folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from v2_conformance.report.recorder import PAGE, write_atomically


def write_page(directory: Path, report: Mapping[str, Any]) -> Path:
    """Write report.html into `directory`, and the badges beside it."""
    from v2_conformance.formats.badge import write_badges
    from v2_conformance.formats.html.page import render
    from v2_conformance.formats.replay import replay_command

    path = directory / PAGE
    write_atomically(path, render(report, replay_command))
    write_badges(directory, report)
    return path
