"""What a server says of itself: its metadata, and which models of the contract it has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from v2_conformance.engine.patience import Patience
from v2_conformance.engine.target import Target
from v2_conformance.errors import ConformanceError, NothingRanError, UnreachableError
from v2_conformance.judging.availability import unavailable
from v2_conformance.judging.response import decode_body, validate
from v2_conformance.judging.survival import stale
from v2_conformance.judging.verdict import Finding
from v2_conformance.protocol.message import MessageError, parse_json
from v2_conformance.suite.findings import printable
from v2_conformance.suite.models import ModelContract, contract
from v2_conformance.wire.encode import Binding, get_request
from v2_conformance.wire.transcript import Ending, Response, Transcript

_MAX_METADATA = 1 << 20
_SHOWN = 200
_VERSION = re.compile(r"[A-Za-z0-9._-]{1,40}")


@dataclass(frozen=True)
class Server:
    """What discovery found: roles present with their Binding, and why the others are absent."""

    name: str
    version: str
    extensions: tuple[str, ...]
    present: Mapping[str, Binding] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)


def discover(target: Target) -> Server:
    """Ask the server for its metadata and for that of every model of the claimed profiles.

    Raises UnreachableError where nothing answers or what answers is not a V2 server, and
    NothingRanError where it has none of the models.
    """
    try:
        return _discover(target)
    except ConformanceError as error:
        # A server may send back what it was sent, and an error message quote it.
        raise type(error)(target.mask.text(str(error))) from None


def _discover(target: Target) -> Server:
    with closing(_Session(target)) as session:
        return _found(target, session)


def _found(target: Target, session: _Session) -> Server:
    metadata = _server_metadata(target, session.get("/v2"))
    present: dict[str, Binding] = {}
    absent: dict[str, str] = {}
    for role, model in contract().items():
        if model.profile not in target.profiles:
            continue
        binding = target.binding(role)
        found = _model(session, binding, model)
        if isinstance(found, str):
            absent[role] = found
        else:
            present[role] = found
    if not present:
        raise NothingRanError(
            f"{target.public_url} has none of the contract's models "
            f"({next(iter(absent.values()))}); see `v2-conformance list models` and `--target`"
        )
    return Server(
        metadata["name"], metadata["version"], tuple(metadata["extensions"]), present, absent
    )


def server_from(document: Mapping[str, Any]) -> Server:
    """The Server of which `document` is `dataclasses.asdict`, after its way through JSON."""
    present = {
        role: Binding(
            role,
            entry["model"],
            tuple(entry["inputs"]),
            tuple(entry["outputs"]),
            entry["version"],
        )
        for role, entry in document["present"].items()
    }
    extensions = tuple(document["extensions"])
    return Server(document["name"], document["version"], extensions, present, document["absent"])


def _server_metadata(target: Target, response: Response) -> Mapping[str, Any]:
    where = f"GET {target.public_url}/v2"
    if response.status != 200:
        raise UnreachableError(
            f"{where} answered with {_status(response)}, not with V2 server metadata; is this the "
            "base URL of a V2 server?"
        )
    try:
        body = _decoded(response)
    except Finding as error:
        raise UnreachableError(f"the answer to {where} cannot be read: {error}") from error
    try:
        document = parse_json(body)
        validate("server_metadata", document)
    except (MessageError, Finding) as error:
        kind = "HTML" if body.lstrip()[:1] == b"<" else "something else"
        raise UnreachableError(
            f"{where} answered with {kind}, not with V2 server metadata: {error}"
        ) from error
    return document


def _model(session: _Session, binding: Binding, model: ModelContract) -> Binding | str:
    """`binding` with its version, if the server lists a single one; or why it cannot play the
    role."""
    response = session.get(f"/v2/models/{binding.model}")
    if response.status != 200:
        return (
            f"no model {binding.model}: GET /v2/models/{binding.model} answered with "
            f"{_status(response)}"
        )
    try:
        document = parse_json(_decoded(response))
    except MessageError as error:
        return f"the metadata of {binding.model} is not JSON: {error}"
    except Finding as error:
        return f"the metadata of {binding.model} cannot be read: {error}"
    for key, names, specs in (
        ("inputs", binding.inputs, model.inputs),
        ("outputs", binding.outputs, model.outputs),
    ):
        found = {e["name"]: e for e in _entries(document.get(key))}
        # Metadata without tensors says nothing against the model.
        for name, spec in zip(names, specs, strict=True) if found else ():
            if name not in found:
                return f"{binding.model} has no tensor {name} among its {key}"
            if found[name].get("datatype") != spec.datatype:
                got = ascii(found[name].get("datatype"))[:40]
                return f"{name} of {binding.model}: expected datatype {spec.datatype}, got {got}"
        # An output more does no harm, but a request without an input cannot be answered.
        others = [name for name in found if name not in names] if key == "inputs" else []
        if others:
            return (
                f"{binding.model} has inputs that the role {binding.role} has no values for: "
                f"{printable(', '.join(others), _SHOWN)}"
            )
    return replace(binding, version=_single_version(document.get("versions")))


def _single_version(listed: object) -> str | None:
    """The version in a model's metadata, None if there is not exactly one that a URL can have."""
    if not isinstance(listed, list) or len(listed) != 1 or not isinstance(listed[0], str):
        return None
    return listed[0] if _VERSION.fullmatch(listed[0]) else None


