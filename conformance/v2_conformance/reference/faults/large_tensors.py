"""Faults of large tensors (L)."""

from __future__ import annotations

from collections.abc import Sequence

from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.faults.shared.blobs import resize
from v2_conformance.reference.http_messages import Rejected, Request, Response
from v2_conformance.suite.models import ModelContract

_LIMIT = 2**19


@fault(
    "body-capped-at-512-kib",
    breaks="L1",
    text="An inference request with a body of more than 512 KiB is rejected.",
)
class _BodyCappedAt512Kib(Behaviour):
    def infer(self, model: ModelContract, request: Request) -> Response:
        if len(request.body) > _LIMIT:
            raise Rejected("the body is longer than 512 KiB", 413)
        return super().infer(model, request)


@fault(
    "large-output-cut",
    breaks="L1",
    text="Everything after the first 512 KiB of a blob is returned as zeros.",
)
class _LargeOutputCut(Behaviour):
    def response_body(self, text: bytes, blobs: Sequence[Buffer]) -> tuple[Buffer, ...]:
        cut = [resize(blob[:_LIMIT], len(blob)) for blob in blobs]
        return super().response_body(text, cut)


@fault(
    "zeros-behind-a-mebibyte",
    breaks="L1",
    text="What is behind the first mebibyte of a blob is returned as zeros.",
)
class _ZerosBehindAMebibyte(Behaviour):
    def response_body(self, text: bytes, blobs: Sequence[Buffer]) -> tuple[Buffer, ...]:
        cut = [resize(blob[: 2 * _LIMIT], len(blob)) for blob in blobs]
        return super().response_body(text, cut)
