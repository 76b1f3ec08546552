"""Checks of a client's request: the tensors of its task, and what a scenario asks for by name.

Each check is about one thing and reads the rest tolerantly, so that one defect of a client fails
its own scenarios and not all of them. Only a request that a strict server accepts with tensors
other than the caller's is wrong everywhere. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from msgspec.structs import replace

from v2_clients.bench.requests import ClientRequest, objects, size_of
from v2_clients.findings import (
    NoHeaderLengthSent,
    UnreadableRequest,
    WrongHeaderLength,
    WrongInputs,
)
from v2_clients.judging import callers
from v2_clients.judging.sent import Sent, by_name
from v2_clients.judging.tensors import (
    check_utf_8,
    decoded_body,
    read_strictly,
    strict_end,
    strict_json,
    tensor_of,
)
from v2_conformance.judging.checks import check_binary_type, check_data_or_size, check_json_type
from v2_conformance.judging.compare import compare_tensors
from v2_conformance.judging.messages.response import ReadOutput, validate
from v2_conformance.judging.verdict import Finding
from v2_conformance.protocol.content_codings import known
from v2_conformance.protocol.message import Tensor, parameters_of
from v2_conformance.protocol.names import BINARY_DATA_SIZE, HEADER_LENGTH
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.causes.base import printable

# Checks of the caller's own texts: those of JSON that is not UTF-8 are not what was sent.
_OF_TEXTS = ("blobs", "caller_parameters", "forms", "id", "no_stale_members", "outputs", "readable")
# Findings about where blobs are, not about what is in them.
_OF_PLACES = (kinds.BlobPastBody, kinds.LeftoverBytes, kinds.NoDataNoSize)


def check_request(sent: Sent, names: Sequence[str]) -> None:
    """Raise Finding for the first check of `names` that fails, or for wrong tensors."""
    for name in names:
        try:
            CHECKS[name](sent)
        except Finding:
            if name in _OF_TEXTS:
                check_utf_8(sent.request)
            raise
    try:
        tensors = read_strictly(sent.request)
    except Finding:
        return  # no server computes on it: each such defect has its own scenario
    _compare(sent, tensors)


def is_exact(sent: Sent) -> bool:
    """Return True if a strict server reads the task's tensors from the request."""
    with suppress(Finding):
        _compare(sent, read_strictly(sent.request))
        return True
    return False


def read_document(request: ClientRequest) -> Mapping[str, Any]:
    """Return the JSON of a request, strict and valid by its schema, wherever it ends. Raises
    Finding.
    """
    body = decoded_body(request)
    end = request.json_end or min(request.header_length or len(body), len(body))
    document = strict_json(body[:end], request.header_length)
    validate("request", document)
    return document


def _compare(sent: Sent, tensors: Sequence[Tensor]) -> None:
    """Raise Finding unless `tensors` are those of the task, in any order, bit for bit."""
    expected = {tensor.name: tensor for tensor in sent.asked.inputs}
    got = {tensor.name: tensor for tensor in tensors}
    if set(expected) != set(got) or len(tensors) != len(got):
        raise Finding(WrongInputs(callers.shown(expected), callers.shown(t.name for t in tensors)))
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
    true = len(body[:end].rstrip(b"\0")) if sent.has_blobs else len(body)
    if len(values) > 1 or request.header_length != true:  # RFC 9110, section 5.3
        raise Finding(WrongHeaderLength(true, printable(", ".join(values), 60)))


def _no_header_length(sent: Sent) -> None:
    values = sent.request.values(HEADER_LENGTH.lower())
    if values and not sent.has_blobs:
        raise Finding(kinds.HeaderLengthUnexpected(printable(values[0], 60)))


def read_blobs(request: ClientRequest) -> list[Tensor]:
    """Return the tensors of a request by its sizes, from where its JSON ends: none of a body
    without JSON, which is K35's. Raises Finding for a size that does not fit, and for what is
    missing or left over.
    """
    body, at = decoded_body(request), request.json_end
    start = at
    tensors: list[Tensor] = []
    if not start:
        return tensors
    for entry in objects(request.document.get("inputs")):
        if {"name", "datatype", "shape"} <= set(entry) and isinstance(entry["shape"], list):
            tensor, at = tensor_of(entry, body, at)
            tensors.append(tensor)
    # White space may follow JSON, but no blob.
    if at < len(body) and (at > start or body[at:].strip(b" \t\r\n")):
        raise Finding(kinds.LeftoverBytes(start, at - start, len(body)))
    return tensors


