"""Root causes of a run's failures: few of them, each with all the failures that it explains. Pure.

One defect fails many cases. Failures belong together if their typed causes are the same finding and
one requirement explains the others: the finding is about it (`findings` in requirements.yaml), or
it is a prerequisite of theirs (`prerequisite_of`), or theirs only combine what others test alone
(`combines`), or they read alike and the finding is `telling`. Of several requirements that could be
it, the one whose failure would look most like this run is named: what it explains, compared with
what fails and what does not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Generic, Protocol, TypeVar

from v2_conformance.suite.causes.base import describe
from v2_conformance.suite.causes.causes import Cause, GeneratedFailure, NotKept, finding_of, harm_by
from v2_conformance.suite.causes.kinds import (
    AcceptedInvalidRequest,
    AnsweredExactly,
    KilledBy,
    Rejected,
    WrongStatus,
)
from v2_conformance.suite.outcomes import FAILED, HARMS, Harm, Outcome
from v2_conformance.suite.requirements import BLOCKS, GRADES, catalogue

# Fewer of a requirement's cases fail: a corner of it, which says nothing of what needs it.
_BROKEN = Fraction(1, 3)
# Less of what fails and of what would is the same: that is no sign.
_LIKE = Fraction(1, 2)
_POINTED = "shown by "
# Families of requirements that vary what others are about.
_VARYING = "VX"
# A client that sends as JSON what its caller wants as a blob cannot send what JSON cannot say.
_IN_JSON, _UNSENT = "wrong_form", "no_request"
_NUMBERS = re.compile(r"0x[0-9a-f]+|[0-9]+")


class JudgedCase(Protocol):
    """The parts of a case that grouping reads; `grade` is the case's own."""

    @property
    def id(self) -> str: ...
    @property
    def requirement(self) -> str: ...
    @property
    def grade(self) -> str: ...
    @property
    def outcome(self) -> Outcome: ...
    @property
    def cause(self) -> Cause | None: ...


Case = TypeVar("Case", bound=JudgedCase)


@dataclass(frozen=True)
class CauseGroup(Generic[Case]):
    """One cause: the requirement that it is about, and everything that it explains.

    `finding` is the kind of the typed cause. `cases` are the failures, those of the requirement
    itself first; `requirements` are theirs, in the same order. `harm` is what a user loses, None if
    the catalogue does not say it. `waiting` are the cases that did not
    run because one of these killed what they need.
    """

    requirement: str
    finding: str
    cases: tuple[Case, ...]
    requirements: tuple[str, ...]
    waiting: tuple[Case, ...] = ()
    harm: Harm | None = None

    @property
    def grade(self) -> str:
        """The strictest grade of its failures, which says what they block."""
        return GRADES[_gravest(self.cases)]


def root_causes(
    cases: Iterable[Case], *, of_any_model: bool = False
) -> tuple[CauseGroup[Case], ...]:
    """Return the causes of all failures, then of all cases without a result, each as
    in `_ordered`.

    A run `of_any_model` lacks the cases by which the causes of others are told apart: there what a
    finding `shows` by itself is named first, and failures that read alike are one cause.
    """
    all_cases = list(cases)
    waiting: dict[str, list[Case]] = {}
    for case in all_cases:
        if case.outcome is Outcome.NOT_RUN and isinstance(case.cause, KilledBy):
            waiting.setdefault(case.cause.case, []).append(case)
    failed = [case for case in all_cases if case.outcome in FAILED]
    unclear = [case for case in all_cases if case.outcome is Outcome.INCONCLUSIVE]
    total = Counter(
        case.requirement
        for case in all_cases
        if case.outcome in FAILED
        or (
            case.outcome is Outcome.PASS and not (of_any_model and isinstance(case.cause, Rejected))
        )
    )
    return (
        *_Grouping(failed, total, waiting, of_any_model).groups(),
        *_Grouping(unclear, total, waiting, of_any_model).groups(),
    )


