"""`v2-conformance selftest`: shows for every fault that a case of its own requirement notices.

Each fault is a reference server with one deviation. It meets every case of the requirement that it
breaks and, of most other requirements, one case of each entry of the case files. A fault that no
case of its own requirement notices is a hole in the suite, and fails the selftest. So does an entry
with MUST cases that no fault of its requirement fails: nothing shows that it can.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass

from v2_conformance.engine.discovery import discover
from v2_conformance.engine.engine import run
from v2_conformance.engine.fuzzing import CertifyingEngine
from v2_conformance.engine.target import make_target
from v2_conformance.errors import ConformanceError
from v2_conformance.judging.judge import FAIL
from v2_conformance.reference.faults import FAULTS
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.suite.cases import Case
from v2_conformance.suite.library import suite_cases

PROFILES = ("raw", "bf16", "compression")
# Everything is on this machine; only a fault that makes a response incomplete waits for it.
_TIMEOUT_S = 0.5
# A machine that stands still for a moment joins pieces that were sent apart, and then a fault that
# shows between them does not. What survives is tried again alone, and has time.
_TRIES = 3
_UNHURRIED_TIMEOUT_S = 5.0
# One case of these, of many pieces or bytes, takes as long as all others together. They meet the
# faults of their own requirements only, unless every case is to meet every fault.
_LONG = frozenset({"B12", "C2", "C3", "C4", "C6", "L1", "M7", "Z5"})


@dataclass(frozen=True)
class Kill:
    """What the suite noticed of one fault: the failing cases of its own requirement, by id, which
    other requirements failed, and how often it was tried."""

    fault: str
    requirement: str
    own: tuple[str, ...]
    others: tuple[str, ...]
    error: str = ""
    tries: int = 1

    @property
    def killed(self) -> bool:
        """Whether a case of the fault's own requirement failed."""
        return bool(self.own) and not self.error


def of_others(cases: Sequence[Case], requirement: str) -> list[Case]:
    """The first case of each entry of all requirements but `requirement` and those of _LONG."""
    first: dict[str, Case] = {}
    for case in cases:
        if case.requirement != requirement and case.requirement not in _LONG:
            first.setdefault(case.template, case)
    return list(first.values())


def try_fault(name: str, *, full: bool = False, tries: int = 1) -> Kill:
    """Run the suite against the reference server with the fault `name`, for the `tries`-th time."""
    requirement = FAULTS[name].requirement
    cases = suite_cases()
    own = [case for case in cases if case.requirement == requirement]
    others = [case for case in cases if case not in own] if full else of_others(cases, requirement)
    try:
        # Each from a fresh server: what a fault kills early would hide what its own cases show.
        timeout = _TIMEOUT_S if tries == 1 else _UNHURRIED_TIMEOUT_S
        own_failed, others_failed = _failed(name, own, timeout), _failed(name, others, timeout)
    except ConformanceError as error:
        return Kill(name, requirement, (), (), str(error), tries)
    names = dict.fromkeys(case.requirement for case in others_failed)
    return Kill(name, requirement, tuple(c.id for c in own_failed), tuple(names), tries=tries)


def _failed(fault: str, cases: Sequence[Case], timeout: float) -> list[Case]:
    """The cases that fail."""
    with ReferenceServer([fault]) as server:
        target = make_target(server.url, profiles=PROFILES, timeout=timeout)
        found = discover(make_target(server.url, profiles=PROFILES))
        results = [event.result for event in run(CertifyingEngine(target, found), cases)]
    return [result.case for result in results if result.outcome == FAIL]


def selftest(workers: int | None = None, *, full: bool = False) -> Iterator[Kill]:
    """Try every fault, `workers` processes at a time (default: one for each core).

    Those that survive are tried again when all others are done, one at a time.
    """
    # Fresh processes: a fork would copy threads' locks in whatever state they are.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers or os.cpu_count(), mp_context=context) as pool:
        futures = [pool.submit(try_fault, name, full=full) for name in FAULTS]
        survivors = []
        for future in as_completed(futures):
            kill = future.result()
            if kill.killed:
                yield kill
            else:
                survivors.append(kill)
        for kill in survivors:
            yield persist(
                kill,
                lambda name, tries: pool.submit(try_fault, name, full=full, tries=tries).result(),
            )


def persist(kill: Kill, attempt: Callable[[str, int], Kill]) -> Kill:
    """What the last of at most _TRIES tries shows of the fault that `kill` has tried.

    `attempt` tries the fault of that name for that time.
    """
    while not kill.killed and kill.tries < _TRIES:
        kill = attempt(kill.fault, kill.tries + 1)
    return kill


def idle(kills: Sequence[Kill]) -> list[str]:
    """The entries of the case files with MUST cases that no fault of their requirement fails."""
    useful = {name.partition("[")[0] for kill in kills for name in kill.own}
    wanted = (case.template for case in suite_cases() if case.facts(PROFILES)["level"] == "MUST")
    return [template for template in dict.fromkeys(wanted) if template not in useful]


def faultless() -> list[str]:
    """The cases that the reference server without faults fails; there must be none."""
    with ReferenceServer() as server:
        target = make_target(server.url, profiles=PROFILES)
        engine = CertifyingEngine(target, discover(target))
        return [
            f"{event.result.case.id}: {event.result.message}"
            for event in run(engine, suite_cases())
            if event.result.outcome not in ("pass", "disputed")
        ]


def lines(kills: Sequence[Kill]) -> Iterator[str]:
    """The kill matrix, a row a fault, in the order of requirements."""
    order = {name: number for number, name in enumerate(FAULTS)}
    for kill in sorted(
        kills, key=lambda k: (k.requirement[0], int(k.requirement[1:]), order[k.fault])
    ):
        mark = "killed" if kill.killed else "SURVIVES"
        shown = " ".join(kill.others[:6]) + (" …" if len(kill.others) > 6 else "")
        note = kill.error or (f"also {shown}" if shown else "")
        if kill.tries > 1:
            note = f"tried {kill.tries} times {note}"
        yield f"{kill.requirement:<4}{mark:<9}{len(kill.own):>3}  {kill.fault:<38} {note}".rstrip()[
            :110
        ]
