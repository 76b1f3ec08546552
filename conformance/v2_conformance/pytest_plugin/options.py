"""Options of pytest: those of `run` that make sense there, with --v2- before their names."""

from __future__ import annotations

import inspect
from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from v2_conformance.protocol.names import LARGEST_SEED
from v2_conformance.runs.targets.numbers import number, seconds, seconds_of_a_run, seconds_to_wait

if TYPE_CHECKING:
    import pytest

    from v2_conformance.runs.targets.target import Target


def add_options(add: Callable[..., object]) -> None:
    """Call `add`, which is that of a group of pytest's options, for each option of the plugin."""

    def several(name: str, metavar: str, words: str) -> None:
        add(name, metavar=metavar, action="append", default=[], help=words)

    def one(name: str, metavar: str, kind: Callable[[str], Any], words: str) -> None:
        add(name, metavar=metavar, type=_checked(kind), help=words)

    one("--v2-url", "URL", str, "server under test; enables the suite")
    one("--v2-target", "FILE", _path, "target file (YAML or JSON)")
    several("--v2-profile", "NAME", "claim this profile besides binary")
    several("--v2-header", "'NAME: VALUE'", "send this header field with every request")
    several(
        "--v2-secret-env", "NAME", "hide the value of this environment variable in every report"
    )
    one("--v2-timeout", "SECONDS", seconds, "seconds for one exchange")
    one("--v2-max-time", "SECONDS", seconds_of_a_run, "seconds for the whole run")
    one("--v2-wait-ready", "SECONDS", seconds_to_wait, "seconds for the server to become ready")
    add("--v2-insecure", action="store_true", help="do not verify TLS certificates")
    bearer = "bearer authentication with the token in this environment variable"
    one("--v2-bearer-env", "NAME", str, bearer)
    one("--v2-cacert", "FILE", _path, "certificate authorities to trust (PEM)")
    one("--v2-cert", "FILE", _path, "the client's certificate (PEM)")
    add("--v2-strict", action="store_true", help="fail also for a SHOULD, which otherwise warns")
    add("--v2-large", action="store_true", help="also send tensors of 64 MiB")
    drawn = "also send this many requests that are drawn from the seed"
    one("--v2-generated", "N", number(int, 1), drawn)
    seed = number(int, 0, LARGEST_SEED)
    one("--v2-seed", "N", seed, "send the values and ids of the run that printed this seed")
    one("--v2-expect", "FILE", _path, "known failures, which then xfail")
    one("--v2-report-dir", "DIR", _path, "write the report files here")


def target_of(config: pytest.Config) -> Target:
    """Return the target that pytest's options describe. Raises UsageError."""
    from v2_conformance.runs.targets.making import make_target

    others = {"target_file": "target", "profiles": "profile", "headers": "header"}
    names = inspect.signature(make_target).parameters
    options = {name: f"--v2-{others.get(name, name).replace('_', '-')}" for name in names}
    return make_target(**{name: config.getoption(option) for name, option in options.items()})


def _path(text: str) -> Path | None:
    return Path(text) if text else None


def _checked(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    def convert(text: str) -> Any:
        try:
            return kind(text)
        except ValueError as error:
            raise ArgumentTypeError(str(error)) from None

    return convert
