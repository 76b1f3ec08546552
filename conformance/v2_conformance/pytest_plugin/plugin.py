"""The pytest plugin: `pytest --v2-url URL` collects the suite's cases as items.

Without --v2-url it does nothing at all, except for tests that ask for the fixture `v2_bench`: they
test a client (see `bench`). Under xdist the cases run at the end, in the controller.
"""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator
from functools import partial
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

import pytest

from v2_conformance.elsewhere import elsewhere
from v2_conformance.protocol.names import LARGEST_SEED
from v2_conformance.runs.targets.numbers import number, seconds, seconds_of_a_run, seconds_to_wait

_PACKAGES = ("v2_conformance.", "v2_clients.", "v2_mutants.")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The plugin's options, in a group of their own."""
    group = parser.getgroup("v2-conformance", "V2 binary tensor data conformance")
    add_options(group.addoption)


def add_options(add: Callable[..., object]) -> None:
    """Call `add`, that of a group of pytest's options, for each option: those of `run` that make
    sense here, with --v2- before their names."""

    def several(name: str, metavar: str, words: str) -> None:
        add(name, metavar=metavar, action="append", default=[], help=words)

    def one(name: str, metavar: str, kind: Callable[[str], Any], words: str) -> None:
        add(name, metavar=metavar, type=_checked(kind), help=words)

    one("--v2-url", "URL", str, "server under test; enables the suite")
    one("--v2-target", "FILE", _path, "target file (YAML or JSON)")
    several("--v2-profile", "NAME", "claim this profile besides binary")
    several("--v2-header", "'NAME: VALUE'", "send this header field with every request")
    several(
        "--v2-secret-env", "NAME", "hide the value of this environment variable in every report"
    )
    one("--v2-timeout", "SECONDS", seconds, "seconds for one exchange")
    one("--v2-max-time", "SECONDS", seconds_of_a_run, "seconds for the whole run")
    one("--v2-wait-ready", "SECONDS", seconds_to_wait, "seconds for the server to become ready")
    add("--v2-insecure", action="store_true", help="do not verify TLS certificates")
    bearer = "bearer authentication with the token in this environment variable"
    one("--v2-bearer-env", "NAME", str, bearer)
    one("--v2-cacert", "FILE", _path, "certificate authorities to trust (PEM)")
    one("--v2-cert", "FILE", _path, "the client's certificate (PEM)")
    add("--v2-strict", action="store_true", help="also fail for a SHOULD, which otherwise warns")
    add("--v2-large", action="store_true", help="also send tensors of 64 MiB")
    drawn = "also send this many requests that are drawn from the seed"
    one("--v2-generated", "N", number(int, 1), drawn)
    seed = number(int, 0, LARGEST_SEED)
    one("--v2-seed", "N", seed, "send the values and ids of the run that printed this seed")
    one("--v2-expect", "FILE", _path, "known failures, which then xfail")
    one("--v2-report-dir", "DIR", _path, "write the report files here")


def _path(text: str) -> Path | None:
    return Path(text) if text else None


def _checked(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    def convert(text: str) -> Any:
        try:
            return kind(text)
        except ValueError as error:
            raise ArgumentTypeError(str(error)) from None

    return convert


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
    if not config.getoption("--v2-url") and not config.getoption("--v2-target"):
        typed = [one for one in map(str, config.invocation_params.args) if one.startswith("--v2-")]
        if typed:
            name = typed[0].partition("=")[0]
            raise pytest.UsageError(f"{name} needs a server: give --v2-url or --v2-target, too")
        return
    sys.meta_path.insert(0, _AsTheyAre)
    config.add_cleanup(partial(sys.meta_path.remove, _AsTheyAre))
    from v2_conformance.protocol.names import SERVER_PROFILES
    from v2_conformance.suite.requirements import catalogue

    for requirement in catalogue().values():
        for name in (requirement.id, requirement.level, f"family_{requirement.family}"):
            config.addinivalue_line("markers", f"{name}: v2-conformance, see --markers v2_*")
    for profile in SERVER_PROFILES:
        config.addinivalue_line("markers", f"profile_{profile}: v2-conformance profile")
    from v2_conformance.pytest_plugin.session import SessionHooks, WorkerHooks, named_cases

    patterns = named_cases(config)
    if patterns is None:
        return
    if hasattr(config, "workerinput"):  # a worker of xdist
        config.pluginmanager.register(WorkerHooks(config), "v2-conformance-suite")
        return
    session = SessionHooks(config, patterns)
    config.pluginmanager.register(session, "v2-conformance-suite")
    if config.pluginmanager.hasplugin("html") and config.getoption("htmlpath", None):
        from v2_conformance.pytest_plugin.html import Page

        config.pluginmanager.register(Page(lambda: session.report), "v2-conformance-html")


class _AsTheyAre:
    """Finds the modules of the suite before pytest does, which would rewrite the assertions of a
    whole distribution that has a plugin."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return what Python itself finds."""
        return PathFinder.find_spec(name, path) if name.startswith(_PACKAGES) else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for `v2_bench` once for each scenario."""
    if "v2_bench" in metafunc.fixturenames:
        elsewhere("bench").parametrize(metafunc)


@pytest.fixture
def v2_bench(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A scenario for a client: `url`, `task`, and `say…` for what the client read.

    It is judged when the test ends. The marker v2_scenario chooses scenarios.
    """
    fixture = elsewhere("bench")
    with fixture.bench_of(request.param) as bench:
        yield bench
        result = bench.result()
    fixture.judge(result, strict=request.config.getoption("--v2-strict"))
