"""Discovery: the server's metadata, and which models of the contract it has."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass

from v2_conformance.judging.metadata import ServerName, playing, server_name
from v2_conformance.suite.models import ModelContract
from v2_conformance.wire.encode.deployment import DeployedModel
from v2_conformance.wire.response import Response

SERVER = "/v2"
"""The path of a server's metadata."""


@dataclass(frozen=True)
class Wanted:
    """A model of the contract, and what the target calls it and its tensors."""

    model: ModelContract
    binding: DeployedModel


@dataclass(frozen=True)
class Found:
    """The server, the models in the roles that are present, and why the others are absent."""

    server: ServerName
    present: Mapping[str, DeployedModel]
    absent: Mapping[str, str]


def discovery(wanted: Iterable[Wanted]) -> Generator[str, Response, Found]:
    """Ask for the server's metadata, then for that of each model that is wanted: yield the path of
    each GET.

    Raises Finding and MessageError if the first answer has no server metadata.
    """
    server = server_name((yield SERVER))
    present: dict[str, DeployedModel] = {}
    absent: dict[str, str] = {}
    for one in wanted:
        response = yield one.binding.path
        found = playing(response, one.binding, one.model)
        if isinstance(found, str):
            absent[one.model.role] = found
        else:
            present[one.model.role] = found
    return Found(server, present, absent)
