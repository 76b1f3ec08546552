"""Variants of the media types of responses, and of the header length where there is no blob."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Headers, Response
from v2_conformance.reference.variants.registry import variant


@variant(
    "media-types-of-its-own",
    allowed_by="RFC 9110, section 8.3, and RFC 6839, section 3.1",
    text="Bodies have vendor types: JSON with the suffix +json, blobs a binary type.",
)
class _MediaTypesOfItsOwn(Behaviour):
    def json_content_type(self) -> str:
        return "application/vnd.example.response+json"

    def binary_content_type(self) -> str:
        return "application/vnd.example.tensors"

    def error_content_type(self) -> str:
        return "application/problem+json"


@variant(
    "media-types-with-parameters",
    allowed_by="RFC 9110, section 8.3.1",
    text="Media types are in upper case and have parameters.",
)
class _MediaTypesWithParameters(Behaviour):
    def json_content_type(self) -> str:
        return 'APPLICATION/JSON;charset="utf-8"'

    def binary_content_type(self) -> str:
        return "Application/Octet-Stream ; charset=binary"

    def error_content_type(self) -> str:
        return "Application/Json;\tcharset=UTF-8; q=1"


@variant(
    "header-length-without-blobs",
    allowed_by="docs/disputes.md, E3: neither required nor forbidden",
    text="JSON responses have a header length, too: the length of their body.",
)
class _HeaderLengthWithoutBlobs(Behaviour):
    def inference_headers(self, text: bytes, blobs: Sequence[Buffer], binary: bool) -> Headers:
        fields = super().inference_headers(text, blobs, binary)
        return fields if binary else (*fields, (HEADER_LENGTH, str(len(text))))


@variant(
    "header-length-on-errors",
    allowed_by="docs/disputes.md, R6",
    text="An error has a header length, that of its whole body, as OpenVINO Model Server sends it.",
)
class _HeaderLengthOnErrors(Behaviour):
    def error(self, status: int, message: str, headers: Headers = ()) -> Response:
        made = super().error(status, message, headers)
        return replace(made, headers=(*made.headers, (HEADER_LENGTH, str(made.size))))


@variant(
    "no-header-length-for-no-bytes",
    allowed_by="docs/disputes.md, E3",
    text="A response whose binary outputs are all empty is typed as JSON, without header length.",
)
class _NoHeaderLengthForNoBytes(Behaviour):
    def inference_headers(self, text: bytes, blobs: Sequence[Buffer], binary: bool) -> Headers:
        return super().inference_headers(text, blobs, binary and any(map(len, blobs)))
