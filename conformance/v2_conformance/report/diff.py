"""`diff OLD NEW`: what changed between two reports, and whether server or suite changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from v2_conformance.report.expectations import HARMLESS
from v2_conformance.report.summary import verdict_words
from v2_conformance.terminal_safe_text import normalised

FIXED, BROKEN, NEW, GONE, CHANGED = "fixed", "broken", "new", "gone", "changed"
KINDS = (BROKEN, FIXED, NEW, GONE, CHANGED)
_UNCLAIMED = "unsupported"


@dataclass(frozen=True)
class Change:
    """A case that is not as it was.

    `before` and `after` are outcomes, "" where the report does not have the case. `level` and
    `message` are the newer ones. `other_case` is whether it sends or expects something else under
    its id now; None where the reports cannot tell.
    """

    kind: str
    id: str
    level: str
    before: str
    after: str
    message: str
    other_case: bool | None

    @property
    def worse(self) -> bool:
        """Whether it is a failure that was not there before."""
        return self.kind == BROKEN or (self.kind == NEW and self.after not in HARMLESS)


@dataclass(frozen=True)
class RequirementChange:
    """A requirement whose outcome or level is not as it was; "" where a report lacks it."""

    id: str
    title: str
    before: str
    after: str


@dataclass(frozen=True)
class Difference:
    """Everything that `diff` has to say.

    `notes` are about what was compared: suite, server, what is missing. `verdict` has the words
    before and after. `same` counts the cases that are as they were.
    """

    notes: tuple[str, ...]
    verdict: tuple[str, str]
    verdict_worse: bool
    requirements: tuple[RequirementChange, ...]
    cases: tuple[Change, ...]
    same: int
    complete: bool

    def of(self, kind: str) -> list[Change]:
        """The changes of one kind."""
        return [change for change in self.cases if change.kind == kind]

    def broken(self, *, strict: bool) -> bool:
        """Whether something that counts got worse: MUST, with `strict` SHOULD, the verdict."""
        levels = ("MUST", "SHOULD") if strict else ("MUST",)
        return self.verdict_worse or any(c.worse and c.level in levels for c in self.cases)


def compare(old: Mapping[str, Any], new: Mapping[str, Any]) -> Difference:
    """What is not in `new` as it was in `old`, two report.json documents."""
    before = {case["id"]: case for case in old["cases"]}
    after = {case["id"]: case for case in new["cases"]}
    same_suite = old["suite"] == new["suite"]
    changes = []
    same = 0
    for case_id in dict.fromkeys((*after, *before)):
        change = _change(before.get(case_id), after.get(case_id), same_suite=same_suite)
        if change is None:
            same += 1
        else:
            changes.append(change)
    return Difference(
        tuple(_notes(old, new)),
        (verdict_words(old["verdict"]), verdict_words(new["verdict"])),
        _rank(new) < _rank(old),
        tuple(_requirements(old, new)),
        tuple(changes),
        same,
        new["complete"],
    )


def _change(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, *, same_suite: bool
) -> Change | None:
    case = after or before
    if case is None:
        return None
    was, now = (before or {}).get("outcome", ""), (after or {}).get("outcome", "")
    kind = _kind(was, now)
    if not kind and now not in HARMLESS and before is not None:
        # Still a failure. It may be another one.
        kind = CHANGED if normalised(before["message"]) != normalised(case["message"]) else ""
    if not kind:
        return None
    other = _other_case(before, after, same_suite=same_suite)
    return Change(kind, case["id"], case["level"], was, now, case["message"], other)


def _kind(was: str, now: str) -> str:
    """How two outcomes of a case differ; "" where they do not."""
    if not was:
        return NEW
    if not now:
        return GONE
    if was in HARMLESS and now not in HARMLESS:
        return BROKEN
    # A case that is not claimed any more is not fixed.
    if was not in HARMLESS and now in HARMLESS and now != _UNCLAIMED:
        return FIXED
    return CHANGED if was != now else ""


def _other_case(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, *, same_suite: bool
) -> bool | None:
    if before is None or after is None:
        return False
    if "content" in before and "content" in after:
        return bool(before["content"] != after["content"])
    return False if same_suite else None


def _notes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """What has to be known of the two reports beside what their cases say."""
    for word, report in (("old", old), ("new", new)):
        if not report["complete"]:
            yield f"the {word} report is incomplete: cases that it lacks may not have run"
    yield from _suites(old, new)
    was, now = (_server(report) for report in (old, new))
    yield f"server: {was}" if was == now else f"the server changed: {was} -> {now}"
    was, now = (report["target"]["url"] for report in (old, new))
    if was != now:
        yield f"the reports are of different targets: {was} -> {now}"
    for what in ("profiles", "unsupported"):
        was, now = (", ".join(sorted(r["target"].get(what, ()))) or "none" for r in (old, new))
        if was != now:
            yield f"{what} changed: {was} -> {now}"
    was, now = (", ".join(sorted(r["target"].get("absent", ()))) or "none" for r in (old, new))
    if was != now:
        yield f"models that the server lacks changed: {was} -> {now}"


def _suites(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    versions = [f"{r['suite']['version']} (cases {r['suite']['catalogue']})" for r in (old, new)]
    before = {case["id"]: case.get("content") for case in old["cases"]}
    pairs = [(before[c["id"]], c.get("content")) for c in new["cases"] if c["id"] in before]
    changed = sum(was != now for was, now in pairs if was and now)
    if versions[0] == versions[1]:
        yield f"suite: the same, {versions[0]}"
    else:
        yield f"the suite changed: {versions[0]} -> {versions[1]}"
        if not all(was and now for was, now in pairs):
            yield "a report does not have its cases' digests: whether they changed cannot be told"
    if changed:
        yield f"the cases that send or expect something else under the same id now: {changed}"


def _server(report: Mapping[str, Any]) -> str:
    server = report["target"]["server"]
    return f"{server['name']} {server['version']}"


def _rank(report: Mapping[str, Any]) -> int:
    verdict = report["verdict"]
    return (1 + bool(verdict["robust"])) if verdict["conformant"] else 0


def _requirements(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[RequirementChange]:
    before, after = ({row["id"]: row for row in r["requirements"]} for r in (old, new))
    for requirement in dict.fromkeys((*after, *before)):
        was, now = before.get(requirement, {}), after.get(requirement, {})
        if _state(was) != _state(now):
            title = (now or was).get("title", "")
            yield RequirementChange(requirement, title, _state(was), _state(now))


def _state(row: Mapping[str, Any]) -> str:
    return f"{row['level']} {row['outcome']}" if row else ""
