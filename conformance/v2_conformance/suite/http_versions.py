"""Differences of HTTP/1.1 and HTTP/2, in words: features of one, error codes of the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Http1Feature = Literal[
    "absolute_form",
    "chunks",
    "connection_closed",
    "connection_field",
    "content_length",
    "field_notation",
    "field_value",
    "half_close",
    "head_in_pieces",
    "leading_line",
    "pipelining",
    "response_syntax",
    "streamed_tensor",
    "version",
]
"""The features that HTTP/1.1 has and HTTP/2 lacks, at least in this suite."""

FEATURE_WORDS: Mapping[Http1Feature, str] = {
    "absolute_form": "the URL in the request line",
    "chunks": "bodies in chunks",
    "connection_closed": "how the end of a connection is announced",
    "connection_field": "header fields about the connection",
    "content_length": "a Content-Length that is not that of the body",
    "field_notation": "how names of header fields are written, and the space around their values",
    "field_value": "a value of a header field that HTTP/2 does not allow",
    "half_close": "a client that ends its side of the connection",
    "head_in_pieces": "a head that is cut",
    "leading_line": "an empty line before the request",
    "pipelining": "pipelining",
    "response_syntax": "the syntax of responses",
    "streamed_tensor": "a tensor over 2 GiB",
    "version": "another version of HTTP",
}

_ERROR_CODES = (
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
)
REFUSED_STREAM = _ERROR_CODES.index("REFUSED_STREAM")
"""The code of a stream with which the server did nothing."""


def error_name(code: int) -> str:
    """The name of an error code of HTTP/2 (RFC 9113, section 7), with its number."""
    number = f"0x{code:x}"
    return f"{_ERROR_CODES[code]} ({number})" if code < len(_ERROR_CODES) else number