def _blobs(sent: Sent) -> None:
    """Check sizes and order, from where the JSON ends. A body without JSON is K35's."""
    if sent.request.json_end:
        _compare(sent, read_blobs(sent.request))


def _data_or_size(sent: Sent) -> None:
    for entry in sent.inputs:
        if size_of(entry) is None and "data" not in entry:
            raise Finding(kinds.NoDataNoSize(printable(entry.get("name"), 60)))
    check_data_or_size(sent.inputs)


def _readable(sent: Sent) -> None:
    """Check each tensor by its own size, datatype and shape, and its elements. Where the blobs are
    is K2's, and how the JSON is written K35's."""
    try:
        _blobs(sent)
    except Finding as finding:
        if not isinstance(finding.cause, _OF_PLACES):
            raise


def _coded_length(sent: Sent) -> None:
    """Check that the header length, if there is one, is that of the decoded JSON."""
    if sent.request.json_end and sent.request.values(HEADER_LENGTH.lower()):
        _header_length(sent)


def _framing(sent: Sent) -> None:
    """Check that what the caller gave as the message's framing was not sent as if it were true."""
    request = sent.request
    for name, value in sent.asked.request.headers.items():
        if name.lower() not in callers.OF_THE_MESSAGE or value not in request.values(name.lower()):
            continue
        if name.lower() == HEADER_LENGTH.lower():
            _header_length(sent)
        elif not request.json_end:
            sent.body  # noqa: B018 (raises if it is not in the coding that is named)
            raise Finding(UnreadableRequest(f"its {name} is '{printable(value, 60)}'"))
    inputs = by_name(request.document.get("inputs"))
    for given_input, tensor in zip(sent.asked.request.inputs, sent.asked.inputs, strict=True):
        wrong, true = given_input.parameters.get(BINARY_DATA_SIZE), len(tensor.blob)
        sent_size = parameters_of(inputs.get(tensor.name, {})).get(BINARY_DATA_SIZE)
        if wrong is not None and sent_size == wrong != true:
            owner = f"input {printable(tensor.name, 60)}"
            raise callers.wrong_parameter(owner, BINARY_DATA_SIZE, true, sent_size)


def _compressed(sent: Sent) -> None:
    wanted = sent.asked.request.request_compression
    got = tuple(known(name) or name for name in sent.request.codings)
    if wanted is not None and got != (wanted,):
        named = printable(", ".join(sent.request.codings), 60) or None
        raise Finding(kinds.WrongField("Content-Encoding", wanted, named))
    if got:  # a client may compress on its own
        read_document(sent.request)  # raises if it is not in that coding, or in it twice


CHECKS: Mapping[str, Callable[[Sent], object]] = {
    "accept_encoding": callers.check_accept_encoding,
    "blobs": _blobs,
    "caller_headers": callers.check_caller_headers,
    "caller_parameters": callers.check_caller_parameters,
    "coded_length": _coded_length,
    "compressed": _compressed,
    "content_type": lambda sent: (check_binary_type if sent.has_blobs else check_json_type)(
        sent.request
    ),
    "credentials": callers.check_credentials,
    "data_or_size": _data_or_size,
    "forms": callers.check_forms,
    "framing": _framing,
    "header_length": _header_length,
    "id": callers.check_id,
    "json": lambda sent: read_document(sent.request),
    "no_header_length": _no_header_length,
    "no_stale_headers": callers.check_no_stale_headers,
    "no_stale_members": callers.check_no_stale_members,
    "outputs": callers.check_outputs,
    "readable": _readable,
    "target": callers.check_target,
    # About what the client says, not what it sent: see judge.py.
    "unchanged_headers": lambda sent: None,
}
"""By the names that `expect.request` in schemas/scenario.schema.json allows."""
