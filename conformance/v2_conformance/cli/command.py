"""Base of all commands: help in sections, which ends with examples and exit codes, and types of
values."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from v2_conformance.cli.usage import unknown
from v2_conformance.elsewhere import loaded
from v2_conformance.options import kinds
from v2_conformance.options.rows import Placed, Row, rows

PROGRAM = "v2-conformance"
_Options = TypeVar("_Options")


class Command(click.Command):
    """A command whose help has its options in sections and ends with examples and exit codes.

    `sections` maps the titles of sections to their options; those in none come last. `examples`
    maps command lines to what they do, `exit_codes` each exit code to what it means.
    """

    def __init__(
        self,
        *args: Any,
        sections: Mapping[str, Sequence[click.Parameter]] | None = None,
        examples: Mapping[str, str] | None = None,
        exit_codes: Mapping[int, str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.context_settings = {"help_option_names": ["-h", "--help"], "show_default": True}
        self.sections = sections or {}
        self.examples = examples or {}
        self.exit_codes = exit_codes or {}

    def get_short_help_str(self, limit: int = 45) -> str:
        """The first line of the help, whole, whatever the `limit`."""
        return (self.help or "").strip().partition("\n")[0]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options."""
        placed = [one for section in self.sections.values() for one in section]
        others = [one for one in self.get_params(ctx) if one not in placed]
        for title, section in {**self.sections, "Options": others}.items():
            with formatter.section(title):
                options = (one for one in section if isinstance(one, click.Option))
                formatter.write_dl(list(filter(None, (o.get_help_record(ctx) for o in options))))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples and the exit codes."""
        if self.examples:
            with formatter.section("Examples"):
                for example, meaning in self.examples.items():
                    formatter.write(f"  {example}\n")  # not wrapped, so that it can be copied
                    with formatter.indentation(), formatter.indentation():
                        formatter.write_text(meaning)
        if self.exit_codes:
            with formatter.section("Exit codes"):
                formatter.write_dl([(str(code), text) for code, text in self.exit_codes.items()])


class CommandGroup(Command, click.Group):
    """A command that has commands, each of which is loaded when it is needed.

    `parts` maps titles of sections to names of commands and where these are, `module:function`.
    """

    def __init__(self, *args: Any, parts: Mapping[str, Mapping[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, no_args_is_help=False, **kwargs)
        self._parts = parts
        self._places = {name: place for part in parts.values() for name, place in part.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command, None if there is none of this name."""
        place = self._places.get(cmd_name)
        found: click.Command | None = None if place is None else loaded(place)
        return found

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options and the commands."""
        super().format_options(ctx, formatter)
        for title, part in self._parts.items():
            with formatter.section(title):
                rows = ((name, loaded(place).get_short_help_str()) for name, place in part.items())
                formatter.write_dl(list(rows))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is called. Raises UsageError for the name of none."""
        name = args[0]
        if not (name in self._places or name.startswith("-") or ctx.resilient_parsing):
            raise unknown("command", name, self._places, f"see `{PROGRAM} --help`")
        return super().resolve_command(ctx, args)


def command(
    name: str,
    options: type[_Options],
    *,
    examples: Mapping[str, str] | None = None,
    exit_codes: Mapping[int, str] | None = None,
) -> Callable[[Callable[[_Options], int]], Command]:
    """Make a command of a function that takes its options as one value and returns the exit code.

    The function's docstring is the help, and the rows of `options` are the parameters.
    """
    sections: dict[str, list[click.Parameter]] = {}
    parameters: list[click.Parameter] = []
    for placed in rows(options):
        row = placed.row
        if row.on is None or name in row.on:
            parameter = _argument(placed) if row.name is None else _option(placed)
            parameters.append(parameter)
            if row.name is not None and placed.section is not None:
                sections.setdefault(placed.section, []).append(parameter)

    def made(function: Callable[[_Options], int]) -> Command:
        return Command(
            name,
            params=parameters,
            callback=lambda **values: function(options(**values)),
            help=inspect.cleandoc(function.__doc__ or ""),
            sections=sections,
            examples=examples,
            exit_codes=exit_codes,
        )

    return made


def _option(placed: Placed) -> click.Option:
    row = placed.row
    short = [f"-{row.short}"] if row.short else []
    names = [placed.member, *short, f"--{row.name}"]
    values: dict[str, Any] = {"is_flag": True}
    if not row.is_flag:
        values = {
            "type": _type(row),
            "metavar": None if row.choices else row.metavar,
            "multiple": row.several,
        }
        if placed.default not in (None, ()):
            values["default"] = placed.default
    if row.shown is not None:
        values["show_default"] = False
    return click.Option(names, help=row.text, **values)


def _argument(placed: Placed) -> click.Argument:
    row = placed.row
    more = {} if row.required or row.several else {"default": placed.default}
    return click.Argument(
        [placed.member],
        help=row.text,
        type=_type(row),
        metavar=row.metavar,
        nargs=-1 if row.several else 1,
        required=row.required,
        **more,
    )


def _type(row: Row) -> Any:
    if row.choices:
        return click.Choice(row.choices)
    known = {
        kinds.file_path: click.Path(path_type=Path),
        kinds.folder_path: click.Path(file_okay=False, path_type=Path),
        kinds.words: click.UNPROCESSED,
        str: click.STRING,
    }
    return known.get(row.kind) or _checked(row.kind)


def _checked(kind: kinds.Kind) -> kinds.Kind:
    def convert(value: Any) -> Any:
        try:
            return kind(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return convert
