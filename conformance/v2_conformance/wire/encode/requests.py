"""Encodes a case for the target's models: the bytes of one request, and what must come back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import unquote

import msgspec

from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.content_codings import CodingError, acceptable
from v2_conformance.protocol.datatypes import ElementError, from_values, to_array, to_values
from v2_conformance.protocol.message import Part, Tensor, compose
from v2_conformance.protocol.names import JSON_TYPE
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.models import ModelContract
from v2_conformance.suite.values.draws import draw_for
from v2_conformance.suite.variations import Variation, variation
from v2_conformance.wire.encode import from_hex
from v2_conformance.wire.encode.coded_body import code_body, encode_spelled
from v2_conformance.wire.encode.delivery import broken_off, make_request, read_delivery
from v2_conformance.wire.encode.deployment import Address, DeployedModel, KnownModel, Tolerance
from v2_conformance.wire.encode.document import encode_document, message_fields
from v2_conformance.wire.encode.inputs import (
    EncodedInput,
    Values,
    check_tensor,
    declared_part,
    encode_inputs,
)
from v2_conformance.wire.spelling.http import HttpSpelling, pipelined
from v2_conformance.wire.transport import Head, Request, write_head

LIVE = "/v2/health/live"
"""The path that says whether a server is alive."""

_ANY_CODING = acceptable(None)
_CODINGS = (("encoding", "Content-Encoding"), ("accept_encoding", "Accept-Encoding"))
_JSON_FLOATS = ("FP32", "FP64")  # the floats that have a JSON form everywhere


class Expected(msgspec.Struct, frozen=True):
    """An output that must come back: its exact tensor, in `form` binary, json or any.

    Floats may differ by the `tolerance`, if there is one. If the tensor is not `known`, it has
    only the output's name.
    """

    tensor: Tensor
    form: str
    tolerance: Tolerance | None = None
    known: bool = True


class Prepared(msgspec.Struct, frozen=True):
    """A request that is ready to be sent, and what must come back.

    `parts` are ranges of the body, before any content coding. `codings` are those that the
    response may have. `model` is the name of the model that the request is for. `following` is the
    request that is pipelined after it, if any. `to_old_client` says that the client speaks
    HTTP/1.0. `declined_by` has the statuses with which a server may refuse a variation of the
    request, or what it expects, with its name. `foreign_ids` are those of other requests, which no
    response to this one may have.
    """

    request: Request
    model: str = ""
    parts: tuple[Part, ...] = ()
    expected: tuple[Expected, ...] = ()
    request_id: str | None = None
    codings: frozenset[str] = _ANY_CODING
    following: Prepared | None = None
    to_old_client: bool = False
    declined_by: tuple[tuple[int, str], ...] = ()
    foreign_ids: tuple[str, ...] = ()

    @property
    def chunked(self) -> bool:
        """True if the body is sent in chunks, without a Content-Length."""
        return any(name == "Transfer-Encoding" for name, _ in self.request.head.fields)

    @property
    def body_size(self) -> int:
        """Bytes of the body with or without its content coding, whichever is larger."""
        decoded = self.parts[-1].end if self.parts else 0
        return max(decoded, sum(len(piece) for piece in self.request.body))


def prepare(
    case: RequestCase, address: Address, binding: DeployedModel, *, variant: int = 0
) -> Prepared:
    """Return the request of `case` to the model `binding`.

    Variants of a case (C6) have the same shapes and other values. Raises CaseFileError, which names
    the case, for every mistake of its author; anything else that it raises is a bug of the suite.
    """
    try:
        return _prepare(case, address, binding, variant)
    except (CaseFileError, CodingError, ElementError, UnicodeEncodeError) as error:
        raise CaseFileError(f"{case.id}: {error}") from error


def _prepare(case: RequestCase, address: Address, binding: DeployedModel, variant: int) -> Prepared:
    request, model = case.request, binding.contract
    if binding.parameters:
        own = request.get("parameters", {})
        request = {**request, "parameters": {**binding.parameters, **own}}
        case = replace(case, request=request)
    draw = draw_for(address.seed, case.id)
    if draw is not None:
        if isinstance(request.get("id"), str):
            request = {**request, "id": draw.text(request["id"])}
        # Also without an id of its own: then any of theirs is wrong.
        case = replace(case, request=request, foreign_ids=tuple(map(draw.text, case.foreign_ids)))
    inputs = encode_inputs(request, model, binding.inputs, Values(variant, draw))
    name = unquote(binding.model)
    blobs = [(item.tensor.name, item.blob) for item in inputs if item.blob is not None]
    behind = sum(len(blob) for _, blob in blobs)
    raw = request.get("raw")
    document = b"" if raw else encode_document(case, inputs, binding.outputs, name, behind)
    codings = [(field, request[name]) for name, field in _CODINGS if name in request]
    fields = message_fields(request, len(document), behind, codings, binary=bool(blobs))
    change = request.get("body", {})
    extra = appended(change["append"]) if "append" in change else b""
    extended = [*blobs, ("", extra)] if extra else blobs
    length = len(document) + sum(len(blob) for _, blob in extended)
    dropped = change.get("drop", 0)
    if dropped > length:
        raise CaseFileError(f"`body.drop`: the body has {length} bytes")
    length -= dropped
    given = [variation(name) for name in case.variations]
    coded = None
    if "encoding" in request:
        plain = compose(b"", document, extended)[0][:length]
        coded = encode_spelled(given, plain)
        if coded is None:
            coded = code_body(request["encoding"], plain, request.get("encoded"))
    delivery = request.get("delivery", "whole")
    if read_delivery(delivery)[0] == "chunks":
        fields.append(("Transfer-Encoding", "chunked"))
    else:
        fields.append(("Content-Length", str(length if coded is None else len(coded))))
    model_path = binding.path
    if "version" in request:
        model_path = f"/v2/models/{binding.model}/versions/{request['version']}"
    path = request.get("path", f"{model_path}/infer")
    origin = f"{address.scheme}://{address.host}"
    spelling = HttpSpelling(given, origin, binding.model, binding.version)
    method = request.get("method", "POST")
    head = spelling.head(Head(method, address.prefix + path, (*address.fields, *fields)))
    written = spelling.write_head(head)
    wire, parts = compose(written, document, extended)
    if extra:
        parts = (*parts[:-1], msgspec.structs.replace(parts[-1], kind="slack"))
    if dropped:
        wire = wire[: len(written) + length]
        parts = tuple(
            msgspec.structs.replace(p, end=min(p.end, length)) for p in parts if p.start < length
        )
    sent = wire if coded is None else written + coded
    body = memoryview(wire)[len(written) :]
    made = make_request(head, sent, len(written), delivery, parts, spelling)
    following = None
    if spelling.pipelined:
        after = case.next or (replace(case, variations=()),)
        for number, later in reversed([*enumerate(after, variant + 1)]):
            following = _before(_prepare(later, address, binding, number), following)
    made = spelling.deliver(made, len(written), following.request if following else None)
    made = broken_off(made, request.get("client"))
    if "unread_ms" in request:
        made = msgspec.structs.replace(made, unread_s=request["unread_ms"] / 1000)
    return Prepared(
        request=made,
        model=name,
        parts=parts,
        expected=_expected(case, model, binding, inputs, parts, body, variant),
        request_id=request.get("id"),
        codings=acceptable(request.get("accept_encoding")),
        following=following,
        to_old_client=not spelling.minor_version,
        declined_by=_declined_by(case, given),
        foreign_ids=case.foreign_ids,
    )


def _before(own: Prepared, following: Prepared | None) -> Prepared:
    """Return a request with the one that leaves after it in the same write, if there is one."""
    if following is None:
        return own
    both = pipelined(own.request, following.request)
    return msgspec.structs.replace(own, request=both, following=following)


def appended(given: str | int) -> bytes:
    """Return bytes that no tensor declares; none of them can pass for JSON or padding."""
    return from_hex(given) if isinstance(given, str) else b"\xa5" * given


def _declined_by(case: RequestCase, given: Sequence[Variation]) -> tuple[tuple[int, str], ...]:
    """Return statuses with which the server may refuse a valid request, and what they refuse.

    417 is an answer to any Expect field (RFC 9110, section 10.1.1).
    """
    result = {status: item.name for item in given for status in item.declined_by}
    headers = case.request.get("headers")
    if headers and case.expects == "success" and "expect" in map(str.lower, headers):
        result.setdefault(417, "Expect")
    return tuple(result.items())


def get_request(address: Address, path: str) -> Request:
    """Return a plain GET of a path below the target's prefix."""
    head = Head("GET", address.prefix + path, address.fields)
    return Request(head, (), (write_head(head),))


