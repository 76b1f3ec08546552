"""Records which models are dead, which case killed each, and how to bring a server back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

RESTART_WITHIN_S = 120.0


@dataclass
class Deaths:
    """Record of dead roles and the cases that killed them. The role None stands for the whole
    server.
    """

    _killers: dict[str | None, str] = field(default_factory=dict)

    def killer_of(self, role: str | None) -> str | None:
        """Return the id of the case that killed `role` or the whole server, None while it lives."""
        return self._killers.get(None) or self._killers.get(role)

    def add(self, role: str | None, case_id: str) -> None:
        """Record that `case_id` killed `role`."""
        self._killers.setdefault(role, case_id)

    def clear(self, role: str | None) -> None:
        """Record that `role` lives again; None clears everything."""
        for name in [role] if role is not None else list(self._killers):
            self._killers.pop(name, None)


@dataclass(frozen=True)
class Recovery:
    """How to bring back a dead server: a shell command of the user's, and how long that and the
    server may take, 0 for the usual time.

    `anew` restarts the server only to find out which of several cases killed it: what that case
    kills stays dead.
    """

    command: str | None = None
    wait_s: float = 0.0
    anew: Callable[[], None] | None = None

    @property
    def within_s(self) -> float:
        """Seconds until the server has to live again, 0 to give it up at once."""
        return self.wait_s or (RESTART_WITHIN_S if self.command else 0.0)
