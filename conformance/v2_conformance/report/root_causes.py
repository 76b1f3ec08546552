"""Root causes of a run's failures: few of them, each with all the failures that it explains. Pure.

One defect fails many cases. Failures with the same status and error text are one cause. If all
requests that fail so have something in common that right ones lack, that is the cause
(`properties`). What is left belongs together if the typed causes are the same finding and one
requirement explains the others: the finding is about it (`findings` in requirements.yaml), or it is
a prerequisite of theirs (`prerequisite_of`), or theirs only combine what others test alone
(`combines`). Of several requirements, the one is named that the finding shows or is about, else the
one whose failure would look most like this run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

from v2_conformance.report.failures import (
    JudgedCase,
    caused_elsewhere,
    finding_with,
    gravest,
    harm_of,
    reading,
    unhandled_error,
)
from v2_conformance.report.properties import Having, Property, Right, having
from v2_conformance.suite.causes.kinds import KilledBy
from v2_conformance.suite.outcomes import FAILED, HARMS, Harm, Outcome
from v2_conformance.suite.requirements import BLOCKS, GRADES, Requirement, catalogue

# Fewer of a requirement's cases fail: a corner of it, which says nothing of what needs it.
_BROKEN = Fraction(1, 3)
# What is wrong with malformed requests says nothing of what right ones have.
_OF_MALFORMED = frozenset(
    ["accepted_invalid_request", "answered_exactly", "wrong_error_status", "invalid_error_body"]
)
# What is answered by no words at all may be malformed, too.
_DEATHS = frozenset(
    ["did_not_survive", "did_not_survive_on_same_connection", "hung", "no_response"]
)
# Only some cases ask for these, so others that pass do not show that they are right.
_ASKED = frozenset(["wrong_id", "wrong_model_name", "wrong_content_type", "wrong_field"])
# A client that sends as JSON what its caller wants as a blob cannot send what JSON cannot say.
_UNSAYABLE = ("no_request", "wrong_form")
# A client's requests say nothing of the answers that it cannot read.
_CLIENTS = "K"

Case = TypeVar("Case", bound=JudgedCase)


@dataclass(frozen=True)
class CauseGroup(Generic[Case]):
    """One cause: the requirement that it is about, and everything that it explains.

    `finding` is the kind of the typed cause. `cases` are the failures, those of the requirement
    itself first; `requirements` are theirs, in the same order. `harm` is what a user loses, None if
    the catalogue does not say it. `waiting` are the cases that did not run because one of these
    killed what they need. `shared` says what its requests have in common, "" for nothing.
    """

    requirement: str
    finding: str
    cases: tuple[Case, ...]
    requirements: tuple[str, ...]
    waiting: tuple[Case, ...]
    harm: Harm | None
    shared: str

    @property
    def grade(self) -> str:
        """The strictest grade of its failures."""
        return GRADES[gravest(self.cases)]


def root_causes(cases: Iterable[Case]) -> tuple[CauseGroup[Case], ...]:
    """Return the causes of all failures, then of all cases without a result, each as
    in `_order`."""
    all_cases = list(cases)
    waiting: dict[str, list[Case]] = {}
    for case in all_cases:
        if case.outcome is Outcome.NOT_RUN and isinstance(case.cause, KilledBy):
            waiting.setdefault(case.cause.case, []).append(case)
    failed = [case for case in all_cases if case.outcome in FAILED]
    unclear = [case for case in all_cases if case.outcome is Outcome.INCONCLUSIVE]
    passed = [case for case in all_cases if case.outcome is Outcome.PASS]
    total = Counter(case.requirement for case in (*failed, *passed))
    right = Right((_entry(case), case.exchanges) for case in passed)
    return tuple(
        group
        for some in (failed, unclear)
        for group in _Grouping(some, total, waiting, right).groups()
    )


@dataclass(frozen=True, order=True)
class _Key:
    """A requirement that fails in one way: failures with one `text`, unless "", are one cause."""

    requirement: str
    finding: str
    text: str


class _Grouping(Generic[Case]):
    """Groups some cases, of requirements that have `total` cases with a clear outcome."""

    def __init__(
        self,
        cases: Sequence[Case],
        total: Counter[str],
        waiting: dict[str, list[Case]],
        right: Right,
    ) -> None:
        self._waiting = waiting
        self._right = right
        self._known = catalogue()  # a report of another version may have others
        self._place = {name: place for place, name in enumerate(self._known)}
        self._own: dict[_Key, list[Case]] = {}
        self._shown: set[_Key] = set()
        elsewhere = caused_elsewhere(cases)
        crashes = [case.cause for case in cases if unhandled_error(case.cause)]
        for case in sorted(cases, key=lambda case: case.id in elsewhere):
            cause = None if case.cause is None else case.cause.root
            shown = None if cause is None else cause.shows
            name = shown or elsewhere.get(case.id, case.requirement)
            text = reading(case) if cause is not None and cause.telling else ""
            key = _Key(name, finding_with(crashes, case.cause), text)
            self._own.setdefault(key, []).append(case)
            self._shown.update([key] if shown else [])
        self._failing = {key.requirement for key in self._own}
        self._share = {
            key: Fraction(len(cases), max(len(cases), total[key.requirement]))
            for key, cases in self._own.items()
        }
        self._owned = {key.finding for key in self._own if self._is_about(key)}
        self._alike: dict[tuple[str, str], list[_Key]] = {}
        self._texts: dict[tuple[str, str], list[str]] = {}
        for key in self._own:
            self._alike.setdefault((key.finding, key.text), []).append(key)
            self._texts.setdefault((key.requirement, key.finding), []).append(key.text)
        self._would = {key: self._would_fail(key, total) for key in self._own}

    def groups(self) -> list[CauseGroup[Case]]:
        found = list(self._with_something_shared())
        taken = {key for _, keys, _ in found for key in keys}
        by_finding: dict[str, list[_Key]] = {}
        for key in self._own:
            if key not in taken:
                by_finding.setdefault(self._grouped_as(key), []).append(key)
        for finding, left in by_finding.items():
            right = finding not in _OF_MALFORMED | _DEATHS
            while left:
                root = min(left, key=self._ranking(left))
                keys = [key for key in left if key == root or self._explains(root, key)]
                left = [key for key in left if key not in keys]
                plain = right and any(all(r.plain for r in one) for one in self._having(keys))
                found.append((root, keys, "even plain requests" if plain else ""))
        groups = [(root, self._group(root, keys, words)) for root, keys, words in found]
        groups.sort(key=lambda pair: self._order(*pair))
        return [group for _, group in groups]

    def _grouped_as(self, key: _Key) -> str:
        """Return what a key is grouped with: mostly its finding."""
        if self._requirement(key) is None:  # nothing is known about it
            return repr(key)
        unsent, in_json = _UNSAYABLE
        forms = [form for form in self._own if form.finding == in_json and key.finding == unsent]
        needed = any(key.requirement in self._would[form] for form in forms)
        return in_json if needed else key.finding

    def _with_something_shared(self) -> Iterator[tuple[_Key, list[_Key], str]]:
        """Yield what fails, or fails in one way, if all its requests have what right ones lack."""
        left = {key for key in self._own if key.finding not in _OF_MALFORMED}
        together: dict[tuple[str, ...], list[_Key]] = {}
        for key in sorted(left):
            way = (key.finding, key.text)
            for length in range(3):
                together.setdefault(way[:length], []).append(key)
        for keys in (together[way] for way in sorted(together, key=len)):
            if left.issuperset(keys):
                entries = {_entry(case) for key in keys for case in self._own[key]}
                asked = _ASKED.issuperset(key.finding for key in keys)
                shared = self._right.lack(self._having(keys), entries if asked else None)
                if shared:
                    # No right answer has it, so it explains whatever else fails with it.
                    keys = [key for key in left if self._all_have(shared, key)]
                    left.difference_update(keys)
                    rank = self._ranking(keys, {row.requirement for row in shared})
                    words = " and ".join(row.words for row in shared)
                    yield min(keys, key=rank), sorted(keys), f"requests {words}"

    def _having(self, keys: Iterable[_Key]) -> list[Having]:
        cases = (case for key in keys for case in self._own[key])
        return list(having(case.exchanges for case in cases if case.requirement[0] != _CLIENTS))

    def _all_have(self, shared: Collection[Property], key: _Key) -> bool:
        found = self._having([key])
        return bool(found) and all(one.issuperset(shared) for one in found)

    def _group(self, root: _Key, taken: list[_Key], shared: str) -> CauseGroup[Case]:
        taken = [root, *(key for key in taken if key != root)]
        cases = [case for key in taken for case in self._own[key]]
        names = (*(key.requirement for key in taken), *(case.requirement for case in cases))
        return CauseGroup(
            root.requirement,
            root.finding,
            tuple(cases),
            tuple(dict.fromkeys(names)),
            tuple(other for case in cases for other in self._waiting.get(case.id, ())),
            _worst_harm(self._own[root]) or _worst_harm(cases),
            shared,
        )

    def _requirement(self, key: _Key) -> Requirement | None:
        return self._known.get(key.requirement)

    def _is_about(self, key: _Key) -> bool:
        known = self._requirement(key)
        return known is not None and key.finding in known.findings

    def _combines(self, key: _Key) -> bool:
        known = self._requirement(key)
        return known is not None and known.combines

    def _is_foreign(self, key: _Key) -> bool:
        """Return True if the finding is not about the requirement."""
        return key.finding in self._owned and not self._is_about(key)

    def _needs(self, key: _Key) -> Collection[str]:
        known = self._requirement(key)
        return () if known is None else known.prerequisite_of

    def _would_fail(self, key: _Key, total: Counter[str]) -> frozenset[str]:
        """Return the requirements that fail if that of `key` is the cause."""
        would = {key.requirement}
        if self._share[key] > _BROKEN:
            would.update(name for name in self._needs(key) if total[name])
        for text in self._texts[key.requirement, key.finding]:
            for other in self._alike[key.finding, text]:
                if text or (self._combines(other) and not self._combines(key)):
                    would.add(other.requirement)
        return frozenset(would)

    def _explains(self, root: _Key, key: _Key) -> bool:
        # What the root needs fails there, too, where it happens to use what is broken.
        return (
            self._is_foreign(key)
            or key.requirement in self._would[root]
            or root.requirement in self._needs(key)
        )

    def _ranking(
        self, left: Sequence[_Key], about: Collection[str] = ()
    ) -> Callable[[_Key], tuple[object, ...]]:
        """Ranks what is left: what the finding shows, or what is `about` what is shared; then what
        blocks most, whose failure would look most like what fails, has most cases, and fails in the
        narrowest corner."""
        failing = frozenset(key.requirement for key in left if not self._is_foreign(key))
        few = sum(len(self._own[key]) for key in left) // 4

        def rank(key: _Key) -> tuple[object, ...]:
            would = self._would[key]
            return (
                key not in self._shown or len(self._own[key]) < few,
                self._is_foreign(key),
                key.requirement not in about,
                bool(key.text or about) and self._combines(key),
                gravest(self._own[key]),
                # How a telling one reads is all the likeness that it needs.
                -1 if key.text else -Fraction(len(would & self._failing), len(would | failing)),
                -len(failing.intersection(self._needs(key))) if key.text else 0,
                -len(self._own[key]),
                self._share[key],
                *self._catalogued(key),
            )

        return rank

    def _order(self, root: _Key, group: CauseGroup[Case]) -> tuple[object, ...]:
        """Return the sort key: what blocks most of the verdict comes first, then what harms most,
        then what explains most; of two that explain as much, the narrower corner."""
        blocking = min(gravest((*group.cases, *group.waiting)), len(BLOCKS))
        return (
            blocking,
            gravest(group.cases),
            len(HARMS) if group.harm is None else HARMS.index(group.harm),
            root not in self._shown,
            self._is_foreign(root),
            -len(group.requirements),
            -len(group.cases) - len(group.waiting),
            self._share[root],
            *self._catalogued(root),
        )

    def _catalogued(self, key: _Key) -> tuple[object, ...]:
        return self._place.get(key.requirement, len(self._place)), key


def _worst_harm(cases: Sequence[JudgedCase]) -> Harm | None:
    shown = [harm for case in cases if (harm := harm_of(case)) is not None]
    return min(shown, key=HARMS.index, default=None)


def _entry(case: JudgedCase) -> str:
    """Return the entry of the case files that a case is of."""
    return case.id.partition("[")[0]
