"""Checks of a client's request: the tensors of its task, and what a scenario asks for by name.

Each check is about one thing and reads the rest tolerantly, so that one defect of a client fails
its own scenarios and not all of them. Only a request that a strict server accepts with tensors
other than the caller's is wrong everywhere. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import numpy as np
from msgspec.structs import replace

from v2_conformance.bench.answers import outputs_of
from v2_conformance.bench.judging.tensors import (
    MOST_SHOWN,
    decoded_body,
    read_strictly,
    size_of,
    strict_end,
    strict_json,
    tensor_of,
)
from v2_conformance.bench.requests import ClientRequest, model_asked
from v2_conformance.bench.tasks import Asked
from v2_conformance.judging.checks import check_binary_type, check_data_or_size, check_json_type
from v2_conformance.judging.compare import compare_tensors
from v2_conformance.judging.messages.response import ReadOutput, validate
from v2_conformance.judging.verdict import Finding
from v2_conformance.protocol.content_codings import CodingError, acceptable, known
from v2_conformance.protocol.message import Tensor, parameters_of
from v2_conformance.protocol.names import (
    BINARY_DATA,
    BINARY_DATA_OUTPUT,
    BINARY_DATA_SIZE,
    HEADER_LENGTH,
)
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.causes.client_findings import (
    NoHeaderLengthSent,
    StaleField,
    StaleMember,
    UnreadableRequest,
    WrongField,
    WrongHeaderLength,
    WrongInputs,
    WrongOutputsAsked,
    WrongParameter,
    WrongTarget,
)
from v2_conformance.suite.causes.findings import HeaderLengthUnexpected, LeftoverBytes, WrongId
from v2_conformance.suite.causes.output_findings import BlobPastBody, NoDataNoSize, WrongForm
from v2_conformance.wire.messages import decimal

# Findings about where blobs are, not about what is in them.
_OF_PLACES = (BlobPastBody, LeftoverBytes, NoDataNoSize)
_RESERVED = frozenset({BINARY_DATA_SIZE, BINARY_DATA, BINARY_DATA_OUTPUT})
# Fields that belong to the request and not to the caller, whatever the caller passes.
_FRAMING = frozenset(
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


@dataclass(frozen=True)
class Sent:
    """A request that came for `asked`; `before` are the tasks of the requests before it, and
    `earlier` the requests that came for them. `script` says how it is answered."""

    asked: Asked
    request: ClientRequest
    before: tuple[Asked, ...]
    earlier: tuple[ClientRequest, ...]
    script: Mapping[str, Any]

    @property
    def body(self) -> bytes:
        """The body without its content coding. Raises Finding if it cannot be decoded."""
        return decoded_body(self.request)

    @property
    def inputs(self) -> list[Mapping[str, Any]]:
        """The entries of `inputs`, as far as they are objects."""
        return _objects(self.request.document.get("inputs"))

    @property
    def has_blobs(self) -> bool:
        """True if an input without data says so, or bytes follow the JSON."""
        sized = any(size_of(one) is not None and not one.get("data") for one in self.inputs)
        rest = self.body[self.request.json_end :]
        return sized or bool(self.request.json_end and rest.strip(b" \t\r\n"))


def check_request(sent: Sent, names: Sequence[str]) -> None:
    """Raise Finding for the first check of `names` that fails, or for wrong tensors."""
    for name in names:
        CHECKS[name](sent)
    try:
        tensors = read_strictly(sent.request)
    except Finding:
        return  # no server computes on it: each such defect has its own scenario
    _compare(sent, tensors)


def is_exact(sent: Sent) -> bool:
    """Return True if a strict server reads the task's tensors from the request."""
    try:
        _compare(sent, read_strictly(sent.request))
    except Finding:
        return False
    return True


def read_document(request: ClientRequest) -> Mapping[str, Any]:
    """Return the JSON of a request, strict and valid by its schema, wherever it ends. Raises
    Finding.
    """
    body = decoded_body(request)
    end = request.json_end or len(body)
    document = strict_json(body[:end], request.header_length)
    validate("request", document)
    return document


