"""Root causes of a run's failures: few of them, each with all the failures that it explains. Pure.

One defect fails many cases. Failures belong together if their typed causes are the same finding and
one requirement explains the others: the finding is about it (`findings` in requirements.yaml), or
it is a prerequisite of theirs (`prerequisite_of`), or theirs only vary or combine what others test
alone (`varies`, `combines`). The one whose failure would look most like this run is named: what it
explains, compared with what fails and what does not. The same status and error text is always one
cause; so are wrong answers to all requests of some kind, wherever else these are sent, and those of
which many are the answers to other requests.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from v2_conformance.judging.survival import is_of_path
from v2_conformance.report.document import CaseResult
from v2_conformance.report.properties import NO_ID, features_of, mixed_up
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
_NEARLY_ALL = Fraction(9, 10)
_HOSTS = 8  # causes with one finding that others can belong to
_NAME, _HEAD = re.compile(rb'"name": ?"(\w{1,60})"', re.ASCII), 4096
# Values and lengths have nothing but their kind to tell them apart.
_BY_KIND = (
    "wrong_value",
    "wrong_form",
    "wrong_id",
    "leftover_bytes",
    "blob_past_body",
    "header_length_not_json",
)
_OF_ANSWERS = (*_BY_KIND, "wrong_shape")
# What is wrong if the answer is another request's, and what that is called in `findings`.
_OF_OTHERS = ("wrong_value", "wrong_shape", "wrong_datatype")
ANOTHER = "answer_of_another_request"


@dataclass(frozen=True)
class CauseGroup:
    """One cause: the requirement that it is about, and everything that it explains.

    `finding` is the kind of the typed cause. `cases` are the failures, those of the requirement
    itself first; `requirements` are theirs, in the same order. `harm` is what a user loses, None if
    the catalogue does not say it. `waiting` are the cases that could not run because of these.
    """

    requirement: str
    finding: str
    cases: tuple[CaseResult, ...]
    requirements: tuple[str, ...]
    waiting: tuple[CaseResult, ...] = ()
    harm: Harm | None = None

    @property
    def grade(self) -> str:
        """The strictest grade of its failures, which says what they block."""
        return GRADES[_gravest(self.cases)]


def root_causes(
    cases: Iterable[CaseResult], *, of_any_model: bool = False
) -> tuple[CauseGroup, ...]:
    """Return the causes of all failures, then of all cases without a result, each as in `_order`.

    A run `of_any_model` lacks the cases by which the causes of others are told apart: there
    failures that read alike are one cause, and what a finding `shows` by itself is named first.
    """
    all_cases = list(cases)
    waiting: dict[str, list[CaseResult]] = {}
    for case in all_cases:
        if case.outcome is Outcome.NOT_RUN and isinstance(case.cause, KilledBy):
            waiting.setdefault(case.cause.case, []).append(case)
    failed = [case for case in all_cases if case.outcome in FAILED]
    unclear = [case for case in all_cases if case.outcome is Outcome.INCONCLUSIVE]
    wrong = [case for case in failed if finding_of(case.cause) in _OF_OTHERS and not case.reported]
    # The requests to any model are too much alike to tell.
    mixed = () if of_any_model else mixed_up(wrong, all_cases)
    hidden = Rejected if of_any_model else ()  # a rejection shows nothing of answers
    answered = (case for case in all_cases if not isinstance(case.cause, hidden))
    clear = (*FAILED, Outcome.PASS)
    total = Counter(case.requirement for case in answered if case.outcome in clear)
    return (
        *_Grouping(failed, total, waiting, of_any_model, mixed).groups(),
        *_Grouping(unclear, total, waiting, of_any_model).groups(),
    )


def caused_elsewhere(cases: Iterable[CaseResult]) -> dict[str, str]:
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
        if first := next(same, None):
            repeated[case.id] = first.requirement
    return repeated


@dataclass(frozen=True, order=True)
class _Key:
    """A requirement that fails in one way."""

    requirement: str
    finding: str


_Cases = dict[_Key, list[CaseResult]]
"""Some cases by key; the cause that they have is named after the first."""


class _Grouping:
    """Groups some cases, of requirements that have `total` cases with a clear outcome."""

    def __init__(
        self,
        cases: Sequence[CaseResult],
        total: Counter[str],
        waiting: dict[str, list[CaseResult]],
        of_any_model: bool,
        mixed: Collection[str] = (),
    ) -> None:
        self._waiting, self._of_any_model = waiting, of_any_model
        self._known = catalogue()  # a report of another version may have others
        self._blobs = {name: one.blobs for name, one in self._known.items() if total[name]}
        self._own: _Cases = {}
        self._shown: set[_Key] = set()
        elsewhere = caused_elsewhere(cases)
        abouts = Counter(finding for one in self._known.values() for finding in one.findings)
        untouched = total.keys() - {case.requirement for case in cases}
        sole = {
            finding: name
            for name in untouched & self._known.keys()
            for finding in self._known[name].findings
            if abouts[finding] == 1
        }
        mixing = next(name for name, one in self._known.items() if ANOTHER in one.findings)
        for case in sorted(cases, key=lambda case: case.id in elsewhere):
            shown = case.cause.root.shows if of_any_model and case.cause is not None else None
            finding = finding_of(case.cause)
            name = shown or elsewhere.get(case.id) or sole.get(finding, case.requirement)
            if case.id in mixed:
                name, finding = mixing, ANOTHER
            key = _Key(name, finding)
            self._own.setdefault(key, []).append(case)
            self._shown.update([key] if shown else [])
        self._failing = {key.requirement for key in self._own}
        self._share = {
            key: Fraction(len(cases), max(len(cases), total[key.requirement]))
            for key, cases in self._own.items()
        }
        self._owned = {key.finding for key in self._own if self._is_about(key)}
        self._errors = {key: [*map(_error, cases)] for key, cases in self._own.items()}
        levels = {key: self._indirection(key) for key in self._own}
        plain = [key for key in levels if not levels[key]]
        broken = {key.finding for key in plain if self._share[key] > _BROKEN}
        every, failing = ({key.finding for key in keys} for keys in (levels, plain))
        behind = [set(), broken, every, failing]  # by level, the findings that others come first of
        self._indirect = Counter({key: n for key, n in levels.items() if key.finding in behind[n]})
        self._would = {key: self._would_fail(key, total) for key in self._own}

    def groups(self) -> list[CauseGroup]:
        by_finding: dict[object, list[_Key]] = {}
        for key in self._own:
            # A client that sends as JSON what should be a blob cannot send what JSON cannot say.
            is_unsayable = key.finding == "no_request" and any(
                key.requirement in would and other.finding == "wrong_form"
                for other, would in self._would.items()
            )
            finding = "wrong_form" if is_unsayable else key.finding
            words = Counter(self._errors[key] if self._of_any_model else ())
            way = finding, max(sorted(words), key=words.__getitem__, default="")
            by_finding.setdefault(way if key.requirement in self._known else key, []).append(key)
        parts = []
        for left in by_finding.values():
            while left:
                root = min(left, key=self._ranking(left))
                explained = [key for key in left if key != root and self._explains(root, key)]
                parts.append([root, *explained])
                left = [key for key in left if key not in parts[-1]]
        wholes = [{key: self._own[key] for key in keys} for keys in parts]
        wholes.sort(
            key=lambda own: (self._indirect[next(iter(own))], *self._order(self._group(own)))
        )
        causes = sorted(self._by_error(wholes), key=lambda own: self._order(self._group(own)))
        return list(map(self._group, self._folded(causes)))

    def _folded(self, causes: Iterable[_Cases]) -> list[_Cases]:
        """Return the causes, each with those whose answers are wrong in the same way and whose
        requests all have what those of its requirement have in common, which fail nearly always."""
        hosts: dict[str, list[tuple[frozenset[str], _Cases]]] = {}
        kept: list[_Cases] = []
        for own in causes:
            root = next(iter(own))
            able = hosts.setdefault(root.finding, [])
            common = _common(_all(own)) if able else frozenset()
            host = next((one for needed, one in able if needed <= common), None)
            if host is not None:
                for key, cases in own.items():
                    host[key] = [*host.get(key, ()), *cases]
                continue
            kept.append(own)
            always = self._share[root] >= _NEARLY_ALL and not self._indirect[root]
            if always and root.finding in _OF_ANSWERS and len(able) < _HOSTS:
                needed = _common(own[root]) - {NO_ID}  # with an id, a request has the rest, too
                able += [(needed, own)] if needed else []
        return kept

    def _by_error(self, parts: Sequence[_Cases]) -> Iterator[_Cases]:
        """Yield the causes; the same error is one, the first with a case that sends it plainly."""
        rows = [
            (number, key, case, error)
            for number, own in enumerate(parts)
            for key, cases in own.items()
            for case, error in zip(cases, self._errors[key], strict=True)
        ]
        cause_of: dict[str, int | _Key] = {}
        for number, key, _, error in sorted(rows, key=lambda row: self._indirect[row[1]]):
            # An error of variations alone: the first of their part does not explain it.
            apart = self._indirect[key] > self._indirect[next(iter(parts[number]))]
            cause_of.setdefault(error, key if apart else number)
        causes: dict[int | _Key, _Cases] = {
            number: {key: [] for key in own} for number, own in enumerate(parts)
        }
        for number, key, case, error in rows:
            cause = causes.setdefault(cause_of[error] if error else number, {})
            cause.setdefault(key, []).append(case)
        for cause in causes.values():
            if left := {key: cases for key, cases in cause.items() if cases}:
                yield left

    def _group(self, own: _Cases) -> CauseGroup:
        """Return the cause named after the first of these, with the worst harm of its cases."""
        root, cases = next(iter(own)), _all(own)
        names = (*(key.requirement for key in own), *(case.requirement for case in cases))
        return CauseGroup(
            root.requirement,
            root.finding,
            tuple(cases),
            tuple(dict.fromkeys(names)),
            tuple(other for case in cases for other in self._waiting.get(case.id, ())),
            worst_harm(own[root]) or worst_harm(cases),
        )

    def _is_about(self, key: _Key) -> bool:
        known = self._known.get(key.requirement)
        return known is not None and key.finding in known.findings

    def _indirection(self, key: _Key) -> int:
        """Return 1 for what varies others, 2 for what combines them, 3 for both, else 0. What gets
        no answer in a variation may be what no other case sends."""
        known = self._known.get(key.requirement)
        if known is None:
            return 0
        varies = known.varies and not any(is_of_path(case.cause) for case in self._own[key])
        return varies + 2 * known.combines

    def _is_foreign(self, key: _Key) -> bool:
        """Return True if the finding is not about the requirement."""
        return key.finding in self._owned and not self._is_about(key)

    def _would_fail(self, key: _Key, total: Counter[str]) -> frozenset[str]:
        """Return the requirements that fail if that of `key` is the cause."""
        would = {key.requirement}
        known = self._known.get(key.requirement)
        if known is not None and self._share[key] > _BROKEN:
            would.update(name for name in known.prerequisite_of if total[name])
        behind = (one for one, level in self._indirect.items() if level > self._indirect[key])
        would.update(one.requirement for one in behind if one.finding == key.finding)
        return frozenset(would)

    def _explains(self, root: _Key, key: _Key) -> bool:
        own, roots = self._own[key], self._own[root]
        graver = self._indirect[key] and _gravest(own) < _gravest(roots)
        if graver and {*map(_reading, own)}.isdisjoint(map(_reading, roots)):
            return False  # the words of the root would not tell a reader about these
        # A prerequisite of the root may fail, too, if its requests use what is broken.
        known = self._known.get(key.requirement)
        needed = known is not None and root.requirement in known.prerequisite_of
        needed = needed and not {*self._errors[key]}.isdisjoint(self._errors[root])
        explained = needed or self._is_foreign(key) or key.requirement in self._would[root]
        return explained or self._of_any_model

    def _ranking(self, left: Sequence[_Key]) -> Callable[[_Key], tuple[object, ...]]:
        """Ranks what is left of one finding: the cause whose failure would look most like what
        fails, then what has most cases. Elements that are misread explain the wrong values of what
        does not explain them. In a run of any model, what the finding shows or is about comes
        first, unless another one of these explains it."""
        failing = frozenset(key.requirement for key in left if not self._is_foreign(key))
        about = [self._known[key.requirement] for key in left if self._is_about(key)]
        needed = {name for known in about for name in known.prerequisite_of}
        elements = {name for name, what in self._blobs.items() if what == "elements"}
        wrong = (key for key in left if key.finding == "wrong_value" and self._share[key] > _BROKEN)
        misread = elements.intersection(key.requirement for key in wrong)

        def rank(key: _Key) -> tuple[object, ...]:
            own = self._own[key]
            if self._of_any_model:
                return (
                    -len(own) if key in self._shown else 0,
                    self._indirect[key],
                    not self._is_about(key),
                    key.requirement in needed,
                    not self._is_misread(key),
                    _gravest(own),
                    -self._share[key],
                    -self._likeness(key, self._failing),
                    key,
                )
            likeness = self._likeness(key, failing)
            behind = self._is_foreign(key), self._indirect[key], _gravest(own)
            corner = self._share[key] <= _BROKEN
            beside = key.requirement not in misread and not misread <= self._would[key]
            return *behind, corner or beside, -likeness, -len(own), self._share[key], key

        return rank

    def _is_misread(self, key: _Key) -> bool:
        """Return True if elements are misread: all blobs give wrong values, or those of BYTES an
        error, wherever they are, whatever the type of the request, and not if there is no blob."""
        if self._blobs.get(key.requirement) != "elements" or self._share[key] < 1:
            return False
        blobs = [(_Key(name, key.finding), what) for name, what in self._blobs.items()]
        if not all(other in self._own for other, what in blobs if what == "everywhere"):
            return False
        if key.finding == "wrong_value":
            return True
        refused = all(self._share.get(other, 0) < 1 for other, what in blobs if what == "typed")
        return refused and self._known[key.requirement].datatypes == ("BYTES",)

    def _likeness(self, key: _Key, failing: Collection[str]) -> Fraction:
        """Return how much what `key` explains is like what fails: 1 if it is just that."""
        would = self._would[key]
        return Fraction(len(would & self._failing), len(would.union(failing)))

    def _order(self, group: CauseGroup) -> tuple[object, ...]:
        """Return the sort key: what blocks most of the verdict comes first, then what harms most,
        then what explains most; of two that explain as much, the narrower corner."""
        root = _Key(group.requirement, group.finding)
        blocking = min(_gravest((*group.cases, *group.waiting)), len(BLOCKS))
        return (
            blocking,
            _gravest(self._own[root]),
            len(HARMS) if group.harm is None else HARMS.index(group.harm),
            -len(group.requirements),
            -len(group.cases) - len(group.waiting),
            self._share[root],
            root,
        )


def _all(own: _Cases) -> list[CaseResult]:
    return [case for some in own.values() for case in some]


def _common(cases: Sequence[CaseResult]) -> frozenset[str]:
    """Return what all of their requests have in common; nothing for those of clients, in which
    there is nothing of the answers that they read wrong."""
    of_client = any(case.reported is not None for case in cases)
    features = [] if of_client else features_of(case.exchanges for case in cases)
    return frozenset.intersection(*features) if features else frozenset()


def harm_of(case: CaseResult) -> Harm | None:
    """Return what a user loses by a failed case; None if it blocks nothing and shows no harm."""
    # A requirement says what is lost by what blocks something.
    requirement = catalogue().get(case.requirement) if _gravest([case]) < len(BLOCKS) else None
    usual = None if requirement is None else requirement.harm
    if case.cause is None:
        return usual
    if usual == "dies" and not case.cause.root.of_path:  # it answered, however wrong
        owns = (one for one in catalogue().values() if finding_of(case.cause) in one.findings)
        usual = next((one.harm for one in owns), usual)
    return harm_by(case.cause, usual)


def worst_harm(cases: Iterable[CaseResult]) -> Harm | None:
    """Return the worst that a user loses by some failed cases; None for nothing."""
    shown = [harm for case in cases if (harm := harm_of(case)) is not None]
    return min(shown, key=HARMS.index, default=None)


def _gravest(cases: Iterable[CaseResult]) -> int:
    """Return the place of the strictest grade of some cases, 0 for what blocks most."""
    return min(GRADES.index(case.grade) for case in cases)


def _finding(case: CaseResult) -> Cause | None:
    return None if case.cause is None else case.cause.root


def unhandled_error(cause: Cause | None) -> WrongStatus | None:
    """Return the first malformed request that NotKept shows to be answered with 5xx, else None."""
    first = cause.first if isinstance(cause, NotKept) else None
    if isinstance(first, WrongStatus) and first.expected == "4xx" and first.got >= 500:
        return first
    return None


def _error(case: CaseResult) -> str:
    """Return the status and the words of an error, "" if a failure has no such words."""
    cause = _finding(case)
    is_error = isinstance(cause, AcceptedInvalidRequest | AnsweredExactly | WrongStatus)
    is_telling = is_error or (cause is not None and cause.telling)
    return repr(_what_failed(case)) if is_telling else ""


def _what_failed(case: CaseResult) -> object:
    """Return what failures of one cause have in common, whatever the request."""
    cause = _finding(case)
    status = cause.got if isinstance(cause, WrongStatus) else None
    return finding_of(case.cause), status, _reading(case)


def _reading(case: CaseResult) -> str:
    """Return how a failure reads without numbers and names of tensors: a server says the same of
    each request that one defect spoils. Values have nothing else to tell them apart, and a request
    that is answered as if it were right is told apart by what it is about."""
    cause = _finding(case)
    if cause is None or finding_of(cause) in _BY_KIND:
        return ""
    answered = isinstance(cause, AcceptedInvalidRequest) and '"outputs"' in cause.body
    if answered or isinstance(cause, AnsweredExactly):
        return case.requirement
    heads = (one.request.start(_HEAD) for one in case.exchanges)
    names = {name.decode() for head in heads for name in _NAME.findall(head)}
    words = re.sub(r"\w+", lambda word: "N" if word[0] in names else word[0], describe(cause))
    return re.sub("0x[0-9a-f]+|[0-9]+", "N", words)
