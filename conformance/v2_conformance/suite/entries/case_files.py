"""cases/*.yaml → concrete cases with stable ids.

A case file says what is sent and what must come back, as data. Axes expand one entry into many, in
the order in which the file lists them; the id is REQUIREMENT/slug[labels of the axes' values].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from v2_conformance.errors import CaseFileError
from v2_conformance.own_files import own_names
from v2_conformance.suite.cases import ROUNDS, Case, GetCase, ObservedCase, RequestCase
from v2_conformance.suite.choosing.selection import asked_for
from v2_conformance.suite.entries.axes import expand, load_entries, own_entries
from v2_conformance.suite.entries.varied_cases import vary
from v2_conformance.suite.models import contract
from v2_conformance.suite.requirements import catalogue

_EXACT = {"outcome": "success", "outputs": "any"}
_NOT_CASES = {
    "generated_requests.yaml",
    "models.yaml",
    "relations.yaml",
    "requirements.yaml",
    "statements.yaml",
    "variations.yaml",
}


def load_cases(directory: Path | None = None, *, large: bool = False) -> list[Case]:
    """Return every case of `directory` (default: the suite's own).

    `directory` can also be one file. Large cases are left out unless asked for.

    Raises CaseFileError, with file and line, for whatever is not a valid, unique case.
    """
    if directory is None:
        names = (name for name in own_names() if "/" not in name and name not in _NOT_CASES)
        cases = own_entries(names, "case", _case)
        return asked_for(_with_last(cases), large=large)
    if not directory.exists():
        raise CaseFileError(f"{directory}: there is no such file or folder of cases")
    files = sorted(path for path in directory.glob("*.yaml") if path.name not in _NOT_CASES)
    files = [directory] if directory.is_file() else files
    if not files:
        raise CaseFileError(f"{directory}: it has no case files (*.yaml)")
    with_last = _with_last(load_entries(files, "case", _case))
    return asked_for(with_last, large=large)


def _with_last(cases: Sequence[Case]) -> list[Case]:
    """`cases`, of which each knows whether it is the last negative one of its requirement."""
    negative = [c for c in cases if c.negative and not (c.dangerous or c.large)]
    last = {case.requirement: case.id for case in negative}
    others = {case.id for case in negative} - set(last.values())
    return [
        replace(case, last_negative=False)
        if isinstance(case, RequestCase) and case.id in others
        else case
        for case in cases
    ]


def make_case(entry: Mapping[str, Any]) -> Case:
    """The case of one entry without axes that is valid by its schema. Raises CaseFileError."""
    (case,) = expand(entry, "case", _case)
    return case


def _case(requirement: str, entry: Mapping[str, Any], labels: str) -> Case:
    known = catalogue()[requirement]
    model = entry.get("model")
    if model is not None and model not in contract():
        raise CaseFileError(f"{entry['id']}: the contract has no model role {model!r}")
    profile = entry.get("profile", known.profile)
    if model is not None and profile == "binary":
        profile = contract()[model].profile
    common: dict[str, Any] = {
        "id": entry["id"] + labels,
        "requirement": requirement,
        "why": " ".join(entry["why"].split()),
        "level": entry.get("level", known.level),
        "profile": profile,
        "expect": entry.get("expect", {"outcome": "success"}),
        "blocks": entry.get("blocks"),
        "dangerous": entry.get("dangerous", False),
        "large": entry.get("large", False),
    }
    if "observed" in entry:
        return ObservedCase(**common, observed=entry["observed"])
    if model is None:
        return GetCase(**common, path=entry["get"])
    canary = entry.get("canary")
    case = RequestCase(
        **common,
        model=model,
        request=entry.get("request", {}),
        canary="binary" if canary is True else canary,
        together=entry.get("together", 1),
        rounds=entry.get("rounds", ROUNDS),
    )
    case = _with_others(case, entry)
    names = entry.get("variations", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise CaseFileError(f"{entry['id']}: `variations` must be a list of names")
    if case.next and "pipelined" not in names:
        raise CaseFileError(f"{case.id}: `next` requires the variation pipelined")
    try:
        return vary(case, names)
    except CaseFileError as error:
        raise CaseFileError(f"{case.id}: {error}") from error


def _with_others(case: RequestCase, entry: Mapping[str, Any]) -> RequestCase:
    """The case with the requests that go before it, beside it or behind it."""
    if entry.keys().isdisjoint(("first", "members", "next")):
        return case
    first = entry.get("first")
    before = _other(case, first, {"outcome": "survives"}) if first is not None else None
    beside = [_other(case, item, case.expect) for item in entry.get("members", [])]
    behind = tuple(_other(case, item, _EXACT) for item in entry.get("next", []))
    ids = [one.request.get("id") for one in (case, *([before] if before else []), *beside)]

    def knowing(one: RequestCase) -> RequestCase:
        foreign = sorted({str(id) for id in ids if id not in (None, one.request.get("id"))})
        return replace(one, foreign_ids=tuple(foreign))

    known = knowing(case)
    return replace(known, first=before, members=tuple(map(knowing, beside)), next=behind)


def _other(case: RequestCase, given: Mapping[str, Any], expect: Mapping[str, Any]) -> RequestCase:
    """Another request that belongs to `case`, to its model unless it names another one."""
    role = given.get("model", case.model)
    if role not in contract():
        raise CaseFileError(f"{case.id}: the contract has no model role {role!r}")
    return RequestCase(
        id=case.id,
        requirement=case.requirement,
        why=case.why,
        level=case.level,
        profile=case.profile,
        blocks=case.blocks,
        expect=given.get("expect", expect),
        model=role,
        request=given["request"],
        times=given.get("times", 1),
    )
