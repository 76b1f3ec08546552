"""Faults of messages over 64 KiB that only one of a server's ways shows (V3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from v2_conformance.protocol.datatypes import Buffer, element_count
from v2_conformance.protocol.message import Tensor
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Framing, Request, Response
from v2_conformance.reference.request_reader import RequestInput
from v2_mutants.faults.shared.blobs import through_fp32
from v2_mutants.faults.shared.deliveries import blobs_cut_if, is_versioned
from v2_mutants.registry import Right, fault

_BUFFER = 1 << 16
_MEBIBYTE = 1 << 20
_LONG = 1000


def _has_trailers(request: Request) -> bool:
    return bool(request.framing) and not request.framing.endswith(b"\r\n0\r\n\r\n")


for _name, _where, _when in (
    ("after-continue", "After 100 Continue", lambda request: request.values("expect")),
    ("of-http-1.0", "Of an HTTP/1.0 request", lambda request: request.version == "1.0"),
    ("before-trailers", "If a trailer follows", _has_trailers),
    ("at-versioned-path", "At a path with a version",
     is_versioned),
    ("for-absolute-form", "With a URL as its target", lambda request: request.target[0] != "/"),
):  # fmt: skip
    fault(f"long-blobs-{_name}-cut", "V3", Behaviour.split_body)(
        f"{_where}, only 64 KiB of the blobs are read.", blobs_cut_if(_when, _BUFFER)
    )


@fault("long-answers-of-http-1.0-in-chunks", "V3", Behaviour.finish)
def _(right: Right[Response], request: Request, response: Response) -> Response:
    """Answers over 64 KiB are sent in chunks, to HTTP/1.0 clients as well."""
    result = right()
    long = result.size > _BUFFER and request.version == "1.0"
    return replace(result, framing=Framing.CHUNKS) if long else result


@fault("coded-answers-cut-at-a-mebibyte", "V3", Behaviour.compress)
def _(right: Right[tuple[Buffer, ...]], coding: str, body: Sequence[Buffer]) -> tuple[Buffer, ...]:
    """Of an answer over 1 MiB, only that much is compressed."""
    return right(coding, (b"".join(body)[:_MEBIBYTE],))


@fault("long-fp64-data-through-fp32", "V3", Behaviour.json_blob)
def _(right: Right[Buffer], entry: RequestInput) -> Buffer:
    """Behind 1,000 elements, FP64 in JSON is read as FP32."""
    blob = right()
    start = 8 * _LONG
    long = entry.spec.datatype == "FP64" and len(blob) > start
    return bytes(blob[:start]) + through_fp32(blob[start:]) if long else blob


@fault("long-integer-answers-through-doubles", "V3", Behaviour.output_data)
def _(right: Right[Any], tensor: Tensor) -> Any:
    """Over 1,000 elements, integers of 64 bits are written as doubles."""
    long = tensor.datatype in ("INT64", "UINT64") and element_count(tensor.shape) > _LONG
    return [int(float(one)) for one in right()] if long else right()
