"""The program beside a replayed case connects to where the URL says."""

from __future__ import annotations

import socket

import pytest

from v2_conformance.formats import replay_sender


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://example.test", ("example.test", 80)),
        ("https://example.test/v2", ("example.test", 443)),
        ("https://example.test:8443", ("example.test", 8443)),
    ],
)
def test_a_url_without_a_port_has_that_of_its_scheme(
    url: str, address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, int]] = []

    def refuse(address: tuple[str, int], timeout: float) -> None:
        asked.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", refuse)
    with pytest.raises(ConnectionRefusedError):
        replay_sender.connect(url)
    assert asked == [address]
