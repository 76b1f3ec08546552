"""All faults of the plain client by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from v2_conformance.errors import UsageError
from v2_conformance.reference.client.plain_client import PlainClient
from v2_conformance.suggestions import did_you_mean


@dataclass(frozen=True)
class ClientFault:
    """One deviation: `cls` replaces one decision of PlainClient and so breaks `requirement`."""

    name: str
    requirement: str
    text: str
    cls: type[PlainClient]


CLIENT_FAULTS: dict[str, ClientFault] = {}


def client_fault(
    name: str, *, breaks: str, text: str
) -> Callable[[type[PlainClient]], type[PlainClient]]:
    """Register a subclass of PlainClient as the fault `name`, which breaks `breaks`.

    `text` says in one sentence what the client does wrong.
    """

    def register(cls: type[PlainClient]) -> type[PlainClient]:
        if name in CLIENT_FAULTS:
            raise ValueError(f"the client fault {name} is registered twice")
        CLIENT_FAULTS[name] = ClientFault(name, breaks, text, cls)
        return cls

    return register


def sort_client_faults() -> None:
    """Sort CLIENT_FAULTS by the number of their requirement."""
    for one in sorted(CLIENT_FAULTS.values(), key=lambda one: int(one.requirement[1:])):
        CLIENT_FAULTS[one.name] = CLIENT_FAULTS.pop(one.name)


def find_client_fault(name: str) -> ClientFault:
    """The fault called `name`. Raises UsageError if there is none."""
    if name in CLIENT_FAULTS:
        return CLIENT_FAULTS[name]
    hint = did_you_mean(
        name, CLIENT_FAULTS, "`v2-conformance list client-faults` lists every fault"
    )
    raise UsageError(f"unknown client fault {name!r}: {hint}")
