"""Facts about a whole run that judging its cases again needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlsplit

from v2_conformance.conversations.steps import Known
from v2_conformance.errors import ReportFileError
from v2_conformance.judging.relations.learning import Learned
from v2_conformance.judging.relations.plan import bindings_of
from v2_conformance.judging.survival import Claims
from v2_conformance.redaction import Mask
from v2_conformance.report.document import Report
from v2_conformance.report.tested import Model
from v2_conformance.report.verdict.extension import left_out_of
from v2_conformance.suite.cases import Case
from v2_conformance.suite.models import contract
from v2_conformance.verifying.plan import DerivedPlan
from v2_conformance.wire.encode.deployment import Address, DeployedModel
from v2_conformance.wire.encode.stand_ins import stood_in

# Servers take a head of some KiB, with about a hundred fields.
_MOST_FIELDS = 1000
_MOST_CHARACTERS = 1 << 20


@dataclass(frozen=True)
class Whereabouts:
    """Where the requests of a report went, whether secrets are masked in them, and in which header
    fields (`mask`).
    """

    address: Address
    mask: Mask
    masks: bool


@dataclass(frozen=True)
class Setting:
    """Facts about the whole run from its report, and the cases of this installation by id.

    `same_suite` says whether the catalogue of the run asks and expects what this one does, and
    `same_words` whether this very build made the report. `plan` is that of the run, made again,
    None if this installation cannot make it.
    """

    where: Whereabouts
    claims: Claims
    same_suite: bool
    same_words: bool
    report: Report
    cases: Mapping[str, Case]
    plan: DerivedPlan | None

    @property
    def known(self) -> Known:
        """Facts that the conversations of its cases need."""
        return Known(self.where.address, self.claims)

    @property
    def masks(self) -> bool:
        """True if the report masks secrets."""
        return self.where.masks

    @cached_property
    def left_out(self) -> bool:
        """True if the report shows that the server leaves the extension out."""
        return bool(left_out_of(self.report))


def whereabouts(report: Report) -> Whereabouts:
    """Return where the requests went. Raises ReportFileError if the target has no URL, or more in
    it than any server takes, all of which each request would have again.
    """
    target = report.target
    if len(target.headers) > _MOST_FIELDS or _size_of(report) > _MOST_CHARACTERS:
        raise ReportFileError(
            "the report cannot be judged again: no server takes requests with so much in their head"
        )
    try:
        parts = urlsplit(target.url)
    except ValueError as error:
        raise ReportFileError(
            f"the report cannot be judged again: its target has no URL ({error})"
        ) from error
    hidden = tuple(name for name, value in target.headers if value and not value.strip("*"))
    path, draws = parts.path.rstrip("/"), report.draws
    address = Address(target.host, path, target.headers, parts.scheme, report.seed, draws)
    return Whereabouts(address, Mask(fields=hidden), bool(hidden) or target.masked)


def _size_of(report: Report) -> int:
    """Return how many characters of each request the user of a run chose, at most. A model that was
    learned names its tensors itself.
    """
    target = report.target
    size = sum(len(name) + len(value) for name, value in target.headers)
    size += len(target.url) + len(target.host)
    models = target.models.values() if report.relations is None else ()
    names = (name for one in models for name in (one.model, *one.inputs, *one.outputs))
    return size + max(map(len, names), default=0)


def setting(
    report: Report,
    cases: Sequence[Case],
    *,
    same_suite: bool,
    same_words: bool = True,
    plan: DerivedPlan | None = None,
    models: Sequence[Learned] = (),
) -> Setting:
    """Return the setting of a whole report, of which `models` were learned.

    Raises ReportFileError if it lacks what judging needs.
    """
    target = report.target
    bindings = {
        role: DeployedModel(role, one.model, one.inputs, one.outputs, one.version, one.pinned)
        for role, one in target.models.items()
        if plays(role, one)
    } | bindings_of(models)
    claims = Claims(target.profiles, frozenset(target.unsupported), bindings, target.absent)
    known = {case.id: stood_in(case, target.unsupported) for case in cases}
    where = whereabouts(report)
    return Setting(where, claims, same_suite, same_words, report, known, plan)


def plays(role: str, model: Model) -> bool:
    """Return True if the contract has this role, with as many tensors."""
    known = contract().get(role)
    return known is not None and (len(model.inputs), len(model.outputs)) == (
        len(known.inputs),
        len(known.outputs),
    )
