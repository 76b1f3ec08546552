"""Reports wrong calls of the command in the one line that every problem gets."""

from __future__ import annotations

from collections.abc import Iterable

import click

from v2_conformance.errors import UsageError
from v2_conformance.suggestions import closest, did_you_mean, question


def unknown(what: str, name: str, known: Iterable[str], otherwise: str = "") -> UsageError:
    """Return the error for a `name` that is not a `what`: the closest of those `known`, and then
    `otherwise`, by default a list of them all.
    """
    known = list(known)
    otherwise = otherwise or f"expected one of {', '.join(known)}"
    return UsageError(f"unknown {what} {name!r}: {did_you_mean(name, known, otherwise)}")


def problem(error: click.UsageError) -> str:
    """Return what is wrong with the call, and what to do, in one line."""
    if error.ctx is None:
        return _as_clause(error.format_message())
    see = f"see `{error.ctx.command_path} --help`"
    if isinstance(error, click.NoSuchOption):
        names = question(_meant(error.option_name, error.ctx), see)
        return f"unknown option {error.option_name!r}: {names}"
    if isinstance(error, click.MissingParameter) and error.param:
        return f"missing argument {_name(error.param)}: {see}"
    if isinstance(error, click.BadParameter) and error.param:
        return f"{_name(error.param)}: {_as_clause(error.message)}"
    return f"{_as_clause(error.format_message())}: {see}"


def _meant(option: str, context: click.Context) -> list[str]:
    """Return the options that may have been meant by one that the command does not have."""
    declared = (name for param in context.command.get_params(context) for name in param.opts)
    long = [name for name in declared if name.startswith("--")]
    if not option.startswith("--"):  # the first letter of -timeout, say
        return [name for name in long if name.startswith(f"-{option}")]
    # Without the dashes, which all have and which would make all of them close.
    return [f"--{name}" for name in closest(option[2:], (name[2:] for name in long))]


def _as_clause(message: str) -> str:
    """Return a sentence in the form that follows a colon."""
    return message[:1].lower() + message[1:].rstrip(".")


def _name(param: click.Parameter) -> str:
    """Return an option's long name, or an argument's as the usage line has it."""
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    return param.human_readable_name.removesuffix("...")
