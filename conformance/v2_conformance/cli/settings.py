"""Settings of `run` and `client` that a project keeps in a file. The command line overrides them.

Those of `client` are in a table of that name beside the others.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from v2_conformance.bounded_files import read_bounded
from v2_conformance.errors import UsageError
from v2_conformance.suggestions import did_you_mean
from v2_conformance.terminal_safe_text import plain

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

OWN_FILE = "v2-conformance.toml"
_PROJECT = "pyproject.toml"
_TABLE = "v2-conformance"
_OF_ALL = "run"
_COMMANDS = (_OF_ALL, "client")
_LONGEST = 1 << 20


def read_settings(command: click.Command, folder: Path) -> tuple[Mapping[str, Any], str]:
    """Return the values of parameters of `command` that a file in `folder` sets, and what to say
    about it.

    That is v2-conformance.toml or, without one, the table [tool.v2-conformance] of pyproject.toml.
    Its members are the long options without their dashes, and `url`. Raises UsageError, with the
    line, for a file that cannot be read, an unknown member and a value of the wrong type.
    """
    found = _table(folder)
    if found is None:
        return {}, ""
    path, text, whole = found
    called = str(command.name)
    table = {name: value for name, value in whole.items() if name not in _COMMANDS}
    if called != _OF_ALL:
        table = whole.get(called, {})
        if not isinstance(table, dict):
            raise UsageError(f"{path.name}:{_line(text, called)}: {called}: expected a table")
    known = _parameters(command)
    values = {}
    for name, value in table.items():
        where = f"{path.name}:{_line(text, name, called)}: {plain(name)[:60]}"
        if name not in known:
            hint = did_you_mean(name, known, f"`v2-conformance {called} --help` lists all")
            raise UsageError(f"{where}: there is no such option of {called}: {hint}")
        parameter = known[name]
        values[str(parameter.name)] = _value(parameter, value, where)
    return values, f"settings from {path.name}: {', '.join(table)}" if table else ""


def defaults(program: click.Group, arguments: Sequence[str]) -> Mapping[str, Any]:
    """Return click's `default_map` for a call with these arguments; print on standard error what it
    sets.
    """
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if not own or own[0] not in _COMMANDS or {"-h", "--help"} & set(own):
        return {}
    command = program.commands[own[0]]
    values, said = read_settings(command, Path())
    if said:
        print(said, file=sys.stderr)
    return {own[0]: values}


def _table(folder: Path) -> tuple[Path, str, Mapping[str, Any]] | None:
    own, project = folder / OWN_FILE, folder / _PROJECT
    if own.is_file():
        text, document = _read(own)
        return own, text, document
    if not project.is_file():
        return None
    try:
        text, document = _read(project)
    except UsageError:
        return None  # it is the project's file, and may have no settings for us
    table = document.get("tool", {}).get(_TABLE)
    if table is None:
        return None
    if not isinstance(table, dict):
        raise UsageError(f"{_PROJECT}: tool.{_TABLE} is not a table")
    return project, text, table


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    data = read_bounded(path, _LONGEST, UsageError)
    try:
        text = data.decode("utf-8")
        return text, tomllib.loads(text)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: not TOML: {str(error)[:200]}") from error


def _line(text: str, name: str, command: str = _OF_ALL) -> int:
    """Return the line of a member; tomllib does not tell."""
    member = re.compile(rf"""[ \t]*["']?{re.escape(name)}["']?[ \t]*[=.]""")
    heads = {_OF_ALL: [f"[tool.{_TABLE}]"]}
    own = heads.get(command, [f"[tool.{_TABLE}.{command}]", f"[{command}]"])
    start = max(0, *(text.find(head) for head in (*own, own[0])))
    for number, line in enumerate(text[start:].splitlines(), text.count("\n", 0, start) + 1):
        if member.match(line):
            return number
    return 1


def _parameters(command: click.Command) -> dict[str, click.Parameter]:
    """Return what a file can set, by the name that it has there."""
    known: dict[str, click.Parameter] = {}
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            known[str(parameter.name)] = parameter
        long = [name[2:] for name in parameter.opts if name.startswith("--")]
        known.update(dict.fromkeys(long, parameter))
    return known


def _value(parameter: click.Parameter, value: Any, where: str) -> Any:
    if isinstance(parameter, click.Option) and parameter.is_flag:
        if not isinstance(value, bool):
            raise UsageError(f"{where}: expected true or false, got {value!a:.60}")
        return value
    several = parameter.nargs == -1 or (isinstance(parameter, click.Option) and parameter.multiple)
    items = value if several and isinstance(value, list) else [value]
    if any(isinstance(item, bool) or not isinstance(item, str | int | float) for item in items):
        expected = "text, or a list of texts" if several else "text or a number"
        raise UsageError(f"{where}: expected {expected}, got {value!a:.60}")
    return [str(item) for item in items] if several else str(value)