def caused_elsewhere(cases: Iterable[JudgedCase]) -> dict[str, str]:
    """Return the generated failures that repeat the failure of another case, by id, with the
    requirement of that case: the same finding, with the same status and error text, at the same
    grade or a stricter one. They belong to its cause and block nothing of their own.
    """
    failed = [case for case in cases if case.outcome in FAILED]
    generated = [case for case in failed if isinstance(case.cause, GeneratedFailure)]
    others = [case for case in failed if not isinstance(case.cause, GeneratedFailure)]
    repeated = {}
    for case in generated:
        failure, grade = _what_failed(case), _gravest([case])
        same = (one for one in others if _what_failed(one) == failure and _gravest([one]) <= grade)
        first = next(same, None)
        if first is not None:
            repeated[case.id] = first.requirement
    return repeated


@dataclass(frozen=True, order=True)
class _Key:
    """A requirement that fails in one way."""

    requirement: str
    finding: str


class _Grouping(Generic[Case]):
    """Groups some cases, of requirements that have `total` cases with a clear outcome."""

    def __init__(
        self,
        cases: Sequence[Case],
        total: Counter[str],
        waiting: dict[str, list[Case]],
        of_any_model: bool,
    ) -> None:
        self._waiting = waiting
        self._total = total
        self._of_any_model = of_any_model
        self._known = catalogue()  # a report of another version may have others
        self._place = {name: place for place, name in enumerate(self._known)}
        self._by_blobs = {
            what: [known.id for known in self._known.values() if known.blobs == what]
            for what in ("everywhere", "typed")
        }
        self._own: dict[_Key, list[Case]] = {}
        self._pointed: dict[_Key, list[Case]] = {}
        elsewhere = caused_elsewhere(cases)
        for case in sorted(cases, key=lambda case: case.id in elsewhere):
            shown = case.cause.root.shows if of_any_model and case.cause is not None else None
            finding = finding_of(case.cause)
            if shown is not None:
                self._pointed.setdefault(_Key(shown, f"{_POINTED}{finding}"), []).append(case)
                continue
            key = _Key(elsewhere.get(case.id, case.requirement), finding)
            self._own.setdefault(key, []).append(case)
        self._failing = {key.requirement for key in self._own}
        self._share = {
            key: Fraction(len(cases), max(len(cases), total[key.requirement]))
            for key, cases in self._own.items()
        }
        self._owned = {key.finding for key in self._own if self._is_about(key)}
        self._combining: dict[str, set[str]] = {}
        for key in self._own:
            if self._combines(key.requirement):
                self._combining.setdefault(key.finding, set()).add(key.requirement)
        self._common = {key: _common_reading(cases) for key, cases in self._own.items()}
        self._alike: dict[tuple[str, str], set[str]] = {}
        for key, words in self._common.items():
            if words:
                self._alike.setdefault((key.finding, words), set()).add(key.requirement)
        self._would = {key: self._would_fail(key, total) for key in self._own}

    def groups(self) -> list[CauseGroup[Case]]:
        by_finding: dict[str, list[_Key]] = {}
        pairs = []
        for key in self._own:
            if self._known.get(key.requirement) is None:  # nothing is known about it
                pairs.append((key, self._group(key, [key])))
            else:
                by_finding.setdefault(self._grouped_as(key), []).append(key)
        for left in by_finding.values():
            while left:
                rank = self._ranking(left)
                root = min(left, key=rank)
                others = (key for key in left if key != root and self._explains(root, key))
                taken = [root, *others]
                head = self._head(root, taken, rank)
                pairs.append((head, self._group(head, [head, *(k for k in taken if k != head)])))
                left = [key for key in left if key not in taken]
        if self._of_any_model:
            pairs = [*self._pointed_groups(), *self._merged(pairs)]
        pairs = _with_unhandled_errors(pairs)
        pairs.sort(key=lambda pair: self._order(*pair))
        return [group for _, group in pairs]

    def _grouped_as(self, key: _Key) -> str:
        """Return the finding with which a key is grouped, mostly its own."""
        for form in self._own if key.finding == _UNSENT else ():
            if form.finding == _IN_JSON and key.requirement in self._would[form]:
                return _IN_JSON
        return key.finding

    def _pointed_groups(self) -> Iterator[tuple[_Key, CauseGroup[Case]]]:
        """Yield the causes that findings show by themselves, even without a case of theirs."""
        for key, cases in self._pointed.items():
            ordered = sorted(cases, key=partial(self._distance, key))
            self._own[key] = ordered
            self._share[key] = Fraction(1)
            root = replace(
                self._group(key, [key]),
                finding=key.finding.removeprefix(_POINTED),
                requirements=tuple(
                    dict.fromkeys((key.requirement, *(one.requirement for one in ordered)))
                ),
            )
            yield key, root

    def _distance(self, key: _Key, case: Case) -> tuple[bool, bool]:
        return case.requirement != key.requirement, self._varies(case.requirement)

    def _merged(
        self, pairs: Iterable[tuple[_Key, CauseGroup[Case]]]
    ) -> Iterator[tuple[_Key, CauseGroup[Case]]]:
        """Yield the groups; those that read alike are one, that of the plainest requirement."""
        alike: dict[object, list[_Key]] = {}
        for root, group in pairs:
            words = Counter(_reading(case) for case in group.cases)
            keys = [_Key(name, root.finding) for name in group.requirements]
            alike.setdefault((root.finding, words.most_common(1)[0][0]), []).extend(keys)
        for keys in alike.values():
            about = [self._known[key.requirement] for key in keys if self._is_about(key)]
            needed = {name for known in about for name in known.prerequisite_of}

            def rank(key: _Key, needed: Collection[str] = needed) -> tuple[object, ...]:
                return *self._plainness(key, needed), *self._catalogued(key)

            root = self._head(min(keys, key=rank), keys, rank)
            yield root, self._group(root, [root, *(key for key in keys if key != root)])

    def _plainness(self, key: _Key, explained: Collection[str]) -> tuple[object, ...]:
        """Return the sort key of a cause among failures that read alike: first what none of the
        others explains (`explained` are those that one does)."""
        about = self._is_about(key)
        varied = (key.requirement[:1] in _VARYING) + self._combines(key.requirement)
        known = self._known.get(key.requirement)
        # With any model, blobs are at odd offsets only if inputs are listed in another order.
        varied += known is not None and known.blobs == "reordered"
        other = not about and known is not None and bool(known.findings)  # it is about others
        likeness = self._likeness(key, self._failing)
        like = likeness if likeness > _LIKE else 0
        likely = not self._is_misread(key), self._share[key] < 1, -like, -self._share[key]
        explained_by_another = key.requirement in explained
        return varied, not about, explained_by_another, bool(varied) and other, *likely, other

    def _is_misread(self, key: _Key) -> bool:
        """Return True if elements are misread: all blobs give wrong values, or those of BYTES an
        error, wherever they are, whatever the type of the request, and not if there is no blob."""
        known = self._known.get(key.requirement)
        if known is None or known.blobs != "elements" or self._share[key] < 1:
            return False
        everywhere = [name for name in self._by_blobs["everywhere"] if self._total[name]]
        if not everywhere or any(_Key(name, key.finding) not in self._own for name in everywhere):
            return False
        typed = [_Key(name, key.finding) for name in self._by_blobs["typed"]]
        of_bytes = known.datatypes == ("BYTES",)
        refused = of_bytes and all(self._share.get(one, 0) < 1 for one in typed)
        return key.finding == "wrong_value" or refused

    def _group(self, root: _Key, taken: list[_Key]) -> CauseGroup[Case]:
        cases = [case for key in taken for case in self._own[key]]
        names = (*(key.requirement for key in taken), *(case.requirement for case in cases))
        requirements = tuple(dict.fromkeys(names))
        waiting = tuple(other for case in cases for other in self._waiting.get(case.id, ()))
        harm = self._harm(root, cases)
        return CauseGroup(root.requirement, root.finding, tuple(cases), requirements, waiting, harm)

    def _harm(self, root: _Key, taken: Sequence[Case]) -> Harm | None:
        """Return the harm of a cause to a user: the worst that its cases show, its own first."""
        for cases in (self._own[root], taken):
            shown = [harm for case in cases if (harm := harm_of(case)) is not None]
            if shown:
                return min(shown, key=HARMS.index)
        return None

    def _is_about(self, key: _Key) -> bool:
        known = self._known.get(key.requirement)
        return known is not None and key.finding in known.findings

    def _combines(self, name: str) -> bool:
        return name in self._known and self._known[name].combines

    def _is_foreign(self, key: _Key) -> bool:
        """Return True if the finding is not about the requirement."""
        return key.finding in self._owned and not self._is_about(key)

    def _would_fail(self, key: _Key, total: Counter[str]) -> frozenset[str]:
        """Return the requirements that fail if that of `key` is the cause."""
        would = {key.requirement}
        known = self._known.get(key.requirement)
        if known is not None and self._share[key] > _BROKEN:
            would.update(name for name in known.prerequisite_of if total[name])
        if not self._combines(key.requirement):
            would |= self._combining.get(key.finding, frozenset())
        would |= self._alike.get((key.finding, self._common[key]), frozenset())
        return frozenset(would)

    def _explains(self, root: _Key, key: _Key) -> bool:
        if self._combines(key.requirement) and self._is_graver_and_else(key, root):
            return False
        # What the root needs fails there, too, where it happens to use what is broken.
        known = self._known.get(key.requirement)
        needed = known is not None and root.requirement in known.prerequisite_of
        return self._is_foreign(key) or key.requirement in self._would[root] or needed

    def _is_graver_and_else(self, key: _Key, root: _Key) -> bool:
        """Return True if failures block more than those of `root`, none of which reads like them:
        who reads what `root` says would not learn why the verdict is what it is."""
        if _gravest(self._own[key]) >= _gravest(self._own[root]):
            return False
        return {*map(_reading, self._own[key])}.isdisjoint(map(_reading, self._own[root]))

    def _ranking(self, left: Sequence[_Key]) -> Callable[[_Key], tuple[object, ...]]:
        """Ranks what is left of one finding: the cause whose failure would look most like what
        fails, then what has most cases, explains most, and fails in the narrowest corner."""
        names = frozenset(key.requirement for key in left)
        failing = frozenset(key.requirement for key in left if not self._is_foreign(key))

        def rank(key: _Key) -> tuple[object, ...]:
            return (
                self._is_foreign(key),
                # How a telling one reads is all the likeness that it needs.
                -1 if self._common[key] else -self._likeness(key, failing),
                _gravest(self._own[key]) if self._common[key] else 0,
                -len(self._own[key]),
                -len(self._would[key] & names),
                self._share[key],
                *self._catalogued(key),
            )

        return rank

    def _head(
        self, root: _Key, taken: Sequence[_Key], rank: Callable[[_Key], tuple[object, ...]]
    ) -> _Key:
        """Return what a cause is named after: its root, unless that only reads like what it takes
        and blocks less. Then the best of the gravest of these that tests one thing alone."""
        plain = [key for key in taken if not self._varies(key.requirement)]
        worst = min((_gravest(self._own[key]) for key in plain), default=len(GRADES))
        if self._is_about(root) or _gravest(self._own[root]) <= worst:
            return root
        return min((key for key in plain if _gravest(self._own[key]) == worst), key=rank)

    def _varies(self, requirement: str) -> bool:
        return requirement[:1] in _VARYING or self._combines(requirement)

    def _likeness(self, key: _Key, failing: Collection[str]) -> Fraction:
        """Return how much what `key` explains is like what fails: 1 if it is just that."""
        would = self._would[key]
        return Fraction(len(would & self._failing), len(would.union(failing)))

    def _order(self, root: _Key, group: CauseGroup[Case]) -> tuple[object, ...]:
        """Return the sort key: what blocks most of the verdict comes first, then what harms most,
        then what explains most; of two that explain as much, the narrower corner."""
        blocking = min(_gravest((*group.cases, *group.waiting)), len(BLOCKS))
        return (
            blocking,
            _gravest(group.cases),
            len(HARMS) if group.harm is None else HARMS.index(group.harm),
            _gravest(self._own[root]),
            self._is_foreign(root),
            -len(group.requirements),
            -len(group.cases) - len(group.waiting),
            self._share[root],
            *self._catalogued(root),
        )

    def _catalogued(self, key: _Key) -> tuple[object, ...]:
        place = self._place.get(key.requirement, len(self._place))
        return place, key.requirement, key.finding


