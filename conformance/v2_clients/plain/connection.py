"""How the plain client's messages travel: requests sends them, and the end of each is checked."""

from __future__ import annotations

import http.client
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

import requests
import urllib3
from requests.structures import CaseInsensitiveDict

from v2_clients.plain.task import Call, ClientError
from v2_conformance.protocol.content_codings import CodingError, decode, known

_PIECE = 1 << 16
_MOST_DECODED = 1 << 30  # a client that reads untrusted servers wants less


@dataclass(frozen=True)
class Answer:
    """A response with its body whole and decoded; the names of `fields` are in any case."""

    status: int
    fields: Mapping[str, str]
    body: bytes


class _Response(http.client.HTTPResponse):
    """A response after any interim ones (RFC 9110, section 15.2): Python skips 100 alone."""

    def _read_status(self) -> tuple[str, int, str]:
        read = super()._read_status  # type: ignore[misc]
        version, status, reason = read()
        while 100 < status < 200:
            http.client.parse_headers(self.fp)
            version, status, reason = read()
        return version, status, reason


class _Http(urllib3.connection.HTTPConnection):
    response_class = _Response


class _Pool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Http


class Connection:
    """The part of the plain client that sends and receives. Every method is one decision."""

    def __init__(self, url: str, timeout_s: float) -> None:
        self.url = url.rstrip("/")
        self.timeout_s = timeout_s
        self.session = requests.Session()
        self.session.trust_env = False  # a proxy or .netrc is not part of the client
        manager = self.session.get_adapter(self.url).poolmanager  # type: ignore[attr-defined]
        manager.pool_classes_by_scheme = {**manager.pool_classes_by_scheme, "http": _Pool}

    def close(self) -> None:
        """Close every connection that is kept."""
        self.session.close()

    def path(self, call: Call) -> str:
        """The path of the inference, with the names encoded."""
        version = "" if call.version is None else f"/versions/{quote(call.version, safe='')}"
        return f"/v2/models/{quote(call.model, safe='')}{version}/infer"

    def time_limit(self) -> float | None:
        """Return how many seconds the client waits for the connection, and for each piece."""
        return self.timeout_s

    def exchange(self, call: Call, fields: Mapping[str, str], body: bytes) -> Answer:
        """Send one request and read its answer whole. Raises ClientError."""
        try:
            with self.send(self.prepared(call, fields, body)) as response:
                received = self.received(response)
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            raise ClientError(f"{type(error).__name__}: {error}") from error
        fields = self.fields_read(response)
        return Answer(response.status_code, fields, self.decoded(call, fields, received))

    def prepared(
        self, call: Call, fields: Mapping[str, str], body: bytes
    ) -> requests.PreparedRequest:
        """The request as it will be sent."""
        request = requests.Request("POST", self.url + self.path(call), data=body, headers=fields)
        return self.session.prepare_request(request)

    def send(self, prepared: requests.PreparedRequest) -> requests.Response:
        """Send the request and read the head of the response."""
        return self.session.send(
            prepared, stream=True, allow_redirects=False, timeout=self.time_limit()
        )

    def fields_read(self, response: requests.Response) -> Mapping[str, str]:
        """The header fields, without the white space around their values, which Python keeps."""
        stripped = {name: value.strip(" \t") for name, value in response.headers.items()}
        return CaseInsensitiveDict(stripped)

    def received(self, response: requests.Response) -> bytes:
        """The body as it came. Raises ClientError if it ends before it should."""
        pieces = []
        while piece := response.raw.read(_PIECE, decode_content=False):
            pieces.append(piece)
        body = b"".join(pieces)
        self.check_length(self.fields_read(response), body)
        return body

    def check_length(self, fields: Mapping[str, str], body: bytes) -> None:
        """Raise ClientError if Content-Length says something else than what came."""
        declared = fields.get("Content-Length")
        if declared is None or "Transfer-Encoding" in fields:
            return
        if not declared.isascii() or not declared.isdigit() or int(declared) != len(body):
            raise ClientError(f"expected {declared[:40]!a} bytes (Content-Length), got {len(body)}")

    def decoded(self, call: Call, fields: Mapping[str, str], body: bytes) -> bytes:
        """The body without its content codings, whoever asked for them."""
        for name in reversed(fields.get("Content-Encoding", "").split(",")):
            if name.strip().lower() not in ("", "identity"):
                body = self.undone(name, body)
        return body

    def undone(self, name: str, body: bytes) -> bytes:
        """The body without one content coding."""
        coding = known(name)
        if coding is None:
            raise ClientError(f"the response has a content coding unknown here: {name[:40]!a}")
        try:
            return decode(coding, body, _MOST_DECODED)
        except (CodingError, zlib.error) as error:
            raise ClientError(f"the response cannot be decoded: {error}") from error
