"""A request of a client beside what its caller said. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from v2_clients.bench.requests import ClientRequest, objects, size_of
from v2_clients.bench.tasks import Asked
from v2_clients.judging.tensors import decoded_body


@dataclass(frozen=True)
class Sent:
    """A request that came for `asked`; the `first` did. `before` are the tasks of the requests
    before it, with the `earlier` ones that came for each. `script` says how it is answered."""

    asked: Asked
    request: ClientRequest
    first: ClientRequest
    before: tuple[Asked, ...]
    earlier: tuple[tuple[ClientRequest, ...], ...]
    script: Mapping[str, Any]

    @property
    def body(self) -> bytes:
        """The body without its content coding. Raises Finding if it cannot be decoded."""
        return decoded_body(self.request)

    @property
    def inputs(self) -> list[Mapping[str, Any]]:
        """The entries of `inputs`, as far as they are objects."""
        return objects(self.request.document.get("inputs"))

    @property
    def has_blobs(self) -> bool:
        """True if an input without data says so, or bytes follow the JSON."""
        sized = any(size_of(one) is not None and not one.get("data") for one in self.inputs)
        rest = self.body[self.request.json_end :]
        return sized or bool(self.request.json_end and rest.strip(b" \t\r\n"))


def by_name(value: object) -> dict[str, Mapping[str, Any]]:
    """Return the objects of a JSON array by their names, without those that have no such string."""
    named = ((one.get("name"), one) for one in objects(value))
    return {name: one for name, one in named if isinstance(name, str)}
