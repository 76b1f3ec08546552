"""nginx, HAProxy and Caddy as Debian packages them, in front of the embedded server.

A selection of cases shows each property; docs/gateways.md has whole runs (tests/real/gateways.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from support.gateways import SETUPS, Setup, running_gateway
from support.runs import chosen, made, target_of
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.comparing.gateway import GatewayReport, Transparency, compare_sides
from v2_conformance.report.comparing.through import Property
from v2_conformance.report.document import Report
from v2_conformance.report.files import load_report

CASES = chosen(
    "P2/blob-follows-json[INT32]",
    "H6/not-a-number[letters]",
    "L1/one-mebibyte[int32]",
    "Z1/compressed-request[gzip,int32,binary]",
    "Z4/named-as-done[gzip,binary]",
    "Z4/named-as-done[gzip,json]",
    "C1/chunked-json",
)
LIMITED = {Property.BODIES}
# What is not kept by configurations that are not transparent; every other one is.
NOT_KEPT = {
    "nginx-default": LIMITED,  # 1 MiB is its default limit
    "nginx-tls": LIMITED,
    "nginx-path-prefix": LIMITED,
    "nginx-basic-auth": LIMITED,
    "nginx-upstream-keep-alive": LIMITED,
    "nginx-body-limit": LIMITED,
    "nginx-gzip": LIMITED,
    "haproxy-body-limit": LIMITED,
    "caddy-body-limit": {Property.CONNECTIONS},  # it says 502, or nothing, instead of 413
}
SHOWS = {"nginx": "Server: nginx", "caddy": "Server: Caddy", "haproxy": ""}


@pytest.fixture(scope="module")
def server() -> Iterator[ReferenceServer]:
    with ReferenceServer() as running:
        yield running


@pytest.fixture(scope="module")
def direct(server: ReferenceServer, tmp_path_factory: pytest.TempPathFactory) -> Report:
    return _report(server.url, tmp_path_factory.mktemp("direct"))


def _report(url: str, folder: Path, ca: str = "") -> Report:
    target = target_of(url, "compression", "compression-responses", timeout=10)
    if ca:
        target = replace(target, verify=ca)
    return load_report(made(folder / "report", target, CASES))


def _through(setup: Setup, server: ReferenceServer, direct: Report, folder: Path) -> GatewayReport:
    with running_gateway(setup, server.url, folder) as url:
        ca = str(folder / "ca.pem") if setup.tls else ""
        return compare_sides(direct, _report(url, folder, ca))


@pytest.mark.parametrize("setup", SETUPS, ids=str)
@pytest.mark.long
def test_what_each_configuration_keeps(
    setup: Setup, server: ReferenceServer, direct: Report, tmp_path: Path
) -> None:
    found = _through(setup, server, direct, tmp_path)
    lost = {row.name for row in found.properties if row.changed}
    assert lost == NOT_KEPT.get(str(setup), set()), found.properties
    expected = Transparency.NOT_TRANSPARENT if lost else Transparency.TRANSPARENT
    assert found.transparency is expected, found.reasons
    words = " ".join(sign.words for sign in found.signs)
    assert SHOWS[setup.gateway] in words
    assert bool(words) == bool(SHOWS[setup.gateway])