def harm_of(case: JudgedCase) -> Harm | None:
    """Return what a user loses by a failed case; None if it blocks nothing and shows no harm."""
    # A requirement says what is lost by what blocks something.
    requirement = catalogue().get(case.requirement) if _gravest([case]) < len(BLOCKS) else None
    usual = None if requirement is None else requirement.harm
    return usual if case.cause is None else harm_by(case.cause, usual)


def _gravest(cases: Iterable[JudgedCase]) -> int:
    """Return the place of the strictest grade of some cases, 0 for what blocks most."""
    return min(GRADES.index(case.grade) for case in cases)


def _finding(case: JudgedCase) -> Cause | None:
    return None if case.cause is None else case.cause.root


def unhandled_error(cause: Cause | None) -> WrongStatus | None:
    """Return the first malformed request that exchanges of a run show to be answered with 5xx, as
    if nobody had caught an error; None for any other cause."""
    first = cause.first if isinstance(cause, NotKept) else None
    if isinstance(first, WrongStatus) and first.expected == "4xx" and first.got >= 500:
        return first
    return None


def _with_unhandled_errors(
    pairs: list[tuple[_Key, CauseGroup[Case]]],
) -> list[tuple[_Key, CauseGroup[Case]]]:
    """Return the groups; what only the exchanges show that ended with an unhandled error (the form
    of its body, a close without a word) belongs to that error."""
    crashes = (pair for pair in pairs if any(unhandled_error(case.cause) for case in pair[1].cases))
    crash = next(crashes, None)
    if crash is None:
        return pairs
    root, errors = crash
    whole = [case.cause for case in errors.cases if isinstance(case.cause, NotKept)]

    def is_shown(cause: Cause | None) -> bool:
        return isinstance(cause, NotKept) and any(
            set(cause.cases) <= set(of.cases) and cause.more in (0, of.more) for of in whole
        )

    others = [pair for pair in pairs if pair != crash]
    shown = [pair for pair in others if all(is_shown(case.cause) for case in pair[1].cases)]
    groups = [errors, *(group for _, group in shown)]
    harms = [group.harm for group in groups if group.harm is not None]
    merged = replace(
        errors,
        cases=tuple(case for group in groups for case in group.cases),
        requirements=tuple(dict.fromkeys(name for group in groups for name in group.requirements)),
        waiting=tuple(case for group in groups for case in group.waiting),
        harm=min(harms, key=HARMS.index, default=None),
    )
    return [(root, merged), *(pair for pair in others if pair not in shown)]


