"""Options of the table as options of pytest, and back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from v2_conformance.options.kinds import file_path, folder_path, seconds
from v2_conformance.options.rows import Row, rows
from v2_conformance.options.selection import PluginOptions


def add_options(add: Callable[..., object]) -> None:
    """Call `add`, which is that of a group of pytest's options, for each option of the plugin."""
    for placed in rows(PluginOptions):
        row = placed.row
        if row.pytest is not None:
            add(f"--v2-{row.name}", help=row.pytest, **_how(row))


def options_of(config: pytest.Config) -> PluginOptions:
    """The options that were given to pytest."""
    values = {}
    for placed in rows(PluginOptions):
        row = placed.row
        if row.pytest is not None:
            given = config.getoption(f"--v2-{row.name}")
            values[placed.member] = _read(row, given)
    return PluginOptions(**values)


def _how(row: Row) -> dict[str, Any]:
    if row.is_flag:
        return {"action": "store_true"}
    if row.several:
        return {"action": "append", "default": [], "metavar": row.metavar}
    return {"metavar": row.metavar, "type": float if row.kind is seconds else str}


def _read(row: Row, given: Any) -> Any:
    """A value with the type of its member; other programs may have set it to nothing."""
    if row.several:
        return tuple(given)
    if row.kind in (file_path, folder_path):
        return Path(given) if given else None
    if isinstance(given, str) and row.kind is not None:
        try:
            return row.kind(given)
        except ValueError as error:
            raise pytest.UsageError(f"--v2-{row.name}: {error}") from None
    return given
