"""The pytest plugin: `pytest --v2-url URL` collects the suite's cases as items.

Without --v2-url it does nothing at all, but for tests that ask for the fixture `v2_bench`: they
test a client (see `bench`). Under xdist each worker runs cases one at a time, and a
lock that all share keeps negative cases from running beside anything else, as the command does.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from v2_conformance.pytest_plugin.bench import Bench

_URL = "v2_url"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The plugin's options, in a group of their own."""
    group = parser.getgroup("v2-conformance", "V2 binary tensor data conformance")
    group.addoption("--v2-url", dest=_URL, metavar="URL", help="server under test; turns it on")
    group.addoption("--v2-target", metavar="FILE", help="target file (YAML or JSON)")
    group.addoption("--v2-profile", action="append", default=[], metavar="NAME")
    group.addoption("--v2-header", action="append", default=[], metavar="'NAME: VALUE'")
    group.addoption(
        "--v2-public",
        action="append",
        default=[],
        metavar="NAME",
        help="the value of this header field is no secret",
    )
    group.addoption(
        "--v2-secret",
        action="append",
        default=[],
        metavar="VALUE",
        help="another value that no report may show",
    )
    group.addoption(
        "--v2-secret-env",
        action="append",
        default=[],
        metavar="NAME",
        help="the same, in an environment variable",
    )
    group.addoption("--v2-binding", metavar="NAME", help="sagemaker or vertex: of the endpoint")
    group.addoption("--v2-host-header", metavar="HOST", help="the Host of every request")
    group.addoption("--v2-cacert", metavar="FILE", help="certificate authorities to trust (PEM)")
    group.addoption("--v2-insecure", action="store_true", help="do not verify TLS certificates")
    group.addoption("--v2-cert", metavar="FILE", help="the client's certificate (PEM)")
    group.addoption("--v2-key", metavar="FILE", help="its private key, if it is not in it")
    for scheme, what in (("bearer", "token"), ("basic", "USER:PASSWORD")):
        for source, place in (("env", "environment variable"), ("file", "file")):
            group.addoption(
                f"--v2-{scheme}-{source}",
                metavar="NAME" if source == "env" else "FILE",
                help=f"{scheme} authentication with the {what} in this {place}",
            )
    group.addoption("--v2-rate", type=float, metavar="N", help="at most so many requests a second")
    group.addoption("--v2-http2", action="store_true", help="speak HTTP/2")
    group.addoption("--v2-timeout", type=float, metavar="S", help="seconds for one exchange")
    group.addoption("--v2-max-time", type=float, metavar="S", help="seconds for the whole run")
    group.addoption(
        "--v2-wait-ready", type=float, metavar="S", help="seconds for the server to become ready"
    )
    group.addoption("--v2-large", action="store_true", help="also send tensors of 64 MiB")
    group.addoption("--v2-huge", action="store_true", help="also send tensors over 2 GiB")
    group.addoption(
        "--v2-variation",
        action="append",
        default=[],
        metavar="NAME",
        help="send every case that must succeed in this variation instead",
    )
    group.addoption("--v2-thorough", action="store_true", help="also run whole products of axes")
    group.addoption("--v2-expect", metavar="FILE", help="known failures, which then are xfail")
    group.addoption("--v2-report-dir", metavar="DIR", help="write the report files here")


def pytest_configure(config: pytest.Config) -> None:
    """Register markers; with a URL, the plugin proper."""
    for line in (
        "v2_requirement(id): the requirement that a conformance case tests",
        "v2_level(level): MUST, SHOULD or MAY",
        "v2_family(letter): the requirement's family",
        "v2_profile(name): the profile that the case belongs to",
        "v2_scenario(*patterns, profiles=()): the scenarios that v2_bench gives to a test",
    ):
        config.addinivalue_line("markers", line)
    if not config.getoption(_URL) and not config.getoption("--v2-target"):
        return
    from v2_conformance.protocol.names import SERVER_PROFILES
    from v2_conformance.suite.requirements import catalogue

    for requirement in catalogue().values():
        for name in (requirement.id, requirement.level, f"family_{requirement.family}"):
            config.addinivalue_line("markers", f"{name}: v2-conformance, see --markers v2_*")
    for profile in SERVER_PROFILES:
        config.addinivalue_line("markers", f"profile_{profile}: v2-conformance profile")
    from v2_conformance.pytest_plugin.session import Session

    session = Session(config)
    config.pluginmanager.register(session, "v2-conformance-suite")
    if config.pluginmanager.hasplugin("html") and config.getoption("htmlpath", None):
        from v2_conformance.pytest_plugin.html import Page

        config.pluginmanager.register(Page(lambda: session.report), "v2-conformance-html")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for `v2_bench` once for each scenario."""
    if "v2_bench" in metafunc.fixturenames:
        from v2_conformance.pytest_plugin.bench import parametrize

        parametrize(metafunc)


@pytest.fixture
def v2_bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    """A scenario for a client: `url`, `task`, and `say…` for what the client read.

    It is judged when the test ends. The marker v2_scenario chooses scenarios.
    """
    from v2_conformance.pytest_plugin.bench import bench_of, judge

    with bench_of(request.param) as bench:
        yield bench
        result = bench.result()
    judge(result, partial(pytest.fail, pytrace=False), pytest.skip)
