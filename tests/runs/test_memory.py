"""The memory of a run, and the size of its report, whatever a server answers."""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.responses import http
from support.servers import always, served, serving
from v2_conformance.report.files import REPORT, load_report
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.transcript import Limits

MIB = 1 << 20
MOST_MEMORY = 300 * MIB
MOST_REPORT = 64_000_000
# The longest requests of an ordinary run, to which the longest answers are taken.
LONG = ("L1", "J7/very-many*")
NOISE = random.Random(7).randbytes(2 * MIB)
TEXT, JSON = ("Content-Type", "text/plain"), ("Content-Type", "application/json")
BOMB = gzip.compress(bytes(Limits.response - MIB))

Answer = Callable[[bytes, int], bytes]
"""The answer to a request, to which the suite takes so many bytes."""


def noise(length: int) -> bytes:
    return (NOISE * (1 + length // len(NOISE)))[:length]


def values(item: bytes) -> Answer:
    def answer(_: bytes, most: int) -> bytes:
        return http(
            b'{"outputs":[' + b",".join([item] * (most // len(item) // 2)) + b"]}", 200, JSON
        )

    return answer


def members(_: bytes, most: int) -> bytes:
    names = b",".join(b'"%d":1' % number for number in range(most // 15))
    return http(b'{"outputs":[],' + names + b"}", 200, JSON)


KINDS: dict[str, Answer] = {
    "as much as is taken": lambda _, most: http(noise(most - 1000), 500, TEXT),
    "objects": values(b"{}"),
    "numbers": values(b"1234"),
    "members": members,
    "bomb": lambda _, __: http(BOMB, 200, JSON, ("Content-Encoding", "gzip")),
}


# Another process's figure would include the memory of the one that started it.
RUN = """
import sys
from v2_conformance.cli.main import main
code = main(sys.argv[1:])
lines = open("/proc/self/status").read().splitlines()
print(next(line.split()[1] for line in lines if line.startswith("VmHWM")))
sys.exit(code)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc with a peak of memory")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.long
def test_no_server_makes_a_run_take_much_memory_or_leave_a_long_report(
    kind: str, tmp_path: Path
) -> None:
    def answer(request: bytes) -> bytes:
        known = b"/infer " not in request[:200] or b'"shape":[3]' in request[:2000]
        most = Limits().response_to(len(request))
        return served(request) if known else KINDS[kind](request, most)

    chosen = [argument for name in LONG for argument in ("--case", name)]
    with serving(always(answer)) as server:
        arguments = ["run", server.url, *chosen, "--report-dir", str(tmp_path)]
        done = subprocess.run(
            [sys.executable, "-c", RUN, *arguments], capture_output=True, text=True, check=False
        )
    assert done.returncode in (0, 1), done.stderr  # what fails here may block no verdict
    peak = int(done.stdout.splitlines()[-1]) * 1024
    assert peak < MOST_MEMORY, f"{peak / MIB:.0f} MiB"
    assert (tmp_path / REPORT).stat().st_size < MOST_REPORT
    assert any(load_report(tmp_path / REPORT).of(Outcome.FAIL))
