"""What a server says of itself: its metadata, and which models of the contract it has."""

from __future__ import annotations

import queue
import re
import threading
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import requests
from urllib3.exceptions import InsecureRequestWarning

from v2_conformance.engine.target import Target
from v2_conformance.errors import ConformanceError, NothingRanError, UnreachableError
from v2_conformance.judging.response import validate
from v2_conformance.judging.verdict import Finding
from v2_conformance.protocol.message import MessageError, parse_json
from v2_conformance.suite.models import ModelContract, contract
from v2_conformance.wire.encode import Binding

_MAX_METADATA = 1 << 20
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
    session = _Session(target)
    status, body = session.get("/v2")
    metadata = _server_metadata(target, status, body)
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


def server_alive(target: Target) -> bool:
    """Whether the server answers GET /v2/health/live at all; any HTTP answer counts."""
    try:
        _Session(target).get("/v2/health/live")
    except UnreachableError:
        return False
    return True


def _server_metadata(target: Target, status: int, body: bytes) -> Mapping[str, Any]:
    where = f"GET {target.public_url}/v2"
    if status != 200:
        raise UnreachableError(
            f"{where} answered with status {status}, not with V2 server metadata; is this the base "
            "URL of a V2 server?"
        )
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
    status, body = session.get(f"/v2/models/{binding.model}")
    if status != 200:
        return f"no model {binding.model}: GET /v2/models/{binding.model} has status {status}"
    try:
        document = parse_json(body)
    except MessageError as error:
        return f"the metadata of {binding.model} is not JSON: {error}"
    for key, names, specs in (
        ("inputs", binding.inputs, model.inputs),
        ("outputs", binding.outputs, model.outputs),
    ):
        found = {e.get("name"): e for e in _entries(document.get(key))}
        # Metadata without tensors says nothing against the model.
        for name, spec in zip(names, specs, strict=True) if found else ():
            if name not in found:
                return f"{binding.model} has no tensor {name} among its {key}"
            if found[name].get("datatype") != spec.datatype:
                got = ascii(found[name].get("datatype"))[:40]
                return f"{name} of {binding.model}: expected datatype {spec.datatype}, got {got}"
    return replace(binding, version=_single_version(document.get("versions")))


def _single_version(listed: object) -> str | None:
    """The version in a model's metadata, None if there is not exactly one that a URL can have."""
    if not isinstance(listed, list) or len(listed) != 1 or not isinstance(listed[0], str):
        return None
    return listed[0] if _VERSION.fullmatch(listed[0]) else None


def _entries(value: object) -> list[dict[str, Any]]:
    entries = value if isinstance(value, list) else []
    return [e for e in entries if isinstance(e, dict) and isinstance(e.get("name"), str)]


class _NoRedirects(requests.Session):
    """Never looks at where a redirection leads: requests would read all of its body for that."""

    def get_redirect_target(self, resp: requests.Response) -> None:
        """None: no response is a redirection."""


class _Session:
    """Bounded GETs of small JSON documents."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._session = _NoRedirects()
        self._used = False
        # A vendor's proxy settings and ~/.netrc are not part of the target.
        self._session.trust_env = False
        self._session.verify = target.verify
        if target.verify is False:  # the user said so; once in the report is enough
            warnings.simplefilter("ignore", InsecureRequestWarning)
        address = target.address
        self._session.headers.update({"Host": address.host, **dict(address.headers)})

    def get(self, path: str) -> tuple[int, bytes]:
        """Status and body. Raises UnreachableError; bounded in time however slowly bytes drip."""
        url = self._target.public_url.rstrip("/") + path
        answers: queue.Queue[tuple[int, bytes] | Exception] = queue.Queue()

        def work() -> None:
            try:
                try:
                    answers.put(self._fetch(url))
                except requests.ConnectionError:
                    if not self._used:
                        raise
                    # A server may close a kept connection at any time: once more on a fresh one.
                    self._session.close()
                    answers.put(self._fetch(url))
                self._used = True
            except Exception as error:  # handed to the waiting thread, which sorts it out
                answers.put(error)

        # requests bounds each read but not their sum, so the whole is bounded from outside.
        threading.Thread(target=work, daemon=True).start()
        limit = self._target.limits.exchange_s
        late = UnreachableError(
            f"{url} gave no complete answer within {limit:g} s; is the server busy or the URL "
            "wrong? (--timeout changes the limit)"
        )
        try:
            answer = answers.get(timeout=limit)
        except queue.Empty:
            raise late from None
        if "Read timed out" in str(answer):  # the same limit, noticed on the inside
            raise late
        if isinstance(answer, (OSError, ValueError)):  # requests lets some of urllib3's through
            raise UnreachableError(f"{url} cannot be reached: {_cause(answer)}") from answer
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _fetch(self, url: str) -> tuple[int, bytes]:
        limits = self._target.limits
        with self._session.get(
            url, timeout=(limits.connect_s, limits.exchange_s), stream=True, allow_redirects=False
        ) as response:
            body = bytearray()
            for piece in response.iter_content(16 * 1024):
                body += piece
                if len(body) > _MAX_METADATA:
                    raise UnreachableError(f"{url} answered with more than {_MAX_METADATA} bytes")
            return response.status_code, bytes(body)


def _cause(error: BaseException) -> str:
    """The innermost reason, which is the one that helps."""
    text = str(error)
    for known in ("Connection refused", "Name or service not known", "No route to host"):
        if known in text:
            return known.lower()
    if isinstance(error, requests.exceptions.SSLError):
        return "TLS failed; " + ascii(text)[-120:]
    if isinstance(error, requests.Timeout):
        return "no connection in time"
    return ascii(text)[:160]
