"""What all commands share: help that ends with examples and exit codes, and types of values."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import click
import cloup
from cloup.formatting import HelpSection, ensure_is_cloup_formatter

from v2_conformance.cli.usage import unknown

PROGRAM = "v2-conformance"
_DAY_S = 86400
_LONGEST = 80

HELP_SETTINGS = cloup.Context.settings(
    help_option_names=["-h", "--help"],
    show_default=True,
    formatter_settings=cloup.HelpFormatter.settings(col2_min_width=30),
)

FILE = click.Path(path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
REPORT_HELP = "A report.json, packed with gzip or not, or the report.jsonl of a run."


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
        """The error for the name of a command that does not exist."""
        if bad_name.startswith("-"):  # an unknown option
            return error
        raise unknown("command", bad_name, valid_names, f"see `{PROGRAM} --help`")


def whole_number(least: int | None = None, most: int | None = None) -> Callable[[Any], int]:
    """A type of option: a whole number, at least `least` and at most `most`."""
    expected = "a whole number"
    expected += "" if least is None else f" from {least}"
    expected += "" if most is None else f" to {most}"

    def convert(value: Any) -> int:
        try:
            number = int(value)
        except ValueError:
            shown = repr(value if len(value) < _LONGEST else f"{value[:_LONGEST]}…")
            raise click.BadParameter(f"expected {expected}, got {shown}") from None
        if (least is not None and number < least) or (most is not None and number > most):
            raise click.BadParameter(f"expected {expected}, got {value}")
        return number

    return convert


def seconds(value: Any) -> float:
    """A type of option: a number of seconds, from 0 to a day."""
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise click.BadParameter(f"expected a number of seconds, got {value!r}")
    if number < 0:
        raise click.BadParameter(f"expected at least 0 seconds, got {value}")
    if number > _DAY_S:
        raise click.BadParameter(f"expected at most {_DAY_S} seconds, got {value}")
    return number


def one_of(what: str, names: Collection[str]) -> Callable[[str], str]:
    """A type of argument: one of `names`, each of which is a `what`."""

    def convert(value: str) -> str:
        if value not in names:
            raise unknown(what, value, names)
        return value

    return convert
