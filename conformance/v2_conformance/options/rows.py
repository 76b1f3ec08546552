"""Rows of the table of options. A class of options is a frozen dataclass of rows:

    timeout: float | None = option("--timeout SECONDS", "Time limit for one exchange.")

The member is the value that a command gets; the row makes the option of the command line, of the
pytest plugin and the member of target files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, dataclass, field, fields
from inspect import get_annotations
from typing import Any

from v2_conformance.options.kinds import Kind, file_path, folder_path, seconds

_ROW = "row"
_SPELLED = re.compile("(?:-(.), )?--([a-z0-9-]+)(?: (.+))?")
_KINDS: dict[str | None, Kind] = {
    "FILE": file_path,
    "FILE|DIR": file_path,
    "DIR": folder_path,
    "SECONDS": seconds,
}


@dataclass(frozen=True)
class Row:
    """An option or a positional argument, in all places that have it.

    `name` is the long option without its dashes, None for an argument; `metavar` is the unit or
    kind of the value, None for a flag. `shown` describes a default that is not a constant. `on`
    names the commands that have it, if not every command that uses its class. `pytest` is its help
    in the pytest plugin, where it is called --v2-NAME; None if it is not there. `member` is what it
    sets in a target file, such as "auth.bearer.env".
    """

    name: str | None
    kind: Kind
    metavar: str | None
    help: str
    short: str | None = None
    several: bool = False
    required: bool = False
    shown: str | None = None
    choices: Sequence[str] = ()
    on: Sequence[str] | None = None
    pytest: str | None = None
    member: str | None = None

    @property
    def is_flag(self) -> bool:
        """True if the option takes no value."""
        return self.name is not None and self.metavar is None

    @property
    def text(self) -> str:
        """The help text, with the default if it is shown."""
        return self.help if self.shown is None else f"{self.help}  [default: {self.shown}]"


def option(
    spelled: str, help: str, *, kind: Kind | None = None, default: Any = None, **more: Any
) -> Any:
    """An option with one value, spelled as in the help: "-n, --workers N".

    The word after its name is the unit or kind of the value. It determines the type for files,
    folders and seconds; others are text unless a `kind` is given.
    """
    found = _SPELLED.fullmatch(spelled)
    assert found is not None, spelled
    short, name, metavar = found.groups()
    kind = kind or _KINDS.get(metavar, str)
    return _field(Row(name, kind, metavar, help, short=short, **more), default)


def repeated(spelled: str, help: str, **more: Any) -> Any:
    """An option that may be given several times: a tuple of texts."""
    return option(spelled, f"{help} Repeatable.", default=(), several=True, **more)


def flag(spelled: str, help: str, **more: Any) -> Any:
    """An option without a value."""
    return option(spelled, help, kind=bool, default=False, **more)


def argument(kind: Kind, help: str, *, metavar: str | None = None, **more: Any) -> Any:
    """A positional argument, which is required unless it has a default."""
    default = more.pop("default", MISSING)
    return _field(Row(None, kind, metavar, help, required=default is MISSING, **more), default)


def of_plugin(spelled: str, help: str, **more: Any) -> Any:
    """An option that only the pytest plugin has."""
    return option(spelled, help, on=(), pytest=help, **more)


def _field(row: Row, default: Any) -> Any:
    return field(default=default, metadata={_ROW: row})


@dataclass(frozen=True)
class Placed:
    """A row with the member that has its value, its default, and the section that it stands in."""

    row: Row
    member: str
    default: Any
    section: str | None


def rows(options: type[Any]) -> Iterator[Placed]:
    """Return the rows of a class of options: its own first, then those of its base classes.

    A row stands in the section of the class that first has its member.
    """
    known = {one.name: one for one in fields(options) if _ROW in one.metadata}
    sections: dict[str, str | None] = {}
    for part in reversed(options.__mro__):
        for name in get_annotations(part):
            sections.setdefault(name, part.__dict__.get("SECTION"))
    for part in options.__mro__:
        for name in [name for name in get_annotations(part) if name in known]:
            one = known.pop(name)
            yield Placed(one.metadata[_ROW], name, one.default, sections[name])
