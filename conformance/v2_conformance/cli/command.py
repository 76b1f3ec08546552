"""Base of all commands: help that ends with examples and exit codes, and types of values."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click
import cloup
from cloup.formatting import HelpSection, ensure_is_cloup_formatter

from v2_conformance.cli.usage import unknown
from v2_conformance.options import kinds
from v2_conformance.options.rows import Placed, Row, rows

PROGRAM = "v2-conformance"
_Options = TypeVar("_Options")

HELP_SETTINGS = cloup.Context.settings(
    help_option_names=["-h", "--help"],
    show_default=True,
    formatter_settings=cloup.HelpFormatter.settings(col2_min_width=30),
)


class Command(cloup.Command):
    """A command whose help ends with examples and exit codes.

    `examples` maps command lines to what they do, `exit_codes` each exit code to what it means.
    """

    def __init__(
        self,
        *args: Any,
        examples: Mapping[str, str] | None = None,
        exit_codes: Mapping[int, str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples or {}
        self.exit_codes = exit_codes or {}

    def get_short_help_str(self, limit: int = 45) -> str:
        """The first line of the help, whole, whatever the `limit`."""
        return (self.help or "").strip().partition("\n")[0]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples and the exit codes."""
        formatter = ensure_is_cloup_formatter(formatter)
        if self.examples:
            formatter.write("\n")
            formatter.write_heading("Examples")
        for example, meaning in self.examples.items():
            formatter.write(f"  {example}\n")  # not wrapped, so that it can be copied
            with formatter.indentation(), formatter.indentation(), formatter.indentation():
                formatter.write_text(meaning)
        if self.exit_codes:
            rows = [(str(code), meaning) for code, meaning in self.exit_codes.items()]
            formatter.write_section(HelpSection("Exit codes", rows))


class CommandGroup(Command, cloup.Group):
    """The program: a command that has commands, in sections."""

    def handle_bad_command_name(
        self, bad_name: str, valid_names: list[str], error: click.UsageError
    ) -> click.UsageError:
        """Return the error for the name of a command that does not exist."""
        if bad_name.startswith("-"):  # an unknown option
            return error
        raise unknown("command", bad_name, valid_names, f"see `{PROGRAM} --help`")


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

    def made(function: Callable[[_Options], int]) -> Command:
        return Command(
            name,
            params=_parameters(options, name),
            callback=lambda **values: function(options(**values)),
            help=inspect.cleandoc(function.__doc__ or ""),
            examples=examples,
            exit_codes=exit_codes,
        )

    return made


def _parameters(options: type, command: str) -> list[click.Parameter]:
    """Return the parameters of a command, in the sections of its options."""
    sections: dict[str, cloup.OptionGroup] = {}
    found: list[click.Parameter] = []
    for placed in rows(options):
        row = placed.row
        if row.on is not None and command not in row.on:
            continue
        if row.name is None:
            found.append(_argument(placed))
            continue
        group = None
        if placed.section is not None:
            group = sections.setdefault(placed.section, cloup.OptionGroup(placed.section))
        found.append(_option(placed, group))
    return found


def _option(placed: Placed, group: cloup.OptionGroup | None) -> click.Option:
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
    return cloup.Option(names, help=row.text, group=group, **values)


def _argument(placed: Placed) -> click.Argument:
    row = placed.row
    more = {} if row.required or row.several else {"default": placed.default}
    return cloup.Argument(
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
