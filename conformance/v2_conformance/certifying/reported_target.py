"""The target of a report, to send it something again: what it hides has to be given anew."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from v2_conformance.errors import UsageError
from v2_conformance.report.document import Report
from v2_conformance.report.tested import TargetInfo
from v2_conformance.runs.targets.target import Target, checked_target
from v2_conformance.wire.encode.deployment import DeployedModel

_HIDDEN = "*" * 6
_EVERY_REQUESTS_OWN = {"user-agent": "v2-conformance", "accept": "*/*"}


def shown_url(report: Report) -> str:
    """The URL of a report's target. Raises UsageError if the report hides a part of it."""
    if _HIDDEN in report.target.url:
        raise UsageError("the report hides a part of its URL: give the URL")
    return report.target.url


def reported_target(report: Report, given: Target) -> Target:
    """The target that was tested, at the URL of the `given` one, which also has the secrets.

    Claims, models and the header fields that the report shows are those of the report, unless the
    given target has its own models or fields of the same name. Raises UsageError, naming what is
    missing, if the report hides something that is not given.
    """
    told = report.target
    names = {name.lower() for name, _ in given.headers}
    if any(name == "Authorization" for name, _ in given.address.headers):
        names.add("authorization")  # it may also be in the URL
    fields = [field for field in _fields(told) if field[0].lower() not in names]
    missing = [name for name, value in fields if _is_hidden(value)]
    if missing:
        raise UsageError(
            f"the report hides the value of {', '.join(missing)}: give it again, such as with "
            f"--bearer-env NAME or --header '{missing[0]}: …'"
        )
    models = {**dict(_bindings(told, given)), **given.models}
    public = (name for name, _ in fields if name.lower() != "host")
    return checked_target(
        replace(
            given,
            headers=(*given.headers, *fields),
            public=(*given.public, *public),
            profiles=told.profiles,
            unsupported=frozenset(told.unsupported),
            models=models,
            seed=report.seed,
            draws=report.draws,
        )
    )


def _fields(told: TargetInfo) -> Iterator[tuple[str, str]]:
    if told.host_given:
        yield "Host", told.host
    for name, value in told.headers:
        if _EVERY_REQUESTS_OWN.get(name.lower()) != value:
            yield name, value


def _is_hidden(value: str) -> bool:
    return _HIDDEN in value or bool(value and not value.strip("*"))


def _bindings(told: TargetInfo, given: Target) -> Iterator[tuple[str, DeployedModel]]:
    for role, model in told.models.items():
        if role in given.models:
            continue
        names = (model.model, *model.inputs, *model.outputs, model.version or "")
        if any(_HIDDEN in name for name in names):
            raise UsageError(
                f"the report hides the names of the model for {role}: give them with --target FILE"
            )
        version = model.version if model.pinned else None
        yield (
            role,
            DeployedModel(role, model.model, model.inputs, model.outputs, version, model.pinned),
        )