def _common_reading(cases: Sequence[JudgedCase]) -> str:
    """Return how most failures of one kind read if that tells them from others, else ""."""
    cause = _finding(cases[0])
    if cause is None or not cause.telling:
        return ""
    return Counter(map(_reading, cases)).most_common(1)[0][0]


def _what_failed(case: JudgedCase) -> object:
    """Return what failures of one cause have in common, whatever the request."""
    cause = _finding(case)
    status = cause.got if isinstance(cause, WrongStatus) else None
    return finding_of(case.cause), status, _reading(case)


def _reading(case: JudgedCase) -> str:
    """Return how a failure reads without its numbers: a server says the same of each request that
    one defect spoils. Values have nothing else to tell them apart, and a request that is answered
    as if it were right is told apart by what it is about."""
    cause = _finding(case)
    if cause is None or finding_of(cause) in _BY_KIND:
        return ""
    answered = isinstance(cause, AcceptedInvalidRequest) and '"outputs"' in cause.body
    if answered or isinstance(cause, AnsweredExactly):
        return case.requirement
    return _NUMBERS.sub("N", describe(cause))


_BY_KIND = frozenset(
    {
        "wrong_value",
        "wrong_form",
        "wrong_id",
        "leftover_bytes",
        "blob_past_body",
        "header_length_not_json",
    }
)
