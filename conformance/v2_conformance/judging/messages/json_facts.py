"""Facts about the JSON of a successful inference. The parse that judges the answer also finds them,
so that nothing is parsed twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from v2_conformance.protocol.message import parameters_of
from v2_conformance.protocol.names import BINARY_DATA_SIZE
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.causes.kinds import DataAndSize, RepeatedMember
from v2_conformance.wire.response import Response

_KEPT = "_json_facts"
_LONGEST_ID = 1000


class JsonFacts(msgspec.Struct, frozen=True):
    """Facts of one document. `id` is the member of any type; `repeated` names the first duplicate
    member; `both` the first output with data and a size (O11). `declared` is the sum of all
    outputs' sizes, `sized` says whether there is any.
    """

    id: Any
    repeated: RepeatedMember | None
    both: DataAndSize | None
    sized: bool
    declared: int


def json_facts(document: dict[str, Any], repeated: str | None) -> JsonFacts | None:
    """Return the facts of a document with the duplicate member `repeated`; None if it is not an
    inference response.
    """
    outputs = document.get("outputs")
    if not isinstance(outputs, list):
        return None
    sizes = _sizes(outputs)
    return JsonFacts(
        id=document.get("id"),
        repeated=None if repeated is None else RepeatedMember(printable(repeated, 60)),
        both=data_and_size(outputs) if sizes else None,
        sized=bool(sizes),
        declared=sum(size for size in sizes if isinstance(size, int)),
    )


def keep_facts(response: Response, facts: JsonFacts | None) -> None:
    """Keep the facts of a response with it: they follow from it alone.

    They may live until the end of the run, so nothing is kept that a server can make long.
    """
    if facts is None or facts.id is None or _is_short(facts.id):
        vars(response)[_KEPT] = facts


def has_facts(response: Response) -> bool:
    """Return True if the facts of a response were kept."""
    return _KEPT in vars(response)


def kept_facts(response: Response) -> JsonFacts | None:
    """Return the facts kept for a response."""
    found: JsonFacts | None = vars(response)[_KEPT]
    return found


def data_and_size(outputs: Iterable[Any]) -> DataAndSize | None:
    """Return the first of a response's `outputs` that has both data and a size (O11)."""
    for entry in outputs:
        if _size(entry) is not None and entry.get("data"):
            return DataAndSize(printable(entry.get("name"), 60))
    return None


def _sizes(outputs: Iterable[Any]) -> list[Any]:
    """Yield the sizes that outputs declare."""
    return [size for size in map(_size, outputs) if size is not None]


def _size(entry: Any) -> Any:
    return parameters_of(entry).get(BINARY_DATA_SIZE)


def _is_short(found: Any) -> bool:
    return isinstance(found, str) and len(found) <= _LONGEST_ID
