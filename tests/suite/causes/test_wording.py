"""The sentences that people read: an example of every cause, in full."""

from __future__ import annotations

import subprocess
import sys

import msgspec

from support.snapshots import Snapshot
from v2_conformance.suite.causes.base import describe
from v2_conformance.suite.causes.causes import CAUSES, Cause
from v2_conformance.suite.causes.kinds import NotHttp


def test_causes_in_words(snapshot: Snapshot) -> None:
    rows = snapshot("causes", lambda row: describe(msgspec.convert(row["cause"], Cause)))
    examples = {type(msgspec.convert(row["cause"], Cause)) for row in rows}
    assert examples == set(CAUSES), "a cause has no example in tests/snapshots/causes.yaml"


def test_made_up_text_is_escaped_and_an_ellipsis_stays() -> None:
    words = describe(NotHttp("\x1b[2J…\u202e"))
    assert words == "the response is not HTTP: \\x1b[2J…\\u202e"


def test_python_without_docstrings_is_refused_not_left_without_sentences() -> None:
    command = [sys.executable, "-OO", "-c", "import v2_conformance.suite.causes.base"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "run without -OO" in done.stderr.splitlines()[-1]
