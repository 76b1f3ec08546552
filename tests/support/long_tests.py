"""What takes long. An ordinary run of the tests leaves out what is marked `long` and most of the
modules below; `--rest` runs just that, as in `tox -e hostile`, and `--long` everything."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256


def sample(names: Iterable[str], one_in: int) -> list[str]:
    """Return one of so many names, at least one, chosen by their hashes: where a row stands in its
    table, and which rows are added to it, hardly matters."""
    by_hash = sorted(names, key=lambda name: sha256(name.encode()).digest())
    return by_hash[: -(-len(by_hash) // one_in)]


SAMPLED = {
    "tests/bench/test_at_once.py": 6,
    "tests/bench/test_right_clients.py": 20,
    "tests/certifying/": 16,
    "tests/cli/reports/": 8,
    "tests/cli/run/": 5,
    "tests/cli/test_client_command.py": 4,
    "tests/cli/test_full_disk.py": 8,
    "tests/cli/test_hostile_files.py": 60,
    "tests/cli/test_main.py": 3,
    "tests/cli/test_main_hostile.py": 3,
    "tests/cli/test_secrets.py": 40,
    "tests/formats/html/test_html_in_browser.py": 4,
    "tests/formats/matrix/test_matrix_in_browser.py": 4,
    "tests/hostile/": 30,
    "tests/maintenance/test_crossing.py": 4,
    "tests/maintenance/test_selftest.py": 3,
    "tests/maintenance/test_traceability.py": 3,
    "tests/pytest_plugin/": 5,
    "tests/real/test_published_reports.py": 4,
    "tests/reference/test_faults.py": 8,
    "tests/reference/test_variants.py": 10,
    "tests/reference/test_variants_over_sockets.py": 60,
    "tests/report/test_recorder.py": 2,
    "tests/report/verdict/test_verdict_by_omission.py": 8,
    "tests/runs/scheduling/test_side_by_side.py": 5,
    "tests/runs/test_bad_path.py": 2,
    "tests/runs/test_learning.py": 3,
    "tests/verifying/": 12,
    "tests/verifying/test_compressed.py": 1,
    "tests/verifying/test_forgeries.py": 2,
    "tests/verifying/test_honest_reports.py": 100,
    "tests/verifying/test_verification.py": 8,
}
"""Of these modules and folders an ordinary run tries one test of so many: whole runs, browsers and
long tables."""


def one_in(module: str) -> int:
    """Return of how many tests of a module an ordinary run tries one."""
    found = [name for name in SAMPLED if module.startswith(name)]
    return SAMPLED[max(found, key=len)] if found else 1


def rows(names: Iterable[str], one_in_so_many: int) -> set[str]:
    """Return the ids of these tests, of the rows of a table one in so many."""
    tests: dict[str, list[str]] = {}
    for name in names:
        tests.setdefault(name.partition("[")[0], []).append(name)
    return {name for all_ in tests.values() for name in sample(all_, one_in_so_many)}


def chosen(names: Iterable[str]) -> set[str]:
    """Return the ids of these tests that an ordinary run tries."""
    modules: dict[str, list[str]] = {}
    for name in names:
        modules.setdefault(name.partition("::")[0], []).append(name)
    return {name for module, all_ in modules.items() for name in sample(all_, one_in(module))}
