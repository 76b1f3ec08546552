"""Vectors of elements: the values that cases send, as bytes, as exact numbers and as JSON."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence

from tools.vectors.made import Message, Result, Should, common, flags_of, has_nan, told
from tools.vectors.packed_bytes import NoVectorError, packed
from tools.vectors.servers import MadeRequest
from v2_clients.bench.tasks import asked_of
from v2_conformance.protocol.datatypes import DATATYPES, ElementError, to_json, to_values
from v2_conformance.protocol.message import Tensor
from v2_conformance.suite.cases import Case, ClientCase

_MOST_BYTES = 2048


def elements_of_request(made: MadeRequest) -> Iterator[Message]:
    """Yield the elements of each input of a request that must be accepted."""
    case = made.case
    several = "one_of" in case.expect or case.expect.get("compare") == "truth"
    if case.expects in ("success", "either") and not several:
        for tensor in made.inputs:
            yield from _elements(case, tensor, None)


def elements_of_scenario(case: ClientCase) -> Iterator[Message]:
    """Yield the elements of BF16 arrays that the caller has as FP32."""
    for asked in asked_of(case):
        for one, tensor in zip(asked.request.inputs, asked.inputs, strict=True):
            if one.of is not None:
                yield from _elements(case, tensor, one.data)


def _elements(case: Case, tensor: Tensor, float32: bytes | None) -> Iterator[Message]:
    datatype, blob = tensor.datatype, bytes(tensor.blob)
    if datatype not in DATATYPES or len(blob) > _MOST_BYTES:
        return
    try:
        values = to_values(datatype, blob)
        data = packed(blob)
        rounded = None if float32 is None else packed(float32)
    except (ElementError, NoVectorError):
        return
    try:
        written = json.dumps(to_json(datatype, (len(values),), blob), ensure_ascii=False)
    except ElementError:
        written = None
    result: Result = "valid" if float32 is None else "either"
    should: Should | None = None if float32 is None else "accept"
    free = float32 is not None and has_nan(float32)
    flags = flags_of((), (datatype,), len(blob))
    yield {
        **common("datatypes", case, result, should, free=free, flags=flags),
        "datatype": datatype,
        "shape": [len(values)],
        "data": data,
        "values": list(_words(values)),
        **told(json=written, float32=rounded),
    }


def _words(values: Sequence[object]) -> Iterator[str]:
    for value in values:
        if isinstance(value, bytes):
            yield base64.b64encode(value).decode()
        elif isinstance(value, float):
            yield value.hex()
        else:
            yield str(value).lower()
