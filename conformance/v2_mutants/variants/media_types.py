"""Variants of the media types of responses, and of the header length where there is no blob."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Headers, Response
from v2_mutants.registry import Right, variant

_E3 = "docs/disputes.md, E3: neither required nor forbidden"


@variant.several("media-types-of-its-own", "RFC 9110, section 8.3, and RFC 6839, section 3.1")
class _MediaTypesOfItsOwn(Behaviour):
    """Bodies have vendor types: JSON with the suffix +json, blobs a binary type."""

    def json_content_type(self) -> str:
        return "application/vnd.example.response+json"

    def binary_content_type(self) -> str:
        return "application/vnd.example.tensors"

    def error_content_type(self) -> str:
        return "application/problem+json"


@variant.several("media-types-with-parameters", "RFC 9110, section 8.3.1")
class _MediaTypesWithParameters(Behaviour):
    """Media types are in upper case and have parameters."""

    def json_content_type(self) -> str:
        return 'APPLICATION/JSON;charset="utf-8"'

    def binary_content_type(self) -> str:
        return "Application/Octet-Stream ; charset=binary"

    def error_content_type(self) -> str:
        return "Application/Json;\tcharset=UTF-8; q=1"


@variant("header-length-without-blobs", _E3, Behaviour.inference_headers)
def _(right: Right[Headers], text: bytes, blobs: Sequence[Buffer], binary: bool) -> Headers:
    """JSON responses have a header length, too: the length of their body."""
    return right() if binary else (*right(), (HEADER_LENGTH, str(len(text))))


@variant("header-length-on-errors", "docs/disputes.md, R6", Behaviour.error)
def _(right: Right[Response], status: int, message: str, headers: Headers = ()) -> Response:
    """An error has a header length, that of its whole body, as OpenVINO Model Server sends it."""
    made = right()
    return replace(made, headers=(*made.headers, (HEADER_LENGTH, str(made.size))))


variant("no-header-length-for-no-bytes", "docs/disputes.md, E3", Behaviour.inference_headers)(
    "A response whose binary outputs are all empty is typed as JSON, without header length.",
    lambda right, text, blobs, binary: right(binary=binary and any(map(len, blobs))),
)
