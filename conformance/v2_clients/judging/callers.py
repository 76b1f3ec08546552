"""Checks of what a caller says: its outputs, forms, parameters and fields, and nothing of the
callers before it. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any
from urllib.parse import quote, unquote

from v2_clients.bench.answers import outputs_of
from v2_clients.bench.messages import TaskRequest, Value
from v2_clients.bench.requests import model_asked, objects, size_of
from v2_clients.findings import (
    StaleField,
    StaleMember,
    WrongOutputsAsked,
    WrongParameter,
    WrongTarget,
)
from v2_clients.judging.sent import Sent, by_name
from v2_clients.judging.tensors import MOST_SHOWN
from v2_conformance.judging.checks import check_data_or_size
from v2_conformance.judging.verdict import Finding
from v2_conformance.protocol.content_codings import CodingError, acceptable
from v2_conformance.protocol.message import parameters_of
from v2_conformance.protocol.names import (
    BINARY_DATA,
    BINARY_DATA_OUTPUT,
    BINARY_DATA_SIZE,
    HEADER_LENGTH,
)
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.causes.kinds import NoDataNoSize, WrongField, WrongForm, WrongId
from v2_conformance.wire.encode.deployment import model_path
from v2_conformance.wire.messages import decimal

_RESERVED = frozenset({BINARY_DATA_SIZE, BINARY_DATA, BINARY_DATA_OUTPUT})
# Fields that belong to the message and not to the caller, whatever the caller passes.
OF_THE_MESSAGE = frozenset(
    {
        HEADER_LENGTH.lower(),
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "te",
        "transfer-encoding",
        "upgrade",
    }
)


def infer_path(asked: TaskRequest) -> str:
    """Return the path of a request, its names percent-encoded (RFC 3986, section 2.1)."""
    version = "" if asked.version is None else f"/versions/{quote(asked.version, safe='')}"
    return f"{model_path(asked.model)}{version}/infer"


def check_target(sent: Sent) -> None:
    """Check that the request is for the caller's model and version."""
    request, path = sent.request, infer_path(sent.asked.request)
    # However it is encoded.
    if request.method != "POST" or not unquote(request.path).endswith(unquote(path)):
        got = printable(f"{request.method} {request.path}", 200)
        raise Finding(WrongTarget(f"POST {path}", got))


def check_id(sent: Sent) -> None:
    """Check that the request has the caller's id, if there is one."""
    expected, got = sent.asked.request.id, sent.request.document.get("id")
    if expected is not None and got != expected:
        raise Finding(WrongId(ascii(expected), ascii(got)[:200]))


def check_forms(sent: Sent) -> None:
    """Check that inputs have the form that the caller wants, and parameters ask for the same
    outputs.
    """
    entries = by_name(sent.request.document.get("inputs"))
    for asked, tensor in zip(sent.asked.request.inputs, sent.asked.inputs, strict=True):
        entry = entries.get(asked.name)
        if entry is not None:
            size = size_of(entry)
            got = "json" if size is None else "binary"
            if got != asked.form:
                check_data_or_size([entry])
                given = parameters_of(entry).get(BINARY_DATA_SIZE)
                if size is None and given is not None:  # it is not a whole number
                    owner, true = f"input {printable(asked.name, 60)}", len(tensor.blob)
                    raise wrong_parameter(owner, BINARY_DATA_SIZE, true, given)
                if size is None and "data" not in entry:
                    raise Finding(NoDataNoSize(printable(asked.name, 60)))
                raise Finding(WrongForm(printable(asked.name, 60), asked.form, got))
    task = sent.asked.request
    general = parameters_of(sent.request.document).get(BINARY_DATA_OUTPUT)
    of_all = task.binary_data_output
    if task.outputs is None and of_all is not None and (general is True) != of_all:
        raise wrong_parameter("the request", BINARY_DATA_OUTPUT, of_all, general)
    listed = by_name(sent.request.document.get("outputs"))
    for output in task.outputs or ():
        own = parameters_of(listed.get(output.name, {})).get(BINARY_DATA)
        flag = general if own is None else own
        wanted = of_all if output.form is None else output.form == "binary"
        if wanted is not None and (flag is True) != wanted:
            if output.name not in listed:
                check_outputs(sent)  # raises
            owner = f"output {printable(output.name, 60)}"
            raise wrong_parameter(owner, BINARY_DATA, wanted, own)


def check_outputs(sent: Sent) -> None:
    """Check that the caller's outputs are asked for, and no others."""
    listed = objects(sent.request.document.get("outputs"))
    expected = [output.name for output in sent.asked.request.outputs or ()]
    got = [str(entry.get("name")) for entry in listed]
    if got and sent.asked.request.outputs is None and _are_all(sent, got):
        return
    if sorted(got) != sorted(expected):
        raise Finding(WrongOutputsAsked(shown(expected), shown(got)))


def _are_all(sent: Sent, listed: Collection[str]) -> bool:
    """Return True if these are the outputs of the answer: naming all is no other wish than naming
    none."""
    return sorted(listed) == sorted(one.name for one in outputs_of(sent.asked, sent.script))


def _owners(task: TaskRequest) -> Mapping[tuple[str, str], Mapping[str, Value]]:
    """Return the caller's own parameters, by the kind and the name of what has them."""
    result: dict[tuple[str, str], Mapping[str, Value]] = {("request", ""): task.parameters}
    result |= {("input", one.name): one.parameters for one in task.inputs}
    return result | {("output", one.name): one.parameters for one in task.outputs or ()}