def post_request(address: Address, path: str, body: bytes) -> Request:
    """Return a POST of a JSON body to a path below the target's prefix."""
    fields = (("Content-Type", JSON_TYPE), ("Content-Length", str(len(body))))
    head = Head("POST", address.prefix + path, (*address.fields, *fields))
    return Request(head, (body,), (write_head(head) + body,))


def _expected(
    case: RequestCase,
    model: ModelContract,
    binding: DeployedModel,
    inputs: Sequence[EncodedInput],
    parts: Sequence[Part],
    body: memoryview,
    variant: int,
) -> tuple[Expected, ...]:
    """Return the outputs that must come back; those sent in binary form share the
    request's memory.
    """
    sent = {item.index: item for item in inputs}
    if binding.known is not None:
        return _known_answers(case, binding, binding.known, variant)
    given = case.expect.get("outputs", {})
    if isinstance(given, str):
        given = dict.fromkeys(map(str, sorted(sent)), given)
    ranges = {part.name: body[part.start : part.end] for part in parts if part.kind == "blob"}
    expected = []
    for key, form in given.items():
        index = int(key)
        source = sent.get(0 if model.does == "first_three" else index)
        if source is None or index >= len(binding.outputs):
            raise CaseFileError(f"`expect.outputs`: no input is sent of which {key} is made")
        if case.expects != "reject" and not source.filled:
            check_tensor(source.tensor)
        name = binding.outputs[index]
        if model.does == "first_three":
            tensor = _first_three(name, source.tensor, index)
        elif case.expects == "reject":
            declared = declared_part(source.tensor)
            if declared is None:
                return ()  # no reading of the request is exact
            tensor = msgspec.structs.replace(declared, name=name)
        else:
            tensor = _same(name, source.tensor, ranges.get(source.tensor.name))
        expected.append(Expected(tensor, form))
    return tuple(expected)


