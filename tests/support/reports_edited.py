"""What tests of `verify` share: reports of runs, changes of them, what is said then."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from support.runs import chosen
from v2_conformance.engine.discovery import discover
from v2_conformance.engine.engine import Engine, run
from v2_conformance.engine.target import Target, make_target
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.digest import sealed
from v2_conformance.report.recorder import Record
from v2_conformance.suite.cases import Case
from v2_conformance.suite.library import suite_cases
from v2_conformance.verifying.verification import Verification, lines, verify

Report = dict[str, Any]
Start = Callable[[type[Behaviour]], ReferenceServer]

GOOD = "P2/blob-follows-json[INT32]"
BAD = "H6/not-a-number[letters]"  # rejected, and followed by two canaries
FEW = chosen(GOOD, BAD, "P4/", "R1/", "R3/", "C6/", "O18/", "W1/fixed-shape", "P1/")
CASES = suite_cases()
LENGTH = (b"\r\nContent-Length: ", 20)  # the last of three digits
SECRET = "s3cret-token-of-the-tests"


def made(folder: Path, target: Target, cases: Sequence[Case] = FEW) -> Path:
    """The report of a run of `cases`."""
    server = discover(target)
    record = Record(folder, target, server, CASES)
    for event in run(Engine(target, server), cases):
        record.add(event.result)
    record.finish()
    return folder / "report.json"


def of_faulty(folder: Path, *faults: str, cases: Sequence[Case] = FEW) -> Path:
    with ReferenceServer(faults) as server:
        target = make_target(server.url, timeout=1, headers=(f"Authorization: Bearer {SECRET}",))
        return made(folder, target, cases)


def said(path: Path) -> tuple[Verification, str]:
    """What verifying finds, and what it prints in one line."""
    found = verify(path, CASES)
    return found, " ".join(" ".join(lines(path, found)).split())


def changed(
    original: Path, folder: Path, change: Callable[[Report], object], *, seal: bool = True
) -> tuple[Verification, str]:
    """What verifying says of a report after a change, with its digest computed again or not."""
    report = json.loads(original.read_text())
    change(report)
    path = folder / "report.json"
    path.write_text(json.dumps(sealed(report) if seal else report))
    return said(path)


def case_of(report: Mapping[str, Any], name: str) -> Report:
    found: Report = next(case for case in report["cases"] if case["id"] == name)
    return found


def flipped(name: str, side: str, seam: bytes, after: int, number: int = 0) -> Any:
    """A change: one bit of the byte `after` the start of `seam`, in one side of an exchange."""

    def change(report: Report) -> None:
        exchange = case_of(report, name)["exchanges"][number]
        data = bytearray(base64.b64decode(exchange[side]))
        data[data.index(seam) + after] ^= 1
        exchange[side] = base64.b64encode(data).decode()

    return change


def differing(found: Verification) -> list[str]:
    return [case.id for case in found.cases if case.problem]
