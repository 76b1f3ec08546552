"""Reads what a server says of itself and its models from its answers to discovery."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import msgspec

from v2_conformance.judging.messages.response import decode_body, validate
from v2_conformance.judging.verdict import Finding
from v2_conformance.protocol.message import MessageError, TooDeepError, parse_json
from v2_conformance.suite.causes.base import printable
from v2_conformance.wire.encode.deployment import DeployedModel
from v2_conformance.wire.response import Response

MAX_METADATA = 1 << 20
"""Bytes of an answer to discovery, decoded or not."""

_SHOWN = 200
_VERSION = re.compile(r"[A-Za-z0-9._-]{1,40}")


class ServerInfo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The server's answer to GET /v2."""

    name: str
    version: str
    extensions: tuple[str, ...]


def server_name(response: Response) -> ServerInfo:
    """Return the name from the answer to GET /v2. Raises MessageError and Finding."""
    if response.status != 200:
        raise MessageError(status_words(response))
    document = parse_json(plain_body(response))
    validate("server_metadata", document)
    return ServerInfo(document["name"], document["version"], tuple(document["extensions"]))


def playing(response: Response, binding: DeployedModel) -> DeployedModel | str:
    """Return `binding` with its version, if the server lists exactly one; or why it cannot play the
    role. `response` is the answer to GET /v2/models/NAME.
    """
    name = printable(unquote(binding.model), _SHOWN)
    if response.status != 200:
        return f"no model {name}: GET {binding.path} answered with {status_words(response)}"
    try:
        document = parse_json(plain_body(response))
    except (Finding, TooDeepError) as error:
        return f"the metadata of {name} cannot be read: {error}"
    except MessageError as error:
        return f"the metadata of {name} is not JSON: {error}"
    for key, names, specs in (
        ("inputs", binding.inputs, binding.contract.inputs),
        ("outputs", binding.outputs, binding.contract.outputs),
    ):
        result = {e["name"]: e for e in entries_of(document.get(key))}
        # Metadata without tensors does not rule out the model.
        for tensor, spec in zip(names, specs, strict=True) if result else ():
            if tensor not in result:
                return f"{name} has no tensor {tensor} among its {key}"
            if result[tensor].get("datatype") != spec.datatype:
                got = ascii(result[tensor].get("datatype"))[:40]
                return f"{tensor} of {name}: expected datatype {spec.datatype}, got {got}"
        # An extra output is harmless, but a request that lacks an input cannot be answered.
        others = [tensor for tensor in result if tensor not in names] if key == "inputs" else []
        if others:
            return (
                f"{name} has inputs that the role {binding.role} has no values for: "
                f"{printable(', '.join(others), _SHOWN)}"
            )
    if binding.pinned:
        return binding
    return replace(binding, version=single_version(document.get("versions")))


def single_version(listed: object) -> str | None:
    """Return the version in a model's metadata, None unless it is the only one and
    fits into a URL.
    """
    if not isinstance(listed, list) or len(listed) != 1 or not isinstance(listed[0], str):
        return None
    return listed[0] if _VERSION.fullmatch(listed[0]) else None


def entries_of(value: object) -> list[dict[str, Any]]:
    """Return the entries of `inputs` or `outputs` in a model's metadata that have names."""
    entries = value if isinstance(value, list) else []
    return [e for e in entries if isinstance(e, dict) and isinstance(e.get("name"), str)]


def plain_body(response: Response) -> bytes:
    """Return the body without a content coding, which a server may apply unasked (RFC
    9110 12.5.3).
    """
    return bytes(decode_body(response, limit=MAX_METADATA).body)


def status_words(response: Response) -> str:
    """Return the status in words, with the target of a redirection."""
    location = response.value("location")
    if location is None or not 300 <= response.status < 400:
        return f"status {response.status}"
    return f"status {response.status}, a redirect to {printable(location, _SHOWN)}"