def _parameters(document: Mapping[str, Any], owner: tuple[str, str]) -> Mapping[str, Any]:
    """Return the parameters that an owner has in a request."""
    kind, name = owner
    if kind == "request":
        return parameters_of(document)
    return parameters_of(by_name(document.get(f"{kind}s")).get(name, {}))


def _same(value: Value, got: object) -> bool:
    """Return True for the same value of the same type. JSON has one type of number."""
    numbers = not isinstance(value, bool) and isinstance(value, int | float)
    alike = isinstance(got, int | float) and not isinstance(got, bool)
    return got == value and (alike if numbers else type(got) is type(value))


def check_caller_parameters(sent: Sent) -> None:
    """Check that the caller's own parameters are where they belong, with their types."""
    document, task = sent.request.document, sent.asked.request
    listed = by_name(document.get("outputs"))
    if any(one.parameters and one.name not in listed for one in task.outputs or ()):
        check_outputs(sent)  # raises
    for owner, given in _owners(task).items():
        got = _parameters(document, owner)
        for name, value in given.items():
            if name not in _RESERVED and not _same(value, got.get(name)):
                kind, of = owner
                label = f"{kind} {printable(of, 60)}" if of else f"the {kind}"
                raise wrong_parameter(label, name, value, got.get(name))


def check_caller_headers(sent: Sent) -> None:
    """Check that the caller's fields are in the head, but for those of the message itself."""
    for name, value in sent.asked.request.headers.items():
        if name.lower() in OF_THE_MESSAGE:
            continue
        got = sent.request.values(name.lower())
        if value not in got:
            raise Finding(WrongField(name, value, printable(", ".join(got), 200) if got else None))


def check_credentials(sent: Sent) -> None:
    """Check that the caller's credentials are for the host that the caller named, and for no other
    to which it redirects (RFC 9110, section 15.4)."""
    if sent.request.values("host") != sent.first.values("host"):
        for value in sent.request.values("authorization"):
            where = "only at the host of the URL, not where the answer redirects to"
            raise Finding(WrongField("Authorization", where, printable(value, 60)))


def check_no_stale_headers(sent: Sent) -> None:
    """Check that neither a field of an earlier caller nor an old header length is in the head."""
    own = {name.lower() for name in sent.asked.request.headers}
    for asked in sent.before:
        for name, value in asked.request.headers.items():
            stale = name.lower() not in own and name.lower() not in OF_THE_MESSAGE
            if stale and value in sent.request.values(name.lower()):
                raise Finding(StaleField(name, value))
    name = HEADER_LENGTH.lower()
    true = sent.request.json_end if sent.has_blobs else len(sent.body)
    # The same wrong number for JSON of the same length is made again.
    earlier = (one for tries in sent.earlier for one in tries if one.json_end != true)
    old = {value for one in earlier for value in one.values(name)}
    for value in sent.request.values(name):
        if value in old and decimal(value) != true:
            raise Finding(StaleField(HEADER_LENGTH, printable(value, 60)))


def check_no_stale_members(sent: Sent) -> None:
    """Check that what an earlier caller said, and this one does not, is not in the request."""
    request, asked = sent.request, sent.asked.request
    result = model_asked(request)
    version = None if result is None else result[1]
    general = parameters_of(request.document).get(BINARY_DATA_OUTPUT)
    listed = list(by_name(request.document.get("outputs")))
    own = _owners(asked)
    for before in (one.request for one in sent.before):
        if asked.id is None and before.id is not None and request.document.get("id") == before.id:
            raise Finding(StaleMember("id", printable(before.id, 60)))
        if asked.version is None and version is not None and version == before.version:
            raise Finding(StaleMember("version", printable(version, 60)))
        if asked.outputs is None and before.outputs and not _are_all(sent, listed):
            for stale in (output.name for output in before.outputs if output.name in listed):
                raise Finding(StaleMember("output", printable(stale, 60)))
        for owner, given in _owners(before).items():
            got = _parameters(request.document, owner)
            for name, value in given.items():
                if name not in own.get(owner, {}) and got.get(name) == value:
                    raise Finding(StaleMember(f"parameter {name}", printable(str(value), 60)))
        same = asked.binary_data_output is None and general == before.binary_data_output
        if same and general is not None and general not in _own_defaults(sent):
            raise Finding(StaleMember(f"parameter {BINARY_DATA_OUTPUT}", json.dumps(general)))


def _own_defaults(sent: Sent) -> list[object]:
    """Return what the client has sent as binary_data_output before any caller gave it."""
    results: list[object] = []
    for asked, tries in zip(sent.before, sent.earlier, strict=True):
        if asked.request.binary_data_output is not None:
            break
        results += [parameters_of(one.document).get(BINARY_DATA_OUTPUT) for one in tries]
    return results


def check_accept_encoding(sent: Sent) -> None:
    """Check that the coding that the caller asks for is offered."""
    wanted = sent.asked.request.response_compression
    if wanted is None:
        return
    fields = sent.request.values("accept-encoding")
    value = ", ".join(fields)
    try:
        if fields and wanted in acceptable(value):
            return
    except CodingError:
        pass
    raise Finding(WrongField("Accept-Encoding", wanted, printable(value, 200) if fields else None))


def wrong_parameter(owner: str, name: str, expected: object, got: object) -> Finding:
    """Return the finding of a parameter with another value than the caller's or the true one."""
    value = None if got is None else printable(json.dumps(got), 200)
    return Finding(WrongParameter(owner, printable(name, 60), json.dumps(expected), value))


def shown(names: Iterable[object]) -> tuple[str, ...]:
    """Return the first of some names as messages show them."""
    return tuple(printable(str(name), 60) for name in list(names)[:MOST_SHOWN])
