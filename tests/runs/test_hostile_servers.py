"""Whole runs against servers that misbehave in one exchange: the right outcome, time and memory."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.pages import rows_of
from support.responses import http, v2
from support.servers import Peer, Script, Scripted, always, served, serving, steps
from v2_conformance.cli.main import main
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.report.document import CaseResult
from v2_conformance.report.files import REPORT, load_report
from v2_conformance.runs.scheduling import engine as engine_module
from v2_conformance.suite.causes.causes import Cause
from v2_conformance.suite.causes.kinds import BrokenCoding, Flooded, ResponseTooLarge
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.verifying.verification import verify
from v2_conformance.wire.response import Limits

MIB = 1 << 20
# The case that meets the misbehaviour, by its request's white space; a neighbour whose request is
# almost the same; and one that is refused, so that a canary follows.
MARK = b'\n    "inputs"'
VICTIM = "H1/honoured[medium,INT32]"
NEIGHBOURS = ("H1/honoured[short,INT32]", "R3/survives-a-rejection[no_data]")
# More than a run needs on a busy machine, far less than one without bounds would take.
LONGEST_S = 60.0
PATIENCE_S = 10.0
HEAD = b"HTTP/1.1 200 OK\r\n"


def says(*data: bytes) -> Script:
    """Send `data` and close."""

    def script(peer: Peer) -> None:
        for piece in data:
            peer.send(piece)

    return script


def endless(start: bytes, piece: bytes) -> Script:
    return steps(start, lambda peer: peer.forever(piece))


OUTPUT = {"name": "OUTPUT0", "shape": [8], "datatype": "INT32"}
BLOB = bytes(0xC1 + i % 7 for i in range(32))
GOOD = v2({"outputs": [OUTPUT | {"parameters": {"binary_data_size": 32}}]}, BLOB)
JSON_END = GOOD.index(BLOB)


@contextmanager
def misbehaving(script: Script, mark: bytes = MARK) -> Iterator[Scripted]:
    """A good server, but for requests with `mark` in them, which `script` answers."""

    with serving(always(lambda asked: script if mark in asked else served(asked))) as server:
        yield server


Found = Mapping[str, CaseResult]


def run(server: Scripted, folder: Path, *cases: str, timeout: float = PATIENCE_S) -> Found:
    """A run of the command on some cases; what its report says of each."""
    chosen = [argument for case in cases for argument in ("--case", case)]
    started = time.perf_counter()
    profiles = ["--profile", "compression", "--profile", "compression-responses"]
    arguments = [*profiles, "--timeout", str(timeout), "--report-dir", str(folder)]
    assert main(["run", server.url, *chosen, *arguments]) in (0, 1)
    assert time.perf_counter() - started < LONGEST_S
    report = load_report(folder / REPORT)
    assert report.complete
    found = {case.id: case for case in report.cases}
    assert set(found) == set(cases), "something was lost"
    page = (folder / "report.html").read_text()
    assert {row["id"] for row in rows_of(page)} == set(cases)
    return found


def is_only_the_victims(found: Found, victim: str = VICTIM) -> Cause | None:
    """The cause of the victim's failure, which is nobody else's and killed nothing."""
    for case in NEIGHBOURS:
        assert found[case].outcome is Outcome.PASS, found[case].message
    assert found[victim].outcome is Outcome.FAIL
    assert not found[victim].died
    return found[victim].cause


# What takes memory.


@contextmanager
def at_most(size: int) -> Iterator[None]:
    """Fails if this process takes more than `size` bytes beyond what it has at first."""
    try:
        Path("/proc/self/clear_refs").write_text("5")  # from here on the peak is counted anew
    except OSError:
        pytest.skip("this system does not tell a process its peak of memory")
    before = memory("VmRSS")
    yield
    peak = memory("VmHWM") - before
    assert peak < size, f"{peak / MIB:.0f} MiB"


def memory(name: str) -> int:
    """A figure of this process's memory, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def bomb(coding: str, size: int) -> bytes:
    """So many zeros behind the start of a good message, in a coding, without ever holding them."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31 if coding == "gzip" else 15)
    pieces = [packer.compress(GOOD[GOOD.index(b"{") :])]
    pieces += [packer.compress(bytes(MIB)) for _ in range(size // MIB)]
    return b"".join([*pieces, packer.flush()])


@pytest.fixture(scope="module")
def bombs() -> dict[str, bytes]:
    """Some hundred KiB that decode to a little more than the suite takes, for each coding."""
    size = Limits.response + 4 * MIB
    assert size >= 64 * MIB
    return {coding: bomb(coding, size) for coding in ("gzip", "deflate")}


def packed(coding: str, body: bytes) -> bytes:
    length = JSON_END - GOOD.index(b"{")
    return http(body, 200, ("Content-Encoding", coding), (HEADER_LENGTH, length))


@pytest.mark.parametrize(
    "flood",
    [endless(HEAD + b"\r\n", bytes(1000)), says(http(bytes(MIB)))],
    ids=["endless", "whole"],
)
def test_a_server_that_floods_every_case_fills_no_disk(
    flood: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "MOST_SURPLUS", 20 * MIB)
    prefixes = ("H1/*", "H2/*", "H6/*", "M7/*")
    with misbehaving(flood, mark=b"/infer ") as server, at_most(500 * MIB):
        chosen = [argument for name in prefixes for argument in ("--case", name)]
        arguments = ["--timeout", "10", "--report-dir", str(tmp_path)]
        assert main(["run", server.url, *chosen, *arguments]) == 1
    cases = load_report(tmp_path / REPORT).cases
    flooded = [case for case in cases if isinstance(case.cause, Flooded)]
    assert {case.outcome for case in flooded} == {Outcome.INCONCLUSIVE}
    assert not any(case.exchanges for case in flooded)
    assert {case.outcome for case in cases if case not in flooded} == {Outcome.FAIL}
    assert 0 < len(cases) - len(flooded) < 20 < len(cases)  # an endless one counts as 8 MiB
    assert (tmp_path / REPORT).stat().st_size < 60 * MIB
    assert verify(tmp_path / REPORT, suite_cases()).exit_code == 0


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
@pytest.mark.parametrize(
    ("case", "mark"),
    [
        ("Z2/compressed-response[{coding},int32,binary]", b"Accept-Encoding: {coding}\r\n"),
        (VICTIM, MARK),
    ],
)
def test_a_decompression_bomb_takes_bounded_memory(
    coding: str, case: str, mark: bytes, bombs: dict[str, bytes], tmp_path: Path
) -> None:
    case = case.format(coding=coding)
    answer = packed(coding, bombs[coding])
    mark = mark.replace(b"{coding}", coding.encode())
    with misbehaving(says(answer), mark) as server, at_most(60 * MIB):
        found = run(server, tmp_path, case, *NEIGHBOURS)
    cause = is_only_the_victims(found, case)
    assert isinstance(cause, BrokenCoding)
    assert cause.coding == coding
    assert "decodes to more than" in cause.problem
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 8 * MIB


@pytest.mark.parametrize("framing", [b"", b"Transfer-Encoding: chunked\r\n"])
def test_an_endless_body_takes_bounded_memory_and_a_bounded_report(
    framing: bytes, tmp_path: Path
) -> None:
    piece = bytes(64 * 1024)
    piece = b"%x\r\n%b\r\n" % (len(piece), piece) if framing else piece
    with misbehaving(endless(HEAD + framing + b"\r\n", piece)) as server, at_most(60 * MIB):
        found = run(server, tmp_path, VICTIM, *NEIGHBOURS)
    cause = is_only_the_victims(found)
    assert isinstance(cause, ResponseTooLarge)
    assert cause.detail.startswith("the response is longer than")
    assert (tmp_path / REPORT).stat().st_size < 3 * MIB
