"""Discovery: the server's metadata, and which models of the contract it has."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass

import msgspec

from v2_conformance.judging.metadata import ServerName, playing, server_name
from v2_conformance.suite.models import ModelContract
from v2_conformance.wire.encode.deployment import DeployedModel
from v2_conformance.wire.response import Response

SERVER = "/v2"
"""The path of a server's metadata."""


class Wanted(msgspec.Struct, frozen=True):
    """A model of the contract, and what the target calls it and its tensors."""

    model: ModelContract
    binding: DeployedModel


class Look(msgspec.Struct, frozen=True):
    """GET `path`; the answer is a Response. It is about the model that is `wanted`."""

    path: str
    wanted: Wanted | None = None


@dataclass(frozen=True)
class Found:
    """The server, the models in the roles that are present, and why the others are absent."""

    server: ServerName
    present: Mapping[str, DeployedModel]
    absent: Mapping[str, str]


def discovery(wanted: Iterable[Wanted]) -> Generator[Look, Response, Found]:
    """Ask for the server's metadata, then for that of each model that is wanted.

    Raises Finding and MessageError if the first answer has no server metadata.
    """
    server = server_name((yield Look(SERVER)))
    present: dict[str, DeployedModel] = {}
    absent: dict[str, str] = {}
    for one in wanted:
        response = yield Look(one.binding.path, one)
        found = playing(response, one.binding, one.model)
        if isinstance(found, str):
            absent[one.model.role] = found
        else:
            present[one.model.role] = found
    return Found(server, present, absent)
