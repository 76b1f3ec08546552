"""The command in this process: what it printed, and its exit code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from v2_conformance.cli.main import main


@dataclass(frozen=True)
class Ended:
    """How a call ended."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """All that it printed, in one line."""
        return " ".join((self.out + self.err).split())

    @property
    def line(self) -> str:
        """The only line on standard error."""
        (line,) = self.err.splitlines()
        return line


Cli = Callable[..., Ended]
"""The fixture `cli`: calls the command with these words, each of which is made a text."""


def caller(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Return a function that calls the command and gives what it alone printed."""

    def call(*words: object) -> Ended:
        capsys.readouterr()
        code = main([str(word) for word in words])
        return Ended(code, *capsys.readouterr())

    return call
