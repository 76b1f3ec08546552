"""Fixtures: servers that misbehave as a test says, pytest inside pytest."""

from __future__ import annotations

import contextlib
import signal
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
import requests  # noqa: F401 (pytest inside pytest forgets what it loads; this bears no second load)
from hypothesis import settings

from support.browser import Browser, browsing, chromium
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.faults import FAULTS, Fault
from v2_conformance.reference.server import ReferenceServer

pytest_plugins = ["pytester"]

# A busy machine fails no test, and no test fails by chance.
settings.register_profile("suite", deadline=None, derandomize=True, database=None)
settings.load_profile("suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of these tests."""
    parser.addoption(
        "--hostile",
        action="store_true",
        help="try the hostile servers that take long, too, and every row of long tables",
    )
    parser.addoption(
        "--whole-runs",
        action="store_true",
        help="try every variant with the whole suite, and every fault",
    )


# Of these tables an ordinary run tries one row of so many; `tox -e hostile` tries all.
_SAMPLED = {
    "tests/redaction/test_forms.py": 5,
    "tests/cli/test_hostile_files.py": 4,
    "tests/cli/test_secrets.py": 3,
    "tests/formats/test_replay_hostile.py": 4,
    "tests/real/test_published_reports.py": 3,
    "tests/reference/test_variants.py": 3,
}

# What takes longest begins first, so that no worker is left alone with it at the end.
_LONG = (
    "tests/docs/test_tour.py",
    "tests/cli/test_shards.py::test_three_shards_merge_to_the_report_of_one_run",
    "tests/pytest_plugin/test_plugin.py::TestReports::test_a_good_server_is_certified",
    "tests/clients/test_other_languages.py",
    "tests/reference/test_faults.py::test_a_server_without_faults_passes_every_case_every_time",
    "tests/test_api.py::test_the_examples_of_the_manual_work",
    "tests/cli/test_bindings_in_use.py::test_the_embedded_server_conforms_at_each_endpoint",
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what is long, and leave out rows of long tables, but in a run that tries all."""
    items.sort(key=lambda item: not item.nodeid.startswith(_LONG))
    if config.getoption("--hostile"):
        return
    rows: Counter[str] = Counter()
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        module, brackets = item.nodeid.partition("::")[0], "[" in item.nodeid
        step = _SAMPLED.get(module, 1) if brackets else 1
        (left_out if rows[module] % step else kept).append(item)
        rows[module] += brackets
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


@pytest.fixture(autouse=True)
def _outside_of_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs inside tests have nothing to tell the CI service that runs the tests."""
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _keep_signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One tab of a headless Chromium; without one the test is skipped."""
    program = chromium()
    if program is None:
        pytest.skip("no chromium, chromium-browser or google-chrome on PATH")
    with browsing(program, tmp_path_factory.mktemp("browser")) as running:
        yield running


@pytest.fixture
def start(
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[[type[Behaviour]], ReferenceServer]]:
    """Starts a reference server whose behaviour is the given class; it ends with the test."""
    with contextlib.ExitStack() as stack:

        def begin(cls: type[Behaviour]) -> ReferenceServer:
            name = f"of-a-test-{cls.__name__}"
            monkeypatch.setitem(FAULTS, name, Fault(name, "", "", cls))
            return stack.enter_context(ReferenceServer([name]))

        yield begin
