"""Checks that what a report says of its client follows from its cases."""

from __future__ import annotations

from collections.abc import Iterator

from v2_conformance.bench.features import FEATURES
from v2_conformance.bench.listener import BENCH
from v2_conformance.report.document import Report, with_client_name
from v2_conformance.report.tested import ServerInfo
from v2_conformance.suite.choosing.claimed import CLIENT_PROFILES


def client_edits(report: Report) -> Iterator[str]:
    """Yield what cannot be true of a client, or does not follow from what it said."""
    profiles = report.target.profiles
    allowed = set(profiles) <= set(CLIENT_PROFILES) and profiles[:1] == CLIENT_PROFILES[:1]
    if not allowed or len(set(profiles)) < len(profiles) or report.target.unsupported:
        yield "no run has these claims of a client"
    lacks = () if report.target.client is None else report.target.client.lacks
    if not set(lacks) <= set(FEATURES):
        yield "the client lacks what no run knows"
    target = report.target
    elsewhere = (target.url, target.host) != (BENCH, BENCH.partition("//")[2])
    of_a_server = (
        *(target.headers, target.models, target.absent, target.host_given),
        *(target.restart_command, report.discovery, report.calibration),
        *(report.relations, report.seed is not None),
    )
    if elsewhere or any(of_a_server):
        yield "the target has what only a server has"
    if with_client_name(target, report.cases).server != target.server:
        yield "the client's name is not the one that it says"
    if target.server == ServerInfo("", "", ()):
        return
    if not any(case.said is not None for case in report.cases):
        yield "the client has a name, but nothing that it said is recorded"
