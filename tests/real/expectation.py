"""What the suite is known to find on a real server or client, and a report beside it.

expectations/*.yaml have the servers, clients/expectations/*.yaml the clients. The format is
described at the top of each file.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from v2_conformance.formats.outcomes_shown import SKIPPED
from v2_conformance.kits.registry import KITS
from v2_conformance.report.document import NOT_IMPLEMENTED, Report
from v2_conformance.report.verdict.standing import is_whole, verdict_words
from v2_conformance.report.words import priced
from v2_conformance.suite.library import client_cases, suite_cases
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.terminal_safe_text import matches
from v2_publishing.trend import version_order

FOLDER = Path(__file__).parent / "expectations"
CLIENTS = Path(__file__).parent / "clients" / "expectations"

# The C parser reads a file ten times faster; a PyYAML without libyaml lacks it.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Expectation:
    """One file: the `server` in `version`, and what a run with `profiles` finds on it.

    It may as well be a client: then `adapter` is the script of the kit `clients` that puts it on
    the bench. `package` is what pip installs for it, with what else it needs behind a space.
    `requirements` maps ids to outcomes, `cases` patterns to outcomes, of which the first that
    matches counts. `verdict` is that of a run with what it costs. `seen`, `reasons` and `mended`
    are texts by requirement. A requirement that passes has them, too, if cases of a lower level
    fail.
    """

    path: Path
    server: str
    version: str
    package: str
    profiles: tuple[str, ...]
    survives: bool
    verdict: str
    requirements: Mapping[str, str]
    cases: Mapping[str, str]
    seen: Mapping[str, str]
    reasons: Mapping[str, str]
    mended: Mapping[str, str] = field(default_factory=dict)
    adapter: str = ""

    @property
    def conformant(self) -> bool:
        """True if the exit code of the run is 0."""
        return self.verdict.startswith("conformant")

    @property
    def implemented(self) -> bool:
        """False if the server does not have the extension."""
        return self.verdict != NOT_IMPLEMENTED

    @property
    def name(self) -> str:
        """SERVER-VERSION, as the file is named."""
        return self.path.stem

    @property
    def kind(self) -> str:
        """The name without the version, such as kserve-client."""
        return self.name.removesuffix(f"-{self.version}")

    def outcome_of(self, case_id: str) -> str:
        """What is expected of a case; a pass if nothing is written of it."""
        written = (outcome for pattern, outcome in self.cases.items() if matches(case_id, pattern))
        return next(written, Outcome.PASS.value)

    def run_arguments(self, url: str, folder: Path, *, seed: int | None = None) -> list[str]:
        """The command of the server's kit against `url`, with its report in `folder`, to be run in
        the folder of the kit. Profiles that this version lacks are left out.

        Without a `seed` the run draws a fresh one, which changes no outcome.
        For a client the command `client`, to be run in the folder of its adapter.
        """
        if self.adapter:
            claimed = [w for p in self.profiles if p != "client" for w in ("--profile", p)]
            return ["client", "--report-dir", str(folder), *claimed, "--", "python", self.adapter]
        words = KITS[self.server].command
        for profile in set(re.findall(r"--profile (\S+)", words)) - set(self.profiles):
            words = re.sub(rf" --profile {profile}(?!\S)", "", words)
        _, command, _, *options = shlex.split(words)
        drawn = [] if seed is None else ["--seed", str(seed)]
        return [command, url, *options, "--report-dir", str(folder), *drawn]


def load_expectation(path: Path) -> Expectation:
    """Read one file of expectations/."""
    document = yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)
    entries: dict[str, Mapping[str, Any]] = {
        requirement: {"outcome": entry} if isinstance(entry, str) else entry
        for requirement, entry in document["requirements"].items()
    }

    def texts(name: str) -> dict[str, str]:
        return {key: entry[name] for key, entry in entries.items() if name in entry}

    return Expectation(
        path=path,
        server=document["client" if "client" in document else "server"],
        version=document["version"],
        package=document["package"],
        profiles=tuple(document["profiles"]),
        survives=document.get("survives", True),
        verdict=document["verdict"],
        requirements=texts("outcome"),
        cases={p: o for entry in entries.values() for p, o in entry.get("cases", {}).items()},
        seen=texts("seen"),
        reasons=texts("reason"),
        mended=texts("mended"),
        adapter=document.get("adapter", ""),
    )


def expectation_files() -> list[Path]:
    """The files, one for each server in each version."""
    return sorted(FOLDER.glob("*.yaml"))


def client_expectation_files() -> list[Path]:
    """The files, one for each client in each version."""
    return sorted(CLIENTS.glob("*.yaml"))


def every_expectation() -> list[Expectation]:
    """What is expected of each server and client."""
    return [load_expectation(path) for path in (*expectation_files(), *client_expectation_files())]


def newest_of_each(expectations: Iterable[Expectation]) -> list[Expectation]:
    """Return one of each server and client: that of the newest version."""
    found: dict[str, Expectation] = {}
    for one in sorted(expectations, key=lambda one: version_order(one.version)):
        found[one.kind] = one
    return list(found.values())


SOMETIMES = "sometimes"
"""The outcome of a case that passes or fails by the server's timing."""