def _compare(sent: Sent, tensors: Sequence[Tensor]) -> None:
    """Raise Finding unless `tensors` are those of the task, in any order, bit for bit."""
    expected = {tensor.name: tensor for tensor in sent.asked.inputs}
    got = {tensor.name: tensor for tensor in tensors}
    if set(expected) != set(got) or len(tensors) != len(got):
        raise Finding(WrongInputs(_names(expected), _names(t.name for t in tensors)))
    rounded = {entry.name for entry in sent.asked.request.inputs if entry.of is not None}
    for name, tensor in expected.items():
        one = _with_nans_of(tensor, got[name]) if name in rounded else got[name]
        compare_tensors(tensor, ReadOutput(one, "json", 0))


def _with_nans_of(expected: Tensor, got: Tensor) -> Tensor:
    """Return `got` with the NaNs of `expected` in place of its own: rounding to BF16 keeps a NaN a
    NaN, but not its bits.
    """
    if (got.datatype, len(got.blob)) != (expected.datatype, len(expected.blob)):
        return got
    wanted, rounded = (np.frombuffer(tensor.blob, "<u2") for tensor in (expected, got))
    nans = (wanted & 0x7FFF > 0x7F80) & (rounded & 0x7FFF > 0x7F80)
    return replace(got, blob=np.where(nans, wanted, rounded).tobytes())


def _header_length(sent: Sent) -> None:
    request, body = sent.request, sent.body
    values = request.values(HEADER_LENGTH.lower())
    end = request.json_end
    if not end:
        raise Finding(UnreadableRequest("its body does not begin with JSON"))
    if not values:
        if sent.has_blobs:
            raise Finding(NoHeaderLengthSent(len(body) - end))
        return
    strict_end(request, body)
    true = end if sent.has_blobs else len(body)
    if request.header_length != true:
        raise Finding(WrongHeaderLength(true, printable(values[0], 60)))


def _no_header_length(sent: Sent) -> None:
    values = sent.request.values(HEADER_LENGTH.lower())
    if values and not sent.has_blobs:
        raise Finding(HeaderLengthUnexpected(printable(values[0], 60)))


def _blobs(sent: Sent) -> None:
    """Check sizes and order, from where the JSON ends. A body without JSON is K35's."""
    body, at = sent.body, sent.request.json_end
    start = at
    if not start:
        return
    tensors = []
    for entry in sent.inputs:
        if {"name", "datatype", "shape"} <= set(entry) and isinstance(entry["shape"], list):
            tensor, at = tensor_of(entry, body, at)
            tensors.append(tensor)
    # White space may follow JSON, but no blob.
    if at < len(body) and (at > start or body[at:].strip(b" \t\r\n")):
        raise Finding(LeftoverBytes(start, at - start, len(body)))
    _compare(sent, tensors)


def _data_or_size(sent: Sent) -> None:
    for entry in sent.inputs:
        if size_of(entry) is None and "data" not in entry:
            raise Finding(NoDataNoSize(printable(entry.get("name"), 60)))
    check_data_or_size(sent.inputs)


def _readable(sent: Sent) -> None:
    """Check each tensor by its own size, datatype and shape, and its elements. Where the blobs are
    is K2's, and how the JSON is written K35's."""
    try:
        _blobs(sent)
    except Finding as finding:
        if not isinstance(finding.cause, _OF_PLACES):
            raise


def _json(sent: Sent) -> None:
    read_document(sent.request)


def _coded_length(sent: Sent) -> None:
    """Check that the header length, if there is one, is that of the decoded JSON."""
    if sent.request.json_end and sent.request.values(HEADER_LENGTH.lower()):
        _header_length(sent)


