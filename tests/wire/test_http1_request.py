"""A request's parts as the bytes of HTTP/1.1."""

from __future__ import annotations

import pytest

from v2_conformance.wire.transport import asks_to_close


@pytest.mark.parametrize(
    ("fields", "closes"),
    [
        ("Connection: close", True),
        ("connection:keep-alive ,\tCLOSE", True),
        ("Connection: x\r\nHost: h\r\nConnection: close, te", True),
        ("Connection: x-close, not-closed", False),
        ("X-Connection: close", False),
    ],
)
def test_close_is_read_among_other_options(fields: str, closes: bool) -> None:
    assert asks_to_close(f"GET / HTTP/1.1\r\n{fields}\r\n\r\n".encode()) is closes
