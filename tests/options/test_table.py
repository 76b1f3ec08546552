"""The table of options and the other places that name what it has."""

from __future__ import annotations

import inspect

import pytest

from v2_conformance.cli.main import PARTS
from v2_conformance.options import others, reports, runs, selection, targets
from v2_conformance.options.kinds import (
    LONGEST_RUN_S,
    LONGEST_TIMEOUT_S,
    seconds,
    seconds_of_a_run,
)
from v2_conformance.options.rows import Placed, Row, rows
from v2_conformance.options.targets import TargetOptions
from v2_conformance.resources import schema_document

# What no option says: which models play which roles, and what the server does not claim.
ONLY_IN_FILES = {"atol", "host", "key", "models", "public", "unsupported"}
JSON_TYPES = {
    bool: "boolean",
    seconds: "number",
    seconds_of_a_run: "number",
    str: "string",
}


def test_a_run_may_be_given_more_time_than_an_exchange() -> None:
    """As in a target file and for the pytest plugin."""
    (placed,) = (one for one in rows(TargetOptions) if one.member == "max_time")
    (timeout,) = (one for one in rows(TargetOptions) if one.member == "timeout")
    assert placed.row.kind(str(LONGEST_RUN_S)) == LONGEST_RUN_S > LONGEST_TIMEOUT_S
    for row, longest in ((placed.row, LONGEST_RUN_S), (timeout.row, LONGEST_TIMEOUT_S)):
        with pytest.raises(ValueError, match=f"at most {longest:.0f} seconds"):
            row.kind(str(longest + 1))


def every_row() -> list[Row]:
    modules = (others, reports, runs, selection, targets)
    return [
        placed.row
        for module in modules
        for name, options in inspect.getmembers(module, inspect.isclass)
        if name.endswith("Options")
        for placed in rows(options)
    ]


def test_target_files_have_the_members_of_the_table() -> None:
    members = {row.member.partition(".")[0] for row in every_row() if row.member is not None}
    properties = schema_document("target")["properties"]
    assert set(properties) == members | ONLY_IN_FILES


@pytest.mark.parametrize("placed", [*rows(TargetOptions)], ids=lambda placed: placed.member)
def test_a_member_has_the_type_of_its_option(placed: Placed) -> None:
    row = placed.row
    member = schema_document("target")["properties"].get(row.member or "", {})
    kinds = member.get("type", [])
    if row.choices:
        assert member["enum"] == list(row.choices)
    elif row.several and kinds:
        assert kinds in ("array", "object")
    elif kinds:
        assert JSON_TYPES.get(row.kind, "string") in kinds


def test_rows_name_commands_that_exist() -> None:
    names = {*(name for part in PARTS.values() for name in part), "init"}
    for row in every_row():
        assert set(row.on or ()) <= names
