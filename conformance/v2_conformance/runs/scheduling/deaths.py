"""Which models are dead, which case killed each, and how a run gets a server back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol


class Deaths(Protocol):
    """Which roles are dead, and by which case. The role None stands for the whole server."""

    def killer_of(self, role: str | None) -> str | None:
        """The id of the case that killed `role` or the whole server, None while it lives."""

    def add(self, role: str | None, case_id: str) -> None:
        """Say that `case_id` killed `role`."""

    def clear(self, role: str | None) -> None:
        """Say that `role` lives again; everything, for None."""


@dataclass
class DeathsHere:
    """The deaths that one process knows of."""

    _killers: dict[str | None, str] = field(default_factory=dict)

    def killer_of(self, role: str | None) -> str | None:
        """See Deaths."""
        return self._killers.get(None) or self._killers.get(role)

    def add(self, role: str | None, case_id: str) -> None:
        """See Deaths."""
        self._killers.setdefault(role, case_id)

    def clear(self, role: str | None) -> None:
        """See Deaths."""
        for name in [role] if role is not None else list(self._killers):
            self._killers.pop(name, None)


@dataclass(frozen=True)
class Recovery:
    """How a run gets a dead server back: a shell command of the user's, and how long to wait.

    `anew` starts the server anew only to find out which of several cases killed it: what that one
    kills stays dead.
    """

    command: str | None = None
    wait_s: float = 0.0
    anew: Callable[[], None] | None = None
