"""Faults of messages over 64 KiB that only one of a server's ways shows (V3)."""

from __future__ import annotations

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request
from v2_conformance.reference.request_reader import RequestInput
from v2_mutants.faults.shared.blobs import through_fp32
from v2_mutants.faults.shared.deliveries import blobs_cut_if, is_versioned
from v2_mutants.registry import Right, fault

_BUFFER = 1 << 16
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


@fault("long-fp64-data-through-fp32", "V3", Behaviour.json_blob)
def _(right: Right[Buffer], entry: RequestInput) -> Buffer:
    """Behind 1,000 elements, FP64 in JSON is read as FP32."""
    blob = right()
    start = 8 * _LONG
    long = entry.spec.datatype == "FP64" and len(blob) > start
    return bytes(blob[:start]) + through_fp32(blob[start:]) if long else blob
