"""Models of a run, learned again from its recorded answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from v2_conformance.conversations.learning import learn
from v2_conformance.conversations.steps import play
from v2_conformance.errors import CaseFileError, ReportFileError
from v2_conformance.judging.relations.learning import (
    Learned,
    beyond_tolerance,
    described,
    unknown_model,
)
from v2_conformance.protocol.datatypes import DATATYPES, ElementError, check_blob
from v2_conformance.report.document import Report
from v2_conformance.report.evidence import AskedModel, Relations, SampleValue
from v2_conformance.suite.cases import Case
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.models import ROLE, ModelContract, Sample, TensorSpec
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.verifying.record import Record, RecordedError, UnconfirmedError
from v2_conformance.verifying.setting import Whereabouts
from v2_conformance.wire.encode.deployment import Tolerance, model_path
from v2_conformance.wire.encode.requests import Prepared, get_request
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.relations.cases import special_sets


@dataclass(frozen=True)
class LearnedAgain:
    """The models of a report, why no run can have produced it, and which could not be learned again
    for lack of bytes. Empty for any other report.
    """

    models: tuple[Learned, ...] = ()
    edits: tuple[str, ...] = ()
    unconfirmed: tuple[str, ...] = ()


def learned_again(
    report: Report, where: Whereabouts, *, cases: Sequence[Case] | None = None
) -> LearnedAgain:
    """Learn the models of a report again. `cases` are those that the run began with, None if
    another suite made it. Never raises for a report's content.
    """
    if report.relations is None:
        return LearnedAgain()
    found: list[Learned] = []
    edits: list[str] = []
    unconfirmed: list[str] = []
    for asked in report.relations.models:
        what = f"how {printable(asked.role, 80)} was learned"
        try:
            found.append(_learned(asked, report.relations, where, cases))
        except (CaseFileError, ElementError, RecordedError, ReportFileError) as error:
            edits.append(f"the record of {what}: {error}")
        except UnconfirmedError as error:
            unconfirmed.append(f"{what}: {error}")
    return LearnedAgain(tuple(found), tuple(edits), tuple(unconfirmed))


def _learned(
    asked: AskedModel, relations: Relations, where: Whereabouts, cases: Sequence[Case] | None
) -> Learned:
    model = asked_model(asked)
    name, inputs, special = model.model, model.inputs, model.special
    record = Record(asked.learned, where)

    def ask(prepared: Prepared, purpose: Purpose = Purpose.CALIBRATION) -> Exchange:
        return record.take("a request", (purpose,), prepared)

    metadata = Prepared(get_request(where.address, model_path(name)))
    response = ask(metadata, Purpose.DISCOVERY).response
    said = "nothing was answered" if response is None else described(response, name)
    if isinstance(said, str):
        raise RecordedError(said)
    if said.inputs and said.inputs != inputs:
        raise RecordedError("its inputs are not those of its recorded metadata")
    plain = replace(model, outputs=said.outputs, special=())
    free = {one.name for one in asked.inputs if not one.chosen}
    if cases is not None and special != special_sets(cases, plain, free):
        raise RecordedError("its special values are not those of the suite's cases")
    given = tolerance_of(relations)
    learned = play(learn(replace(plain, special=special), said.version, where.address, given), ask)
    if learned.problem is not None:
        raise RecordedError(f"it does not answer its plain request: {learned.problem}")
    record.end()
    compared = learned.json_rtol(given)
    if asked.json_rtol != compared:
        raise RecordedError(f"its floats were compared within rtol {compared:g}")
    too_wide = beyond_tolerance(learned)
    if too_wide is not None:
        raise RecordedError(too_wide)
    return learned


def asked_model(asked: AskedModel) -> ModelContract:
    """Return the model that a run asked for, with the samples that it sent, but without outputs.

    Raises RecordedError, ElementError or ReportFileError if no run can have sent them.
    """
    name = asked.role.removeprefix(ROLE)
    if ROLE + name != asked.role or not asked.learned:
        raise RecordedError("its role or its exchanges do not belong to a model")
    inputs = tuple(TensorSpec(one.name, one.datatype, one.dims) for one in asked.inputs)
    samples, special = _unpacked(asked.samples), _unpacked(asked.special)
    if not samples or not inputs:
        raise RecordedError("it has no inputs or no samples")
    _check_samples(inputs, (*samples, *special))
    return replace(unknown_model(name, inputs, (), samples), special=special)


def tolerance_of(relations: Relations) -> Tolerance | None:
    """Return how far two floats of a model's answers may differ."""
    if not (relations.rtol or relations.atol):
        return None
    return Tolerance(relations.rtol, relations.atol)


def _unpacked(sets: tuple[tuple[SampleValue, ...], ...]) -> tuple[tuple[Sample, ...], ...]:
    return tuple(
        tuple(Sample(value.shape, bytes(value.data)) for value in values) for values in sets
    )


def _check_samples(inputs: tuple[TensorSpec, ...], samples: tuple[tuple[Sample, ...], ...]) -> None:
    """Raise RecordedError or ElementError unless each set has a valid value for each input."""
    for values in samples:
        if len(values) != len(inputs):
            raise RecordedError("it has another number of samples than of inputs")
        for spec, value in zip(inputs, values, strict=True):
            if spec.datatype not in DATATYPES:
                raise RecordedError("it has an input of an unknown datatype")
            check_blob(spec.datatype, value.shape, value.blob)
