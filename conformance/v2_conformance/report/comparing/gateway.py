"""gateway.json as types: two reports of one server, directly and through a gateway, compared.

Made of the two reports alone, so anybody who has them can make it again
(`v2-conformance gateway DIRECT THROUGH`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from v2_conformance.errors import ReportFileError
from v2_conformance.report.causes.patterns import same_failure
from v2_conformance.report.comparing.proxy_signs import ProxySign, proxy_signs
from v2_conformance.report.comparing.through import (
    Change,
    Pair,
    Property,
    changes,
    compared,
    pair,
)
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.report.document_part import Part
from v2_conformance.report.tested import ServerInfo, SuiteInfo
from v2_conformance.report.verdict.standing import standing
from v2_conformance.suite.causes.base import Count, counted, describe
from v2_conformance.suite.outcomes import Outcome, Told
from v2_conformance.suite.requirements import Blocks, Level, grade

_WORKS = (Outcome.PASS, Outcome.DISPUTED)
_FAILS = (Outcome.FAIL, Outcome.FLAKY)
_MOST_WORDS = 300


class Effect(Told):
    """The effect of a gateway on a case, in the order of interest to readers."""

    BROKEN = ("broken", "Broken: works directly, not through the gateway")
    HIDDEN = ("hidden", "Hidden: fails directly, but not through the gateway")
    MENDED = ("mended", "Mended: fails directly, works through the gateway")
    CHANGED = ("changed", "Changed: another answer, with the same or no effect on the case")
    KEPT = ("kept", "Kept: the same through the gateway")


class Transparency(Told):
    """The conclusion on a gateway: if the extension works through it as it does without."""

    TRANSPARENT = ("transparent", "Through this gateway, the extension works as it does without.")
    NOT_TRANSPARENT = ("not transparent", "This gateway changes what the extension needs.")
    UNDECIDED = ("undecided", "These runs show no loss, but they do not show enough.")


class Side(Part, frozen=True):
    """One of the two runs; `digest` is that of its report, "" if it has none."""

    url: str
    server: ServerInfo
    verdict: Annotated[str, Meta(description="Its verdict in words.")]
    complete: bool
    digest: str


class PropertyResult(Part, frozen=True):
    """How one property fares in the cases that show it."""

    name: Property
    shown: Annotated[Count, Meta(description="Number of cases that show the property.")]
    changed: Annotated[Count, Meta(description="Number of cases in which it is not kept.")]
    first: Annotated[str, Meta(description="The first of those; empty if there is none.")] = ""
    how: Annotated[tuple[Change, ...], Meta(description="The ways in which it is not kept.")] = ()

    @property
    def state(self) -> Literal["kept", "not kept", "not shown"]:
        """The result; *not shown* if the direct run has nothing that could be kept."""
        if self.changed:
            return "not kept"
        return "kept" if self.shown else "not shown"

    @property
    def words(self) -> str:
        """The state with numbers."""
        if self.changed:
            return f"not kept in {self.changed} of {self.shown} cases"
        return f"kept in {self.shown} cases" if self.shown else "no case of the direct run shows it"


class CaseEffect(Part, frozen=True):
    """The gateway's effect on one case; `words` say why it has its outcome through the gateway."""

    id: str
    requirement: str
    level: Level
    effect: Effect
    direct: Outcome
    through: Outcome
    changes: tuple[Change, ...]
    answered_by_gateway: bool
    words: str
    blocks: Blocks | None = None

    @property
    def grade(self) -> str:
        """The level and what a failure blocks, as people read it."""
        return grade(self.level, self.blocks)

    @property
    def outcomes(self) -> str:
        """Its outcomes directly and through the gateway."""
        if self.direct is self.through:
            return f"{self.direct.words} both ways"
        return f"{self.direct.words} -> {self.through.words}"

    @property
    def what_changed(self) -> str:
        """The changes that the gateway made, and the words in which the case fails there."""
        changes = "; ".join(change.words for change in self.changes)
        return ": ".join(part for part in (changes, self.words) if part)


class GatewayReport(Part, frozen=True, kw_only=True):
    """The effects of a gateway on the extension. `cases` has those that are not kept."""

    suite: SuiteInfo
    direct: Side
    through: Side
    transparency: Transparency
    reasons: Annotated[
        tuple[str, ...], Meta(description="Why it is not transparent, or undecided.")
    ]
    properties: tuple[PropertyResult, ...]
    effects: Annotated[
        dict[Effect, Annotated[int, Meta(ge=1)]],
        Meta(
            description="Effect to the number of cases that have it.",
            extra_json_schema={"propertyNames": {"$ref": "#/$defs/Effect"}},
        ),
    ]
    cases: tuple[CaseEffect, ...]
    signs: Annotated[
        tuple[ProxySign, ...], Meta(description="What betrays the gateway in its own answers.")
    ]
    direct_signs: Annotated[
        tuple[ProxySign, ...],
        Meta(description="What betrays one in the direct run, which then was none."),
    ] = ()

    def of(self, effect: Effect) -> list[CaseEffect]:
        """The cases with one effect, in the report's order."""
        return [case for case in self.cases if case.effect is effect]

    @property
    def counts(self) -> str:
        """The number of cases with each effect."""
        return ", ".join(f"{self.effects.get(effect, 0)} {effect}" for effect in Effect)