def _framing(sent: Sent) -> None:
    """Check that what the caller gave as the message's framing was not sent as if it were true."""
    request = sent.request
    for name, value in sent.asked.request.headers.items():
        if name.lower() not in _FRAMING or value not in request.values(name.lower()):
            continue
        if name.lower() == HEADER_LENGTH.lower():
            _header_length(sent)
        elif not request.json_end:
            sent.body  # noqa: B018 (raises if it is not in the coding that is named)
            raise Finding(UnreadableRequest(f"its {name} is '{printable(value, 60)}'"))
    inputs = {entry.get("name"): entry for entry in sent.inputs}
    for given_input, tensor in zip(sent.asked.request.inputs, sent.asked.inputs, strict=True):
        wrong, true = given_input.parameters.get(BINARY_DATA_SIZE), len(tensor.blob)
        sent_size = parameters_of(inputs.get(tensor.name, {})).get(BINARY_DATA_SIZE)
        if wrong is not None and sent_size == wrong != true:
            owner = f"input {printable(tensor.name, 60)}"
            raise _parameter(owner, BINARY_DATA_SIZE, true, sent_size)


def _target(sent: Sent) -> None:
    request, asked = sent.request, sent.asked.request
    version = "" if asked.version is None else f"/versions/{asked.version}"
    path = f"/v2/models/{asked.model}{version}/infer"
    if request.method != "POST" or not unquote(request.path).endswith(path):
        got = printable(f"{request.method} {request.path}", 200)
        raise Finding(WrongTarget(f"POST {path}", got))


def _id(sent: Sent) -> None:
    expected, got = sent.asked.request.id, sent.request.document.get("id")
    if expected is not None and got != expected:
        raise Finding(WrongId(ascii(expected), ascii(got)[:200]))


def _forms(sent: Sent) -> None:
    """Check that inputs have the form that the caller wants, and parameters ask for the same
    outputs.
    """
    entries = {entry.get("name"): entry for entry in sent.inputs}
    for asked in sent.asked.request.inputs:
        entry = entries.get(asked.name)
        if entry is not None:
            got = "json" if size_of(entry) is None else "binary"
            if got != asked.form:
                check_data_or_size([entry])
                raise Finding(WrongForm(printable(asked.name, 60), asked.form, got))
    task = sent.asked.request
    general = parameters_of(sent.request.document).get(BINARY_DATA_OUTPUT)
    of_all = task.binary_data_output
    if task.outputs is None and of_all is not None and (general is True) != of_all:
        raise _parameter("the request", BINARY_DATA_OUTPUT, of_all, general)
    listed = {e.get("name"): e for e in _objects(sent.request.document.get("outputs"))}
    for output in task.outputs or ():
        own = parameters_of(listed.get(output.name, {})).get(BINARY_DATA)
        flag = general if own is None else own
        wanted = of_all if output.form is None else output.form == "binary"
        if wanted is not None and (flag is True) != wanted:
            if output.name not in listed:
                _outputs(sent)  # raises
            owner = f"output {printable(output.name, 60)}"
            raise _parameter(owner, BINARY_DATA, wanted, own)


def _outputs(sent: Sent) -> None:
    listed = _objects(sent.request.document.get("outputs"))
    expected = [output.name for output in sent.asked.request.outputs or ()]
    got = [str(entry.get("name")) for entry in listed]
    if got and sent.asked.request.outputs is None:
        produced = [output.name for output in outputs_of(sent.asked, sent.script)]
        if sorted(got) == sorted(produced):
            return  # all of them by their names, as the metadata has them, is no other wish
    if sorted(got) != sorted(expected):
        raise Finding(WrongOutputsAsked(_names(expected), _names(got)))


def _caller_parameters(sent: Sent) -> None:
    document, task = sent.request.document, sent.asked.request
    inputs = {entry.get("name"): entry for entry in sent.inputs}
    outputs = {entry.get("name"): entry for entry in _objects(document.get("outputs"))}
    owners: list[tuple[str, Mapping[str, Any], Mapping[str, Any]]] = [
        ("the request", task.parameters, document)
    ]
    owners += [
        (f"input {printable(i.name, 60)}", i.parameters, inputs.get(i.name, {}))
        for i in task.inputs
    ]
    owners += [
        (f"output {printable(o.name, 60)}", o.parameters, outputs.get(o.name, {}))
        for o in task.outputs or ()
    ]
    if any(one.parameters and one.name not in outputs for one in task.outputs or ()):
        _outputs(sent)  # raises
    for owner, given, entry in owners:
        got = parameters_of(entry)
        for name, value in given.items():
            same = type(got.get(name)) is type(value) and got.get(name) == value
            if name not in _RESERVED and not same:
                raise _parameter(owner, name, value, got.get(name))


