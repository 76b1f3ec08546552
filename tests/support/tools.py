"""Programs that tests need and a machine may lack: browsers, toolchains. A test whose program is
missing is skipped, with what to install as the reason. With V2_REQUIRE_TOOLS=1, as in CI, it is an
error."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from typing import NoReturn

import pytest

REQUIRED = "V2_REQUIRE_TOOLS"
PACKAGES: Mapping[str, str] = {
    "bash": "bash",
    "chromium": "chromium",
    "curl": "curl",
    "g++": "g++ zlib1g-dev nlohmann-json3-dev",
    "go": "golang-go",
    "java": "default-jdk-headless",
    "javac": "default-jdk-headless",
    "node": "nodejs",
}
"""Debian's packages of each program, and of what tests need with it."""
_OTHER_NAMES = {"chromium": ("chromium-browser", "google-chrome")}


def find(name: str) -> str | None:
    """Return the path of a program of PACKAGES, None if it is not installed."""
    names = (name, *_OTHER_NAMES.get(name, ()))
    return next((path for one in names if (path := shutil.which(one))), None)


def tool(name: str) -> str:
    """Return the path of a program of PACKAGES; without it the test is skipped, or fails."""
    return find(name) or missing(name, "is not installed")


def missing(name: str, problem: str) -> NoReturn:
    """Skip the test, or fail it if tools are required: a program of PACKAGES has a `problem`."""
    reason = f"{name} {problem} (Debian: apt-get install {PACKAGES[name]})"
    if os.environ.get(REQUIRED) == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
