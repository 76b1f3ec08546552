"""Fixtures: servers that misbehave as a test says, pytest inside pytest."""

from __future__ import annotations

import contextlib
import gc
import signal
from collections.abc import Callable, Iterator
from functools import partial

import pytest
import requests  # noqa: F401 (pytest inside pytest forgets what it loads; this bears no second load)
from hypothesis import settings

from support.browser import Browser, browsing
from support.commands import Cli, caller
from support.long_tests import chosen, rows
from support.snapshots import Snapshot, Texts, compare, compare_texts
from support.tools import tool
from v2_conformance.certifying.servers import given_or_fresh
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.server import ReferenceServer

pytest_plugins = ["pytester"]

# A busy machine fails no test, and no test fails by chance.
settings.register_profile("suite", deadline=None, derandomize=True, database=None)
settings.load_profile("suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of these tests."""
    for option, words in (
        ("--long", "try what takes long, too: hostile servers, whole runs, all of long tables"),
        ("--rest", "try just what a run without --long leaves out"),
        ("--whole-runs", "try every variant with the whole suite, and every fault"),
        ("--rewrite-snapshots", "write what is in tests/snapshots again, instead of comparing it"),
    ):
        parser.addoption(option, action="store_true", help=words)
    parser.addoption(
        "--one-in",
        type=int,
        default=1,
        metavar="N",
        help="with --rest, try only one of so many rows of its tables",
    )
    parser.addoption(
        "--fresh-seed",
        type=int,
        help="the seed of runs that need a fresh one; without it, one is drawn and printed",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Draw the fresh seed, which workers of xdist get among the options."""
    config.addinivalue_line("markers", "long: takes long; an ordinary run leaves it out")
    config.addinivalue_line("markers", "needs(name): needs this program of support/tools.py")
    config.option.fresh_seed = given_or_fresh(config.option.fresh_seed)


def pytest_report_header(config: pytest.Config) -> str:
    """Say which seed repeats what this session tries."""
    return f"fresh seed of runs: --fresh-seed {config.option.fresh_seed}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what is long, or leave it out, or run nothing else."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
    if config.getoption("--long"):
        return
    short = [item.nodeid for item in items if item.get_closest_marker("long") is None]
    ordinary = chosen(short)
    rest = [item.nodeid for item in items if item.nodeid not in ordinary]
    wanted = rows(rest, config.getoption("--one-in")) if config.getoption("--rest") else ordinary
    kept = [item for item in items if item.nodeid in wanted]
    left_out = [item for item in items if item.nodeid not in wanted]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Look for the program that a test says it needs."""
    for marker in item.iter_markers("needs"):
        tool(*marker.args)


def pytest_collection_finish() -> None:
    """Thousands of tests stay to the end: searches for garbage, of which each pytest inside pytest
    makes two, need not go through them."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _outside_of_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs inside tests have nothing to tell the CI service that runs the tests."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "TF_BUILD", "TEAMCITY_VERSION"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _keep_signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Calls the command in this process."""
    return caller(capsys)


@pytest.fixture
def snapshot(pytestconfig: pytest.Config) -> Snapshot:
    """Compares words with those in tests/snapshots, or writes them there."""
    return partial(compare, rewrite=pytestconfig.getoption("--rewrite-snapshots"))


@pytest.fixture
def texts(pytestconfig: pytest.Config) -> Texts:
    """Compares texts with those in tests/snapshots, or writes them there."""
    return partial(compare_texts, rewrite=pytestconfig.getoption("--rewrite-snapshots"))


@pytest.fixture
def fresh_seed(pytestconfig: pytest.Config) -> int:
    """A seed that this session has drawn, or was given to repeat another one."""
    seed: int = pytestconfig.getoption("--fresh-seed")
    return seed


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One tab of a headless Chromium."""
    with browsing(tool("chromium"), tmp_path_factory.mktemp("browser")) as running:
        yield running


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """The URL of a good server that tests share."""
    with ReferenceServer() as running:
        yield running.url


@pytest.fixture
def server() -> Iterator[ReferenceServer]:
    """A good server of the test's own."""
    with ReferenceServer() as running:
        yield running


@pytest.fixture
def start() -> Iterator[Callable[[type[Behavior]], ReferenceServer]]:
    """Starts a reference server whose behavior is the given class; it ends with the test."""
    with contextlib.ExitStack() as stack:

        def begin(cls: type[Behavior]) -> ReferenceServer:
            return stack.enter_context(ReferenceServer(cls))

        yield begin