def _entries(value: object) -> list[dict[str, Any]]:
    entries = value if isinstance(value, list) else []
    return [e for e in entries if isinstance(e, dict) and isinstance(e.get("name"), str)]


def _decoded(response: Response) -> bytes:
    """The body without a content coding, which a server may apply unasked (RFC 9110 12.5.3)."""
    return bytes(decode_body(response, limit=_MAX_METADATA).body)


def _status(response: Response) -> str:
    """The status in words, with the place that a redirection names."""
    location = response.value("location")
    if location is None or not 300 <= response.status < 400:
        return f"status {response.status}"
    return f"status {response.status}, a redirect to {printable(location, _SHOWN)}"


class _Session:
    """Bounded GETs of small JSON documents, over one connection for as long as the server keeps it.

    Redirections are not followed: a run sends its requests to the target's URL and nowhere else.
    """

    def __init__(self, target: Target) -> None:
        limits = replace(target.limits, response=_MAX_METADATA)
        self._target = replace(target, limits=limits)
        self._connection = self._target.transport().connection()
        self._patience = Patience(limits.exchange_s)

    def get(self, path: str) -> Response:
        """A whole response. Raises UnreachableError, within the target's limits, if there is none.

        A server may close a kept connection at any time, or say that it cannot serve just now; then
        the request goes out again.
        """
        request = get_request(self._target.address, path)
        transcript = self._connection.exchange(request)
        if stale(transcript) or unavailable(transcript):
            transcript, _ = self._patience.exchange(
                self._connection, request, fresh=True, unasked=True
            )
        if transcript.response is None:
            url = self._target.public_url.rstrip("/") + path
            raise UnreachableError(_no_answer(url, transcript, self._target.limits.exchange_s))
        return transcript.response

    def close(self) -> None:
        """Close the connection, so that a server which serves one at a time serves the next."""
        self._connection.close()


def _no_answer(url: str, transcript: Transcript, limit_s: float) -> str:
    if transcript.ending is Ending.TIMEOUT and transcript.sent:
        return (
            f"{url} gave no complete answer within {limit_s:g} s; is the server busy or the URL "
            "wrong? (--timeout changes the limit)"
        )
    if not transcript.sent:
        return f"{url} cannot be reached: {printable(transcript.detail, _SHOWN)}"
    return f"{url} gave no answer that can be read: {printable(transcript.detail, _SHOWN)}"
