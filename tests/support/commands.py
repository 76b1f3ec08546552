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
    def shown(self) -> str:
        """What it printed on standard output, in one line."""
        return " ".join(self.out.split())

    @property
    def line(self) -> str:
        """The only line on standard error."""
        (line,) = self.err.splitlines()
        return line


Cli = Callable[..., Ended]
"""The fixture `cli`: calls the command with these words, each of which is made a text."""


def caller(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Return a function that calls the command, which has to end with `code` if that is given."""

    def call(*words: object, code: int | None = None) -> Ended:
        capsys.readouterr()
        ended = Ended(main([str(word) for word in words]), *capsys.readouterr())
        assert code in (None, ended.code), ended
        return ended

    return call
