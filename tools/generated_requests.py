"""cases/generated_requests.yaml: generated requests as data, which no library's version decides.

Hypothesis makes many, and those are kept that together have the most different things in them. To
replace them, which changes what M7 sends, in a checkout:

    python -m tools.generated_requests > new.yaml && mv new.yaml \\
        cases/generated_requests.yaml
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from v2_conformance.judging.verdict import Verdict
from v2_conformance.protocol.datatypes import (
    DATATYPES,
    decode_bytes,
    element_count,
    encode_bytes,
)
from v2_conformance.runs.generated import first_failure
from v2_conformance.runs.result import Result
from v2_conformance.suite.cases import Case, RequestCase
from v2_conformance.suite.models import contract
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.values.patterns import value_pattern

Entry = Mapping[str, Any]

COUNT = 50
"""Requests to the models that every server has; `_MORE` has those to others, by role."""

_MORE = {"identity/BF16": 2, "trio": 2, "cube/FP64": 1, "cube/BYTES": 1}
_POOL = 600
_SEED = 0
_SURROGATES = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_PATTERNS = ("counting", "counting_in_json")
_HEAD = """\
# Well-formed requests that nobody wrote, the same for every run and version of any library. They
# are sent as the case M7/generated; a server gets those whose models and datatypes it has.
# tools/generated_requests.py made them.
#
# model    the role of the model
# request  as in a case file
# answer   the outputs that must come back, and their forms

requests:
"""


def pool(roles: Sequence[str]) -> list[Entry]:
    """Many generated requests to the models in `roles`, all different; none of them is sent.

    Left out are BYTES blobs in chunks that may end inside a length prefix: B10 is about them.
    """
    made: list[Entry] = []

    def keep(case: Case) -> Result:
        assert isinstance(case, RequestCase)
        made.append(
            {
                "model": case.model,
                "request": case.request,
                "answer": case.expect["outputs"],
            }
        )
        return Result(case, Verdict(Outcome.PASS))

    first_failure(keep, roles, _POOL, _SEED)
    fit = [entry for entry in made if not _cuts_bytes(entry)]
    return list({json.dumps(entry, sort_keys=True): entry for entry in fit}.values())


def _cuts_bytes(entry: Entry) -> bool:
    model, request = contract()[entry["model"]], entry["request"]
    delivery = request.get("delivery")
    cut = delivery.get("chunks", "one") if isinstance(delivery, dict) else "one"
    return cut not in ("one", "seam") and any(
        model.inputs[given.get("tensor", i)].datatype == "BYTES" and "form" not in given
        for i, given in enumerate(request["inputs"])
    )


def chosen(entries: Sequence[Entry], count: int) -> list[Entry]:
    """`count` of the entries: each next one has the most features that those before it lack."""
    features = [list(features_of(entry)) for entry in entries]
    lengths = [len(json.dumps(entry)) for entry in entries]
    seen: Counter[tuple[str, ...]] = Counter()
    left = list(range(len(entries)))
    found: list[int] = []
    while left and len(found) < count:
        best = max(left, key=lambda i: (sum(1 / 4 ** seen[f] for f in features[i]), -lengths[i]))
        seen.update(features[best])
        left.remove(best)
        found.append(best)
    return [entries[i] for i in found]


def features_of(entry: Entry) -> Iterator[tuple[str, ...]]:
    """Yield what a request has: each datatype with its forms, how outputs are selected, the
    delivery."""
    model, request = contract()[entry["model"]], entry["request"]
    for position, given in enumerate(request["inputs"]):
        index = given.get("tensor", position)
        datatype = model.inputs[index].datatype
        yield "in", datatype, given.get("form", "binary")
        yield "out", datatype, entry["answer"].get(str(index), "none")
    by_default = str(request.get("parameters", {}).get("binary_data_output"))
    listed = request.get("outputs")
    if listed is None:
        yield "outputs", by_default, "none"
    for output in listed or ():
        yield "outputs", by_default, str(output.get("binary_data"))
    if listed is not None and len(listed) < len(model.outputs):
        yield "outputs", by_default, "some"
    delivery = request.get("delivery", "whole")
    if isinstance(delivery, dict):
        ((kind, cut),) = delivery.items()
        yield "delivery", kind, cut if isinstance(cut, str) else type(cut).__name__
    else:
        yield "delivery", delivery
    yield "id", str("id" in request)
    yield "indent", str("json" in request)
    yield "model", entry["model"]


def written(entry: Entry) -> str:
    """One line of the file: the entry with each long blob as its first elements and a pattern."""
    model, request = contract()[entry["model"]], entry["request"]
    inputs = [
        {**given, "values": in_short(model.inputs[given.get("tensor", i)].datatype, given)}
        for i, given in enumerate(request["inputs"])
    ]
    line = {**entry, "request": {**request, "inputs": inputs}}
    return f"  - {_SURROGATES.sub(_as_yaml, json.dumps(line))}"


def _as_yaml(pair: re.Match[str]) -> str:
    """The escape that YAML has for what JSON writes as two halves."""
    character = json.loads(f'"{pair[0]}"')
    return f"\\U{ord(character):08x}"


def in_short(datatype: str, given: Mapping[str, Any]) -> dict[str, str]:
    """`values` with as few elements in `hex` as possible, the others from a pattern."""
    blob = bytes.fromhex(given["values"]["hex"])
    count = element_count(given["shape"])
    best = {"hex": blob.hex()}
    for name in _PATTERNS:
        first = _elements_before(datatype, blob, value_pattern(name, datatype, count))
        if len(first) * 2 + len(name) < len(best["hex"]):
            best = {"hex": first.hex(), "then": name}
    return best


def _elements_before(datatype: str, blob: bytes, pattern: bytes) -> bytes:
    """The elements of `blob` up to the last that differs from that of `pattern`."""
    size = DATATYPES[datatype].size
    if size is None:
        mine, theirs = decode_bytes(blob), decode_bytes(pattern)
    else:
        mine, theirs = (
            [data[i : i + size] for i in range(0, len(data), size)] for data in (blob, pattern)
        )
    end = len(mine)
    while end and mine[end - 1] == theirs[end - 1]:
        end -= 1
    return (
        encode_bytes(mine[:end]) if size is None else b"".join(bytes(item) for item in mine[:end])
    )


def main() -> None:
    """Print the file."""
    needed = [
        role
        for role, model in contract().items()
        if model.does == "identity" and model.profile == "binary" and not model.optional
    ]
    entries = chosen(pool(needed), COUNT)
    for role, count in _MORE.items():
        entries += chosen(pool([role]), count)
    sys.stdout.write(_HEAD + "\n".join(map(written, entries)) + "\n")


if __name__ == "__main__":
    main()
