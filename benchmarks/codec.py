"""The BYTES codec compared with that of tritonclient, as JSON; null without tritonclient."""

from __future__ import annotations

import importlib
import json
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sizes import size

from v2_conformance.protocol.datatypes import decode_bytes, encode_bytes

ELEMENTS = size(500_000, 500)
LONGEST = 40
ROUNDS = size(7, 1)


def main() -> None:
    try:
        client: Any = importlib.import_module("tritonclient.utils")
    except ImportError:
        print(json.dumps(None))
        return
    source = random.Random(1)
    elements = [source.randbytes(source.randint(0, LONGEST)) for _ in range(ELEMENTS)]
    array = np.array(elements, dtype=np.object_)
    blob = encode_bytes(elements)
    assert client.serialize_byte_tensor(array).item() == blob
    assert client.deserialize_bytes_tensor(blob).tolist() == decode_bytes(blob) == elements
    result = {}
    for name, ours, theirs in (
        ("encode", lambda: encode_bytes(elements), lambda: client.serialize_byte_tensor(array)),
        ("decode", lambda: decode_bytes(blob), lambda: client.deserialize_bytes_tensor(blob)),
    ):
        times = [(_seconds(ours), _seconds(theirs)) for _ in range(ROUNDS)]
        result[name] = {
            "ours_s": statistics.median(a for a, _ in times),
            "theirs_s": statistics.median(b for _, b in times),
            "ratio": statistics.median(b / a for a, b in times),
        }
    print(json.dumps(result))


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
