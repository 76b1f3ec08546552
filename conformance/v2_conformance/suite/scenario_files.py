"""cases/clients/*.yaml → scenarios for clients, with stable ids as all cases have.

A scenario says what a client is asked for, how it is answered and what is expected of it, as data
(schemas/scenario.schema.json).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from v2_conformance.errors import CaseFileError
from v2_conformance.own_files import own_names
from v2_conformance.suite.case_files import load_entries, own_entries
from v2_conformance.suite.cases import ClientCase, Expects, ObservedCase
from v2_conformance.suite.models import contract
from v2_conformance.suite.requirements import catalogue

_OUTCOMES: Mapping[str, Expects] = {"exact": "success", "error": "reject", "refused": "reject"}


def load_scenarios(path: Path | None = None) -> list[ClientCase | ObservedCase]:
    """Return every scenario of `path`, a file or a folder of them (default: the suite's own).

    Raises CaseFileError, with file and line, for whatever is not a valid, unique scenario.
    """
    if path is None:
        names = (name for name in own_names() if name.startswith("clients/"))
        return own_entries(names, "scenario", _scenario)
    return load_entries(path, "scenario", _scenario)


def _scenario(requirement: str, entry: Mapping[str, Any], labels: str) -> ClientCase | ObservedCase:
    known = catalogue()[requirement]
    common: dict[str, Any] = {
        "id": entry["id"] + labels,
        "requirement": requirement,
        "why": " ".join(entry["why"].split()),
        "level": entry.get("level", known.level),
        "profile": entry.get("profile", known.profile),
        "blocks": entry.get("blocks"),
    }
    if "observed" in entry:
        return ObservedCase(**common, expect={"outcome": "success"}, observed=entry["observed"])
    asked = entry.get("requests", [entry.get("request")])
    requests = tuple(_request(entry, number, item) for number, item in enumerate(asked))
    return ClientCase(
        **common,
        expect={"outcome": _outcome(requests)},
        requests=requests,
        timeout_s=entry.get("timeout_s"),
    )


def _request(entry: Mapping[str, Any], number: int, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request of a scenario, with the answer and the expectation that hold for it."""
    what = f"{entry['id']}: request {number}"
    expect = asked.get("expect", entry.get("expect"))
    if expect is None:
        raise CaseFileError(f"{what}: nothing is expected of it (`expect`)")
    reading = expect.get("reading", "any")
    if "error" in expect and reading != "error":
        raise CaseFileError(f"{what}: `expect.error` needs `reading: error`")
    judged = {"request", "error", "members", "most_requests"} & set(expect)
    if reading == "any" and not judged:
        raise CaseFileError(f"{what}: `reading: any` needs something else that is judged")
    inputs = asked.get("inputs", [])
    if asked.get("model") not in contract():
        for place, item in enumerate([inputs["each"]] if isinstance(inputs, dict) else inputs):
            if not {"name", "datatype"} <= set(item):
                raise CaseFileError(
                    f"{what}: cases/models.yaml has no role {asked.get('model')!a:.60}, so input "
                    f"{place} needs `name` and `datatype`"
                )
    return {**asked, "expect": expect, "answer": asked.get("answer", entry.get("answer", {}))}


def _outcome(requests: tuple[Mapping[str, Any], ...]) -> Expects:
    """Return what the user of the client gets of the whole, in the words of all cases."""
    readings = {_OUTCOMES.get(one["expect"].get("reading", "any"), "either") for one in requests}
    return readings.pop() if len(readings) == 1 else "either"
