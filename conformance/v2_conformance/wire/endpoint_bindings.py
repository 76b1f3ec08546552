"""Bindings of endpoints that carry the messages of the V2 protocol in another envelope.

Amazon SageMaker and Vertex AI let a container have only URLs of their own, and pass few header
fields on. Triton's endpoints for them say the header length in Content-Type instead. A binding says
where URL, header length and type go; cases, judging and the message itself stay the same. A request
is translated when it is made (`head`), a response when it is read (`as_v2`); the transcript and the
report have the bytes that were on the wire.

Source: Triton's documentation of both endpoints; docs/bindings.md says how each case changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from v2_conformance.errors import UsageError
from v2_conformance.protocol.names import (
    HEADER_LENGTH,
    OCTET_STREAM,
    SAGEMAKER_BINARY,
    SIZE_PARAMETER,
    VERTEX_BINARY,
    VERTEX_REDIRECT,
    BindingName,
)
from v2_conformance.suggestions import did_you_mean
from v2_conformance.suite.cases import Case, GetCase, RequestCase
from v2_conformance.suite.causes.circumstances import BindingLacks
from v2_conformance.suite.variations import variation
from v2_conformance.wire.transcript import Response, Transcript
from v2_conformance.wire.transport import Connection, Head, Request

_TYPE = "content-type"
_PARAMETER = re.compile(rf"(?i);[ \t]*{SIZE_PARAMETER}=([^;]*)")
_BINARY_TYPES = (SAGEMAKER_BINARY, VERTEX_BINARY)
# These requirements are about Content-Type itself, which holds the header length here.
_OF_THE_TYPE = frozenset({"P12", "P13", "P14"})
_OF_THE_MODELS_PATH = frozenset({"percent", "version_path"})


@dataclass(frozen=True, eq=False)
class EndpointBinding:
    """Where an endpoint has URL, header length and type of a V2 message.

    `binary_type` is the media type of a message with a header length, which is in its parameter
    json-header-size. `routes` are the endpoint's own paths for those of the V2 protocol, as regular
    expressions and what to put for them. With a `redirect`, everything goes to the target's URL as
    a POST, and the field of that name has the path. `typed_responses` says whether responses have
    `binary_type` too, or the ordinary header field. An endpoint without `metadata` does not name
    itself: it is called `title`. `versions` says whether a request can name its model's version.
    """

    name: BindingName
    title: str
    binary_type: str
    routes: tuple[tuple[str, str], ...] = ()
    redirect: str | None = None
    typed_responses: bool = False
    metadata: bool = True
    versions: bool = True

    def path(self, path: str) -> str:
        """Return the endpoint's own path for one of the V2 protocol."""
        for pattern, route in self.routes:
            found = re.fullmatch(pattern, path)
            if found:
                return found.expand(route)
        return path

    def head(self, head: Head, prefix: str) -> Head:
        """Return the head of a request, whose target begins with `prefix`, as the endpoint accepts
        it.
        """
        fields = self._typed(head.fields)
        path = head.target[len(prefix) :]
        if self.redirect is None:
            return Head(head.method, prefix + self.path(path), fields)
        first, rest = _split(fields, ("content-type", "content-length", "transfer-encoding"))
        if head.method != "POST":
            rest = (*rest, ("Content-Length", "0"))
        return Head("POST", prefix or "/", (*first, (self.redirect, path.lstrip("/")), *rest))

    def _typed(self, fields: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """Return the fields of a request with the header length, if any, in their Content-Type."""
        name = HEADER_LENGTH.lower()
        lengths = [one for one in fields if one[0].lower() == name]
        if not lengths:
            return tuple(fields)
        written, length = lengths[-1]
        media_type = f"{self.binary_type};{_in_case_of(written)}={length}"
        others = (one for one in fields if one[0].lower() != name)
        return tuple((n, media_type if n.lower() == _TYPE else value) for n, value in others)

    def as_v2(self, response: Response | None) -> Response | None:
        """Return the response as a V2 server would have sent it, with the usual type and header
        field.

        What the endpoint has no place for is left out, so that a header length that is in the wrong
        place counts as missing.
        """
        if response is None or not self.typed_responses:
            return response
        name_of_length = HEADER_LENGTH.lower()  # as h11 has the names of fields
        headers: list[tuple[str, str]] = []
        for name, value in response.headers:
            if name.lower() == name_of_length:
                continue
            media_type, *_ = value.partition(";")
            if name.lower() != _TYPE or media_type.strip().lower() != self.binary_type:
                headers.append((name, value))
                continue
            headers.append((name, OCTET_STREAM))
            headers += [(name_of_length, size.strip()) for size in _PARAMETER.findall(value)]
        return replace(response, headers=tuple(headers), following=self.as_v2(response.following))

    def lacking(self, case: Case) -> BindingLacks | None:
        """Return what `case` needs that the endpoint has no place for."""
        if case.requirement in _OF_THE_TYPE:
            return "content_type"
        if isinstance(case, GetCase):
            return None if self.metadata else "metadata"
        if not isinstance(case, RequestCase):
            return None
        found = (self._lacking(one) for one in (case, *case.others))
        return next((lacks for lacks in found if lacks is not None), None)

    def _lacking(self, case: RequestCase) -> BindingLacks | None:
        if case.huge:
            return "huge_tensor"
        operations = {variation(name).operation for name in case.variations}
        if operations & _OF_THE_MODELS_PATH:
            return "model_path"
        if "version" in case.request and not self.versions:
            return "model_path"
        if "method" in case.request:
            return "metadata"
        if self.redirect is not None and "%" in case.request.get("path", ""):
            return "model_path"
        given = case.request.get("header_length", "absent")
        if given == "absent":
            return None
        if "values" in given:
            return "repeated_length"
        if given.get("name", "").endswith(" "):
            return "field_syntax"
        value = given.get("value", "")
        # White space before a parameter's value, quotes around it and more parameters behind it are
        # other things than in a field of its own.
        if value[:1] in (" ", "\t") or '"' in value or ";" in value:
            return "field_syntax"
        return None


def _split(
    fields: Iterable[tuple[str, str]], of_the_body: tuple[str, ...]
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """Return the fields before the first one about the body, and the others."""
    fields = tuple(fields)
    at = next((n for n, (name, _) in enumerate(fields) if name.lower() in of_the_body), len(fields))
    return fields[:at], fields[at:]


def _in_case_of(written: str) -> str:
    """Return the parameter's name in the letter case of a field's name: as usual,
    upper or mixed.
    """
    if written in (HEADER_LENGTH, HEADER_LENGTH.lower()):
        return SIZE_PARAMETER
    if written == HEADER_LENGTH.upper():
        return SIZE_PARAMETER.upper()
    return "".join(
        letter.upper() if number % 2 else letter for number, letter in enumerate(SIZE_PARAMETER)
    )


BINDINGS: Mapping[str, EndpointBinding] = {
    binding.name: binding
    for binding in (
        EndpointBinding(
            name="sagemaker",
            title="SageMaker endpoint",
            binary_type=SAGEMAKER_BINARY,
            routes=(
                (r"/v2/models/([^/]+)/infer", r"/models/\1/invoke"),
                (r"/v2/models/([^/]+)", r"/models/\1"),
                (r"/v2(?:/health/(?:live|ready))?", "/ping"),
            ),
            typed_responses=True,
            metadata=False,
            versions=False,
        ),
        EndpointBinding(
            name="vertex",
            title="Vertex AI endpoint",
            binary_type=VERTEX_BINARY,
            redirect=VERTEX_REDIRECT,
        ),
    )
}
"""The bindings by the name that --binding has for them."""


def binding_named(name: str) -> EndpointBinding:
    """Return the binding of that name. Raises UsageError."""
    if name not in BINDINGS:
        hint = did_you_mean(name, BINDINGS, f"there are {' and '.join(BINDINGS)}")
        raise UsageError(f"unknown binding: {hint}")
    return BINDINGS[name]


def size_in_type(content_types: Iterable[str]) -> list[str]:
    """Return the header lengths in Content-Type fields of any binding, as written."""
    return [
        size.strip()
        for value in content_types
        if value.partition(";")[0].strip().lower() in _BINARY_TYPES
        for size in _PARAMETER.findall(value)
    ]


class BoundConnection:
    """A connection whose responses are read as those of a V2 server; see `Connection`."""

    def __init__(self, connection: Connection, binding: EndpointBinding) -> None:
        self._connection = connection
        self._binding = binding

    @property
    def open(self) -> bool:
        """See Connection."""
        return self._connection.open

    def pending(self) -> bool:
        """See Connection."""
        return self._connection.pending()

    def open_ahead(self) -> None:
        """See Connection."""
        self._connection.open_ahead()

    def begin(self, request: Request) -> None:
        """See Connection."""
        self._connection.begin(request)

    def exchange(self, request: Request, *, fresh: bool = False) -> Transcript:
        """See Connection."""
        transcript = self._connection.exchange(request, fresh=fresh)
        return replace(transcript, partial=self._binding.as_v2(transcript.partial))

    def close(self) -> None:
        """See Connection."""
        self._connection.close()