def _caller_headers(sent: Sent) -> None:
    for name, value in sent.asked.request.headers.items():
        if name.lower() in _FRAMING:
            continue
        got = sent.request.values(name.lower())
        if value not in got:
            shown = printable(", ".join(got), 200) if got else None
            raise Finding(WrongField(name, value, shown))


def _no_stale_headers(sent: Sent) -> None:
    own = {name.lower() for name in sent.asked.request.headers}
    for asked in sent.before:
        for name, value in asked.request.headers.items():
            stale = name.lower() not in own and name.lower() not in _FRAMING
            if stale and value in sent.request.values(name.lower()):
                raise Finding(StaleField(name, value))
    name = HEADER_LENGTH.lower()
    true = sent.request.json_end if sent.has_blobs else len(sent.body)
    old = {value for request in sent.earlier for value in request.values(name)}
    for value in sent.request.values(name):
        if value in old and decimal(value) != true:
            raise Finding(StaleField(HEADER_LENGTH, printable(value, 60)))


def _no_stale_members(sent: Sent) -> None:
    """Check that what an earlier caller said, and this one does not, is not in the request."""
    request, asked = sent.request, sent.asked.request
    found = model_asked(request)
    version = None if found is None else found[1]
    parameters = parameters_of(request.document)
    for before in (one.request for one in sent.before):
        if asked.id is None and before.id is not None and request.document.get("id") == before.id:
            raise Finding(StaleMember("id", printable(before.id, 60)))
        if asked.version is None and version is not None and version == before.version:
            raise Finding(StaleMember("version", printable(version, 60)))
        for name, value in before.parameters.items():
            if name not in asked.parameters and parameters.get(name) == value:
                raise Finding(StaleMember(f"parameter {name}", printable(str(value), 60)))


def _content_type(sent: Sent) -> None:
    (check_binary_type if sent.has_blobs else check_json_type)(sent.request)


def _compressed(sent: Sent) -> None:
    wanted = sent.asked.request.request_compression
    got = tuple(known(name) or name for name in sent.request.codings)
    if got != (() if wanted is None else (wanted,)):
        named = printable(", ".join(sent.request.codings), 60) or None
        raise Finding(WrongField("Content-Encoding", wanted or "none", named))
    if wanted is not None:
        _json(sent)  # raises if it is not in that coding, or in it twice


def _accept_encoding(sent: Sent) -> None:
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


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _parameter(owner: str, name: str, expected: object, got: object) -> Finding:
    shown = None if got is None else printable(json.dumps(got), 200)
    return Finding(WrongParameter(owner, printable(name, 60), json.dumps(expected), shown))


def _names(names: Any) -> tuple[str, ...]:
    return tuple(printable(str(name), 60) for name in list(names)[:MOST_SHOWN])


CHECKS: Mapping[str, Callable[[Sent], None]] = {
    "accept_encoding": _accept_encoding,
    "blobs": _blobs,
    "caller_headers": _caller_headers,
    "caller_parameters": _caller_parameters,
    "coded_length": _coded_length,
    "compressed": _compressed,
    "content_type": _content_type,
    "data_or_size": _data_or_size,
    "forms": _forms,
    "framing": _framing,
    "header_length": _header_length,
    "id": _id,
    "json": _json,
    "no_header_length": _no_header_length,
    "no_stale_headers": _no_stale_headers,
    "no_stale_members": _no_stale_members,
    "outputs": _outputs,
    "readable": _readable,
    "target": _target,
    # About what the client says, not what it sent: see judging.clients.
    "unchanged_headers": lambda sent: None,
}
"""By the names that `expect.request` in schemas/scenario.schema.json allows."""