def compare_sides(direct: Report, through: Report) -> GatewayReport:
    """Return what the gateway of the second report does to the server of the first.

    Raises ReportFileError if the two are not of the same cases, so that nothing can be compared.
    """
    _check(direct, through)
    found = [
        (one, other, pair(one, other))
        for one in direct.cases
        if (other := through.case(one.id)) is not None
    ]
    effects = [_effect(*item) for item in found]
    properties = tuple(_properties(found))
    reasons = tuple(_reasons(properties, effects))
    doubts = tuple(_doubts(direct, through, properties))
    if reasons:
        transparency = Transparency.NOT_TRANSPARENT
    else:
        transparency = Transparency.UNDECIDED if doubts else Transparency.TRANSPARENT
    return GatewayReport(
        suite=direct.suite,
        direct=_side(direct),
        through=_side(through),
        transparency=transparency,
        reasons=reasons or doubts,
        properties=properties,
        effects=dict(sorted(Counter(case.effect for case in effects).items())),
        cases=tuple(case for case in effects if case.effect is not Effect.KEPT),
        signs=proxy_signs(through),
        direct_signs=proxy_signs(direct),
    )


def _check(direct: Report, through: Report) -> None:
    if direct.suite.catalogue != through.suite.catalogue:
        raise ReportFileError(
            "the two reports are of different versions of the cases "
            f"({direct.suite.catalogue} and {through.suite.catalogue}): run both with the same one"
        )
    if direct.target.profiles != through.target.profiles or direct.selection != through.selection:
        raise ReportFileError(
            "the two reports are of different profiles or cases: run both with the same options"
        )


def _side(report: Report) -> Side:
    return Side(
        report.target.url,
        report.target.server,
        standing(report).words,
        report.complete,
        "" if report.integrity is None else report.integrity.digest,
    )


def _effect(direct: CaseResult, through: CaseResult, both: Pair | None) -> CaseEffect:
    changed = () if both is None else tuple(change for change, _ in changes(both))
    answered = both is not None and both.answered_by_gateway
    return CaseEffect(
        direct.id,
        direct.requirement,
        direct.level,
        _kind(direct, through, changed=bool(changed), answered=answered),
        direct.outcome,
        through.outcome,
        changed,
        answered,
        describe(through.cause)[:_MOST_WORDS],
        direct.blocks,
    )


def _kind(direct: CaseResult, through: CaseResult, *, changed: bool, answered: bool) -> Effect:
    was, now = direct.outcome, through.outcome
    if was in _WORKS and now not in _WORKS:
        return Effect.BROKEN
    if was in _FAILS and now in _WORKS:
        return Effect.HIDDEN if answered else Effect.MENDED
    if was in _FAILS and now not in _FAILS:
        return Effect.HIDDEN
    same = was is now and (now not in _FAILS or same_failure(direct.cause, through.cause))
    return Effect.KEPT if same and not changed else Effect.CHANGED


def _properties(
    found: Iterable[tuple[CaseResult, CaseResult, Pair | None]],
) -> Iterator[PropertyResult]:
    shown: Counter[Property] = Counter()
    broken: dict[Property, dict[str, list[Change]]] = {}
    for case, _, both in found:
        if both is None:
            continue
        differing = [(change, kind) for change, kind in changes(both)]
        shown.update({*compared(both), *(kind for _, kind in differing if kind is not None)})
        for change, kind in differing:
            if kind is None:
                continue
            broken.setdefault(kind, {}).setdefault(case.id, []).append(change)
    for kind in Property:
        cases = broken.get(kind, {})
        how = dict.fromkeys(change for each in cases.values() for change in each)
        yield PropertyResult(kind, shown[kind], len(cases), next(iter(cases), ""), tuple(how))


def _reasons(properties: Iterable[PropertyResult], cases: Iterable[CaseEffect]) -> Iterator[str]:
    for row in properties:
        if row.changed:
            yield f"{row.name} not kept in {counted(row.changed, 'case')}"
    broken = sum(case.effect is Effect.BROKEN and case.level == "MUST" for case in cases)
    if broken:
        yield f"{counted(broken, 'case')} of MUST requirements broken"


def _doubts(direct: Report, through: Report, properties: Iterable[PropertyResult]) -> Iterator[str]:
    for name, report in (("direct run", direct), ("run through the gateway", through)):
        if not report.complete:
            yield f"the {name} is incomplete"
    unclaimed = {Property.EARLY_REJECTION}  # no server has to reject early
    if not any(name.startswith("compression") for name in direct.target.profiles):
        unclaimed.add(Property.CODING)
    for row in properties:
        if not row.shown and row.name not in unclaimed:
            yield f"no case shows: {row.name}"
    left = sum(through.case(case.id) is None for case in direct.cases)
    if left:
        yield f"{counted(left, 'case')} of the direct run did not run through the gateway"


def gateway_json(report: GatewayReport) -> bytes:
    """The content of gateway.json."""
    return msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n"
