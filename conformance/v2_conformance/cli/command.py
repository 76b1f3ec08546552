"""Base of all commands: click's, with examples and exit codes in their help. Types of values."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, field, fields
from functools import wraps
from inspect import get_annotations
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, TypeVar

import click

from v2_conformance.errors import ConformanceError, StoppedError, UsageError
from v2_conformance.protocol.names import LARGEST_SEED
from v2_conformance.runs.targets.numbers import number, seconds, seconds_of_a_run, seconds_to_wait
from v2_conformance.terminal_safe_text import did_you_mean

if TYPE_CHECKING:
    from rich.console import Console

    from v2_conformance.redaction import Mask

PROGRAM = "v2-conformance"
_ALL = "v2_conformance.help_all"
_Options = TypeVar("_Options")


class Command(click.Command):
    """A command whose help ends with examples and exit codes, each with its meaning. `first` are
    the options that `--help` shows; `--help-all` has the rest."""

    def __init__(
        self,
        *args: Any,
        examples: Mapping[str, str] | None = None,
        exit_codes: Mapping[int, str] | None = None,
        first: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.context_settings = {"help_option_names": ["-h", "--help"], "show_default": True}
        self.examples = examples or {}
        self.exit_codes = exit_codes or {}
        self._first = first
        if first:
            self.params.append(
                click.Option(
                    ["--help-all"],
                    is_flag=True,
                    is_eager=True,
                    expose_value=False,
                    callback=_help_all,
                    help="Show the rarer options too, and exit.",
                )
            )

    def get_short_help_str(self, limit: int = 45) -> str:
        """The first line of the help, whole, whatever the `limit`."""
        return (self.help or "").strip().partition("\n")[0]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options."""
        options = {
            one.opts[-1]: (one.get_help_record(ctx) or ("", ""))
            for one in self.get_params(ctx)
            if isinstance(one, click.Option)
        }
        shown = [*self._first, "--help-all", "--help"] if self._first else [*options]
        with formatter.section("Options"):
            formatter.write_dl([options.pop(name) for name in shown])
        if options and _ALL in ctx.meta:
            with formatter.section("Rarer options"):
                formatter.write_dl([*options.values()])

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
    """A command with commands, loaded when needed: `parts` has titles, their names and places."""

    def __init__(self, *args: Any, parts: Mapping[str, Mapping[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, no_args_is_help=False, **kwargs)
        self._parts = parts
        self._places = {name: place for part in parts.values() for name, place in part.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command; None for an unknown name."""
        place = self._places.get(cmd_name)
        loaded_command: click.Command | None = None if place is None else resolve_name(place)
        return loaded_command

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options and the commands."""
        super().format_options(ctx, formatter)
        for title, part in self._parts.items():
            with formatter.section(title):
                commands = {name: resolve_name(place) for name, place in part.items()}
                formatter.write_dl([(n, one.get_short_help_str()) for n, one in commands.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is called. Raises UsageError for the name of none."""
        name = args[0]
        if not (name in self._places or name.startswith("-") or ctx.resilient_parsing):
            known = [*self._places, *(each for one in self.get_params(ctx) for each in one.opts)]
            raise unknown("command", name, known, f"see `{PROGRAM} --help`")
        return super().resolve_command(ctx, args)


def command(name: str, **attributes: Any) -> Callable[[Callable[..., int]], Command]:
    """Make a Command of a function that returns the exit code; its docstring is the help."""
    return click.command(name, cls=Command, **attributes)


def takes(options: type[_Options]) -> Callable[[Callable[[_Options], int]], Callable[..., int]]:
    """Give a function all that was typed as one value: a dataclass of `option` and `argument`.

    So commands share options, and what they call gets typed members. Help has the members of its
    own class before those of base classes.
    """
    classes = [get_annotations(one) for one in options.__mro__]
    members = sorted(
        fields(options),  # type: ignore[arg-type]
        key=lambda member: [member.name in names for names in classes].index(True),
    )

    def decorated(function: Callable[[_Options], int]) -> Callable[..., int]:
        @wraps(function)
        def called(**values: Any) -> int:
            return function(options(**values))

        for member in reversed(members):
            called = member.metadata["click"](member.name)(called)
        return called

    return decorated


def option(declared: str, words: str, *, default: Any = None, **attributes: Any) -> Any:
    """Return a member that is an option, `declared` like "-n, --workers N", with its help.

    Without a name for its value it is a flag; with "..." after the name it is repeatable. Other
    `attributes` are those of click.option.
    """
    *others, last = declared.split(", ")
    name, _, value = last.partition(" ")
    metavar = value.removesuffix("...")
    if not value:
        default, attributes["is_flag"] = False, True
    elif value != metavar:
        default, attributes["multiple"] = (), True
    else:
        attributes = {"type": _TYPES.get(metavar), "default": default, **attributes}
    attributes |= {"metavar": metavar or None, "help": words}
    return field(
        default=default,
        metadata={"click": lambda member: click.option(*others, name, member, **attributes)},
    )


def argument(*, default: Any = MISSING, **attributes: Any) -> Any:
    """Return a member that is a positional argument: `attributes` are those of click.argument."""
    if default is not MISSING:
        attributes["default"] = default
        attributes["required"] = False
    return field(
        default=default, metadata={"click": lambda member: click.argument(member, **attributes)}
    )


class Checked(click.ParamType[Any]):
    """The type `name` of an option, whose text a `function` converts, or raises ValueError."""

    def __init__(self, name: str, function: Callable[[Any], Any]) -> None:
        self.name = name
        self._function = function

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value. Raises BadParameter."""
        try:
            return self._function(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


FILE = click.Path(path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
SECONDS = Checked("SECONDS", seconds)
SECONDS_TO_WAIT = Checked("SECONDS", seconds_to_wait)
SECONDS_OF_A_RUN = Checked("SECONDS", seconds_of_a_run)
SEED = Checked("N", number(int, 0, LARGEST_SEED))
AT_LEAST_ONE = Checked("N", number(int, 1))
_TYPES = {"FILE": FILE, "FILE|DIR": FILE, "DIR": FOLDER, "SECONDS": SECONDS, "N": AT_LEAST_ONE}


def unknown(what: str, name: str, known: Iterable[str], otherwise: str = "") -> UsageError:
    """Return the error for an unknown `name` of a `what`: the closest ones, `otherwise`, or all."""
    known = list(known)
    otherwise = otherwise or f"expected one of {', '.join(known)}"
    return UsageError(f"unknown {what} {name!r}: {did_you_mean(name, known, otherwise)}")


def console() -> Console:
    """Return standard output, with colors if it is a terminal and NO_COLOR is not set."""
    from rich.console import Console  # slow to import

    colors = None if os.environ.get("NO_COLOR") else "auto"
    raw = {"highlight": False, "markup": False, "emoji": False}  # what a server sent stays as it is
    return Console(color_system=colors, **raw)  # type: ignore[arg-type]


def _help_all(context: click.Context, option: click.Parameter, given: bool) -> None:
    if given and not context.resilient_parsing:
        context.meta[_ALL] = True
        click.echo(context.get_help())
        context.exit()


@contextmanager
def masked_errors(mask: Mask) -> Iterator[None]:
    """Hide what `mask` hides in the errors that leave the block, tracebacks of bugs included."""
    try:
        yield
    except ConformanceError as error:
        raise type(error)(mask.text(str(error))) from None
    except (click.ClickException, click.exceptions.Exit, BrokenPipeError):
        raise
    except OSError as error:
        raise OSError(error.errno, mask.text(error.strerror or "")) from None
    except Exception as error:  # any error's text may quote a request
        lines = "".join(traceback.format_exception(error))
        raise RuntimeError(mask.text(lines)) from None


@contextmanager
def naming_the_record(directory: Path) -> Iterator[None]:
    """Turn an interrupt into the error that says how to make a report of what was found."""
    from v2_conformance.report.files import RECORD

    try:
        yield
    except KeyboardInterrupt:
        raise StoppedError(
            f"stopped; what was found so far: v2-conformance report {directory / RECORD}"
        ) from None
