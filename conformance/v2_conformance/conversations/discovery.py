"""Discovery: the server's metadata, and which models of the contract it has."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass

from v2_conformance.judging.metadata import ServerName, playing, server_name
from v2_conformance.wire.encode.deployment import DeployedModel
from v2_conformance.wire.response import Response

SERVER = "/v2"
"""The path of a server's metadata."""


@dataclass(frozen=True)
class Found:
    """The server, the models in the roles that are present, and why the others are absent."""

    server: ServerName
    present: Mapping[str, DeployedModel]
    absent: Mapping[str, str]


def discovery(wanted: Iterable[DeployedModel]) -> Generator[str, Response, Found]:
    """Ask for the server's metadata, then for that of each model that is wanted, by what the target
    calls it and its tensors: yield the path of each GET.

    Raises Finding and MessageError if the first answer has no server metadata.
    """
    server = server_name((yield SERVER))
    present: dict[str, DeployedModel] = {}
    absent: dict[str, str] = {}
    for binding in wanted:
        response = yield binding.path
        result = playing(response, binding)
        if isinstance(result, str):
            absent[binding.role] = result
        else:
            present[binding.role] = result
    return Found(server, present, absent)
