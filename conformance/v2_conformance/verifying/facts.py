"""What a run learned before its cases, derived again from its recorded exchanges: the server, its
models, and their first answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import quote, unquote

from v2_conformance.conversations.discovery import calibration, discovery
from v2_conformance.conversations.learning import learn
from v2_conformance.conversations.steps import play
from v2_conformance.errors import CaseFileError, ReportFileError
from v2_conformance.judging.known_good import known_good
from v2_conformance.judging.learning import (
    UntestableError,
    as_described,
    beyond_tolerance,
    described,
    json_rtol,
    unknown_model,
)
from v2_conformance.judging.observed.cases import observe_first_answer
from v2_conformance.judging.observed.exchanges import Observation
from v2_conformance.judging.verdict import Finding
from v2_conformance.protocol.datatypes import DATATYPES, ElementError, check_blob
from v2_conformance.protocol.message import MessageError
from v2_conformance.report.tested import AskedModel, Calibration, Model, Relations
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.causes.causes import Cause
from v2_conformance.suite.causes.kinds import AnswersDiffer
from v2_conformance.suite.models import ROLE, ModelContract, Sample, TensorSpec, models_of_use
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.verifying.record import (
    RecordedError,
    RecordedExchanges,
    Setting,
    UnconfirmedError,
)
from v2_conformance.wire.encode.deployment import DeployedModel, Tolerance
from v2_conformance.wire.encode.requests import Prepared, get_request
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.relations.values import special_sets
from v2_conformance.wire.response import Response

_UNLEARNABLE = (CaseFileError, ElementError, RecordedError, ReportFileError, UntestableError)
_MODEL = re.compile(
    rb"GET [!-~]*?/v2/models/(?P<name>[!-~]+?)(?:/versions/(?P<version>[!-~]+))? "
    rb"HTTP/1\.1\r\n"
)


def discovery_edits(setting: Setting) -> Iterator[str]:
    """Yield where the target differs from recorded discovery. Raises UnconfirmedError."""
    target, record = setting.report.target, RecordedExchanges(setting.report.discovery, setting)

    def answer(path: str) -> Response:
        asked = Prepared(get_request(setting.address, path))
        what = f"the request for {printable(path, 120)}"
        response = record.take(what, (Purpose.DISCOVERY,), asked).response
        if response is None:
            raise RecordedError(f"{what} was not answered")
        return response

    try:
        discovered = play(discovery(_wanted(setting, record)), answer)
        record.end()
    except (Finding, MessageError, RecordedError) as error:
        yield f"the record of discovery: {printable(str(error), 300)}"
        return
    for name in ("name", "version", "extensions"):
        if getattr(target.server, name) != getattr(discovered.info, name):
            yield f"the server's {name} is not that of its recorded answer to GET /v2"
    stated = {role: setting.claims.present.get(role) for role in target.models}
    other = [
        role
        for role in sorted({*stated, *discovered.present, *target.absent, *discovered.absent})
        if stated.get(role) != discovered.present.get(role)
        or (role in target.models) != (role in discovered.present)
        or (role in target.absent) != (role in discovered.absent)
    ]
    if other and setting.report.relations is None:
        names = ", ".join(printable(role, 40) for role in other[:5])
        yield f"these models are not what their recorded metadata says: {names}"


def _wanted(setting: Setting, record: RecordedExchanges) -> Iterator[DeployedModel]:
    """Yield each model that the run asked for, as the report or the next exchange names it."""
    if setting.report.relations is not None:
        return  # its models were learned
    for role, model in models_of_use(setting.claims.profiles, setting.claims.unsupported).items():
        stated = setting.claims.present.get(role)
        if role in setting.report.target.absent:
            asked = _MODEL.match(bytes(record.left[0].request)) if record.left else None
            stated = None if asked is None else _asked_for(model, *asked.group("name", "version"))
        if stated is None:
            raise RecordedError(f"the model for {role} is not named")
        yield stated


def _asked_for(model: ModelContract, name: bytes, version: bytes | None) -> DeployedModel:
    inputs, outputs = (tuple(one.name for one in s) for s in (model.inputs, model.outputs))
    pinned = None if version is None else version.decode()
    return DeployedModel(model.role, name.decode(), inputs, outputs, pinned, pinned is not None)


def first_answers(setting: Setting) -> Iterator[Observation]:
    """Yield what calibrations show of first answers. Raises RecordedError, UnconfirmedError."""
    causes = (case.cause for case in setting.report.cases)
    differing = {cause.role for cause in causes if isinstance(cause, AnswersDiffer)}
    wrong: dict[tuple[str, str], Cause | None] = {}
    for one in setting.report.calibration:
        if one.role not in differing:
            first = _wrong_first(one, setting)
            wrong[one.role, one.form] = wrong.get((one.role, one.form)) or first
    for (role, form), cause in wrong.items():
        yield observe_first_answer(role, form, cause)


def _wrong_first(one: Calibration, setting: Setting) -> Cause | None:
    binding = setting.claims.present.get(one.role)
    if binding is None:
        raise RecordedError("a calibration has no such model")
    record = RecordedExchanges(one.exchanges, setting)
    try:
        ways = known_good(one.role, setting.address, binding, one.form)
    except CaseFileError as error:
        raise RecordedError(f"a calibration cannot be made again: {error}") from error
    purposes = (Purpose.CALIBRATION,)
    first = play(calibration(ways), lambda way: record.take("a calibration", purposes, way))
    record.end()
    return first.wrong


def learned_models(
    setting: Setting, edits: list[str], unconfirmed: list[str]
) -> tuple[DeployedModel, ...]:
    """Learn the models of a report again. Why no run can have learned one is added to `edits`, what
    the report lacks for it to `unconfirmed`. Never raises for a report's content.
    """
    relations = setting.report.relations
    if relations is None:
        return ()
    models: list[DeployedModel] = []
    for asked in relations.models:
        what = f"how {printable(asked.role, 80)} was learned"
        try:
            models.append(_learned(asked, relations, setting))
        except _UNLEARNABLE as error:
            edits.append(f"the record of {what}: {error}")
        except UnconfirmedError as error:
            unconfirmed.append(f"{what}: {error}")
    return tuple(models)


def _learned(asked: AskedModel, relations: Relations, setting: Setting) -> DeployedModel:
    model = asked_model(asked)
    record = RecordedExchanges(asked.learned, setting)

    def ask(prepared: Prepared, purpose: Purpose = Purpose.CALIBRATION) -> Exchange:
        return record.take("a request", (purpose,), prepared)

    said = setting.report.target.models.get(asked.role, Model(model.model, (), ()))
    stated = replace(said.deployed(asked.role), model=model.model)
    metadata = Prepared(get_request(setting.address, stated.path))
    response = ask(metadata, Purpose.DISCOVERY).response
    if response is None:
        raise RecordedError("nothing was answered")
    found = described(response, stated)
    free = {one.name for one in asked.inputs if not one.chosen}
    if not {spec for spec in model.inputs if spec.name in free} <= {*found.inputs}:
        raise RecordedError("its inputs are not those of its recorded metadata")
    model = as_described(model, found)
    if model.special != special_sets(replace(model, special=()), free):
        raise RecordedError("its special values are not those of the suite's cases")
    given = tolerance_of(relations)
    learned = play(learn(model, found.model, setting.address, given), ask)
    record.end()
    compared = json_rtol(learned, given)
    if asked.json_rtol != compared:
        raise RecordedError(f"its floats were compared within rtol {compared:g}")
    too_wide = beyond_tolerance(learned)
    if too_wide is not None:
        raise RecordedError(too_wide)
    return learned


def asked_model(asked: AskedModel) -> ModelContract:
    """Return the model that was asked for, without outputs. Raises what `_UNLEARNABLE` has."""
    name = asked.role.removeprefix(ROLE)
    if asked.role != ROLE + quote(unquote(name), safe="") or not asked.learned:
        raise RecordedError("its role or its exchanges do not belong to a model")
    inputs = tuple(TensorSpec(one.name, one.datatype, one.dims) for one in asked.inputs)
    if not asked.samples or not inputs:
        raise RecordedError("it has no inputs or no samples")
    if any(spec.datatype not in DATATYPES for spec in inputs):
        raise RecordedError("it has an input of an unknown datatype")
    samples, special = (
        tuple(tuple(Sample(one.shape, bytes(one.data)) for one in values) for values in sets)
        for sets in (asked.samples, asked.special)
    )
    for values in (*samples, *special):
        if len(values) != len(inputs):
            raise RecordedError("it has another number of samples than of inputs")
        for spec, value in zip(inputs, values, strict=True):
            check_blob(spec.datatype, value.shape, value.blob)
    return replace(unknown_model(name, inputs, (), samples), special=special)


def tolerance_of(relations: Relations) -> Tolerance | None:
    """Return how far two floats of a model's answers may differ."""
    rtol, atol = relations.rtol, relations.atol
    return Tolerance(rtol, atol) if rtol or atol else None