def agrees(wanted: str, outcome: str) -> bool:
    """Whether the outcome of a case is the expected one."""
    return outcome == wanted or (wanted == SOMETIMES and outcome in (Outcome.PASS, Outcome.FAIL))


def differences(expected: Expectation, report: Report) -> list[str]:
    """Every way in which a report.json differs from what is expected, one line each."""
    return [
        *_of_the_run(expected, report),
        *_of_requirements(expected, report),
        *_of_cases(expected, report),
    ]


@cache
def _profile_of() -> dict[str, str]:
    return {case.id: case.profile for case in (*suite_cases(), *client_cases())}


def _of_the_run(expected: Expectation, report: Report) -> Iterator[str]:
    target = report.target
    for what, got, wanted in (
        ("server", target.server.name, expected.server),
        ("version", target.server.version, expected.version),
        ("profiles", ", ".join(target.profiles), ", ".join(expected.profiles)),
        ("absent models", ", ".join(target.absent) or "none", "none"),
        ("complete", report.complete, True),
    ):
        if got != wanted:
            yield f"{what}: expected {wanted}, got {got}"
    verdict, wanted = priced(report), expected.verdict
    if any(expected.outcome_of(case.id) == SOMETIMES for case in report.of(Outcome.FAIL)):
        verdict, wanted = verdict_words(report), wanted.partition(":")[0]
    if is_whole(report) and verdict != wanted:
        yield f"verdict: expected {wanted}, got {verdict}"


def _of_requirements(expected: Expectation, report: Report) -> Iterator[str]:
    found = {row.id: row.outcome for row in report.requirements}
    failed = [case for case in report.cases if case.outcome is Outcome.FAIL]
    always = {c.requirement for c in failed if expected.outcome_of(c.id) != SOMETIMES}
    by_timing = {case.requirement for case in failed} - always
    for requirement, outcome in found.items():
        wanted = expected.requirements.get(requirement)
        if wanted is None and not expected.implemented and outcome is Outcome.NOT_RUN:
            continue
        if wanted is None:
            yield f"{requirement}: got {outcome}, but {expected.path.name} does not have it"
        elif outcome != wanted and not (
            (wanted, outcome) == (Outcome.PASS, Outcome.FAIL) and requirement in by_timing
        ):
            yield f"{requirement}: expected {wanted}, got {outcome}"
    for requirement in expected.requirements.keys() - found.keys():
        yield f"{requirement}: {expected.path.name} has it, the report does not"


def _of_cases(expected: Expectation, report: Report) -> Iterator[str]:
    idle = set(expected.cases)
    for case in report.cases:
        pattern = next((p for p in expected.cases if matches(case.id, p)), None)
        if not (expected.implemented or case.exchanges) and case.outcome in SKIPPED:
            continue
        if pattern is None:
            wanted = "pass" if _profile_of().get(case.id) in expected.profiles else "unsupported"
        else:
            wanted = expected.cases[pattern]
            idle.discard(pattern)
        if not agrees(wanted, case.outcome):
            yield f"{case.id}: expected {wanted}, got {case.outcome} {case.message[:160]}"
    for pattern in sorted(idle):
        yield f"{pattern}: matches no case of the report"
