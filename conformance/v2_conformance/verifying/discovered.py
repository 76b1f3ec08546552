"""Discovery and the first answers of models, derived again from their recorded exchanges."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import get_args

from v2_conformance.conversations.calibration import calibration
from v2_conformance.conversations.discovery import Found, Look, Wanted, discovery
from v2_conformance.conversations.steps import play
from v2_conformance.errors import CaseFileError
from v2_conformance.judging.known_good import Form, known_good
from v2_conformance.judging.observed.cases import observe_first_answer
from v2_conformance.judging.observed.exchanges import Observation
from v2_conformance.judging.verdict import Finding
from v2_conformance.protocol.message import MessageError
from v2_conformance.report.evidence import Calibration
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.causes.causes import Cause
from v2_conformance.suite.causes.circumstances import AnswersDiffer
from v2_conformance.suite.models import ModelContract, models_of_use
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.verifying.record import Record, RecordedError
from v2_conformance.verifying.setting import Setting
from v2_conformance.wire.encode.deployment import DeployedModel
from v2_conformance.wire.encode.requests import Prepared, get_request
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Response

_SHOWN = 120
_FORMS: tuple[Form, ...] = get_args(Form)
_MODEL = re.compile(
    rb"GET [!-~]*?/v2/models/(?P<name>[!-~]+?)(?:/versions/(?P<version>[!-~]+))? "
    rb"HTTP/1\.1\r\n"
)


def discovery_edits(known: Setting) -> Iterator[str]:
    """Yield how the target of a report of this very catalogue differs from its recorded answers.

    Raises UnconfirmedError if the report does not have all of them.
    """
    try:
        yield from _differences(_found(known), known)
    except (Finding, MessageError, RecordedError) as error:
        yield f"the record of discovery: {printable(str(error), 300)}"


def _found(known: Setting) -> Found:
    """Hold the conversation of discovery with its record."""
    record = Record(known.report.discovery, known.where)

    def answer(look: Look) -> Response:
        asked = Prepared(get_request(known.where.address, look.path))
        what = f"the request for {printable(look.path, _SHOWN)}"
        response = record.take(what, (Purpose.DISCOVERY,), asked).response
        if response is None:
            raise RecordedError(f"{what} was not answered")
        return response

    found = play(discovery(_wanted(known, record)), answer)
    record.end()
    return found


def _wanted(known: Setting, record: Record) -> Iterator[Wanted]:
    """Yield each model that the run asked for, as the report or the next exchange names it."""
    if known.report.relations is not None:
        return  # its models were learned
    for role, model in models_of_use(known.claims.profiles, known.claims.unsupported).items():
        absent = role in known.report.target.absent
        stated = _asked_for(model, record) if absent else known.claims.present.get(role)
        if stated is None:
            raise RecordedError(f"the model for {role} is not named")
        yield Wanted(model, stated)


def _asked_for(model: ModelContract, record: Record) -> DeployedModel | None:
    """Return the model that the next request is about, with the contract's tensors."""
    asked = _MODEL.match(bytes(record.left[0].request)) if record.left else None
    if asked is None:
        return None
    name, version = (None if part is None else part.decode() for part in asked.groups())
    inputs, outputs = (tuple(one.name for one in s) for s in (model.inputs, model.outputs))
    return DeployedModel(model.role, str(name), inputs, outputs, version, version is not None)


def _differences(found: Found, known: Setting) -> Iterator[str]:
    """Yield how the report's target differs from what discovery found."""
    target = known.report.target
    for name in ("name", "version", "extensions"):
        if getattr(target.server, name) != getattr(found.server, name):
            yield f"the server's {name} is not that of its recorded answer to GET /v2"
    if known.report.relations is not None:
        return
    present = {role: known.claims.present.get(role) for role in target.models}
    roles = {*present, *found.present, *target.absent, *found.absent}
    other = [
        role
        for role in sorted(roles)
        if present.get(role) != found.present.get(role)
        or (role in target.absent) != (role in found.absent)
    ]
    if other:
        names = ", ".join(printable(role, 40) for role in other[:5])
        yield f"these models are not what their recorded metadata says: {names}"


def first_answers(known: Setting) -> Iterator[Observation]:
    """Yield what calibrations show about the first answers of models that repeat theirs.

    Raises RecordedError for one that no run leaves, and UnconfirmedError.
    """
    causes = (case.cause for case in known.report.cases)
    differing = {cause.role for cause in causes if isinstance(cause, AnswersDiffer)}
    wrong: dict[tuple[str, str], Cause | None] = {}
    for one in known.report.calibration:
        if one.role not in differing:
            first = _wrong_first(one, known)
            wrong[one.role, one.form] = wrong.get((one.role, one.form)) or first
    for (role, form), cause in wrong.items():
        yield observe_first_answer(role, form, cause)


def _wrong_first(one: Calibration, known: Setting) -> Cause | None:
    """Hold the conversation of a calibration with its record."""
    binding = known.claims.present.get(one.role)
    form = next((form for form in _FORMS if form == one.form), None)
    if binding is None or form is None:
        raise RecordedError("a calibration has no such model or form")
    record = Record(one.exchanges, known.where)

    def answer(way: Prepared) -> Exchange:
        return record.take("a calibration", (Purpose.CALIBRATION,), way)

    try:
        ways = known_good(one.role, known.where.address, binding, form)
    except CaseFileError as error:
        raise RecordedError(f"a calibration cannot be made again: {error}") from error
    first = play(calibration(ways), answer)
    record.end()
    return first.wrong
