"""Hand-made V2 responses, and the verdicts on them."""

from __future__ import annotations

import struct
from typing import Any

from support.servers import make_case, prepared, transcript, v2
from v2_conformance.judging.judge import (
    FAIL,
    Verdict,
    judge,
)
from v2_conformance.suite.cases import Case
from v2_conformance.wire.http1 import COMPLETE

BLOB = struct.pack("<3i", 1, 2, 3)
REJECT = {"outcome": "reject"}
JSON = {"outcome": "success", "outputs": {"0": "json"}}


def entry(**members: Any) -> dict[str, Any]:
    """An output's JSON; by default the right one for 12 bytes of INT32."""
    return {"name": "OUTPUT0", "shape": [3], "datatype": "INT32", **members}


def sized(size: object = 12, **members: Any) -> dict[str, Any]:
    return entry(parameters={"binary_data_size": size}, **members)


def answer(*outputs: Any, **members: Any) -> dict[str, Any]:
    return {"model_name": "m", "outputs": list(outputs), **members}


GOOD = v2(answer(sized()), BLOB)
GOOD_JSON = v2(answer(entry(data=[1, 2, 3])))


def verdict(received: bytes, case: Case | None = None, ending: str = COMPLETE) -> Verdict:
    """The verdict, which must be the same when the recorded bytes are judged again."""
    case = case or make_case()
    came = judge(case, prepared(case), transcript(received, ending, "detail"))
    assert judge(case, prepared(case), transcript(bytes(received), ending, "detail")) == came
    assert came.message.isprintable()
    assert len(came.message) < 2000
    return came


def failed(received: bytes, *words: str, case: Case | None = None, ending: str = COMPLETE) -> str:
    came = verdict(received, case, ending)
    assert came.outcome == FAIL, came
    for word in words:
        assert word in came.message
    return came.message
