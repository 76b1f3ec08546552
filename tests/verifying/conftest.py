"""Reports of runs that all tests of verifying read; whoever changes one writes a copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.runs import made, of_faulty
from v2_conformance.runs.targets.making import make_target
from v2_mutants.servers import MutantServer


@pytest.fixture(scope="session")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a good server."""
    return of_faulty(tmp_path_factory.mktemp("clean"))


@pytest.fixture(scope="session")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a server whose request blobs are off by one."""
    return of_faulty(tmp_path_factory.mktemp("faulty"), "request-blobs-off-by-one")


@pytest.fixture(scope="session")
def deadly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a server one of whose models a rejection kills."""
    return of_faulty(tmp_path_factory.mktemp("deadly"), "rejection-kills-model")


@pytest.fixture(scope="session")
def without_secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `faulty`, but of a run in which nothing was masked."""
    folder = tmp_path_factory.mktemp("without-secrets")
    with MutantServer(["request-blobs-off-by-one"]) as server:
        return made(folder, make_target(server.url, timeout=1))