def _known_answers(
    case: RequestCase, binding: DeployedModel, known: KnownModel, variant: int
) -> tuple[Expected, ...]:
    """Return the outputs that the case asks for, as the model answered them to its
    plain request.
    """
    if known.differing is not None:
        return ()
    special = next((e["special"] for e in case.request["inputs"] if "special" in e), None)
    answers = None
    if known.answers is not None:
        ordinary = known.answers[variant % len(known.answers)]
        answers = ordinary if special is None else known.special[special]
    given = case.expect.get("outputs", {})
    if answers is None:
        return tuple(
            Expected(Tensor(binding.outputs[int(key)], "", (), b""), form, known=False)
            for key, form in given.items()
        )
    tolerance = known.tolerance
    if tolerance is None and special is not None and _has_negative_zero(known.model, special):
        tolerance = Tolerance()  # a reader or writer of JSON may lose its sign (D11)
    return tuple(Expected(answers[int(key)], form, tolerance) for key, form in given.items())


def _has_negative_zero(model: ModelContract, special: int) -> bool:
    import numpy as np

    inputs = zip(model.inputs, model.special[special], strict=True)
    arrays = [
        to_array(spec.datatype, one.blob) for spec, one in inputs if spec.datatype in _JSON_FLOATS
    ]
    return any(bool(np.signbit(array[array == 0]).any()) for array in arrays)


def _same(name: str, tensor: Tensor, sent: memoryview | None) -> Tensor:
    """Return `tensor` under another name, in the memory of the blob that is `sent`
    for it, if any.
    """
    if sent is None or len(sent) != len(tensor.blob):
        return Tensor(name, tensor.datatype, tensor.shape, tensor.blob)
    return Tensor(name, tensor.datatype, tensor.shape, sent)


def _first_three(name: str, tensor: Tensor, index: int) -> Tensor:
    values = to_values(tensor.datatype, tensor.blob)[:3]
    if len(values) < 3:
        raise ElementError(f"the model needs three elements, but gets {len(values)}")
    signed = values if index == 0 else [-value for value in values]
    return Tensor(name, tensor.datatype, (3, 1), from_values(tensor.datatype, signed))
