"""The common parts of all kinds of vectors: result, flags, words, and how tensors are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isnan
from typing import Any, Literal

from tools.vectors.packed_bytes import packed
from v2_conformance.protocol.datatypes import to_values
from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import PROFILES
from v2_conformance.resources import schema_document
from v2_conformance.suite.cases import Case, CaseFacts
from v2_conformance.suite.requirements import catalogue
from v2_conformance.suite.statements import link

Message = dict[str, Any]
"""A part of a vector, or a whole one: schemas/vectors.schema.json says what it has."""
Result = Literal["valid", "invalid", "either"]
Should = Literal["accept", "reject"]

FLAGS: Mapping[str, str] = {
    "bf16": "a tensor of datatype BF16",
    "chunked": "some of its cases deliver it in HTTP chunks (the vector is the body without them)",
    "deflate": "a message in the content coding deflate (the zlib format)",
    "gzip": "a message in the content coding gzip",
    "layout": "an array of the caller that is column-major or big-endian",
    "long": "a message or tensor of over 64 KiB",
    "other-coding": "a content coding that is neither gzip nor deflate",
    "raw": "a raw request: header length 0, and no JSON",
    "repeated-field": "a header field that comes twice",
    "response-coding": "the request has Accept-Encoding",
    "several-writes": "some of its cases deliver it in several writes",
    "stand-in": "a model that takes the place of one with datatypes that a server lacks",
}
"""The features that a vector can need, by name."""

_LONG = 64 * 1024
DELIVERY = frozenset(
    {
        "accept",
        "connection",
        "content-length",
        "date",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Header fields of HTTP's own, which say nothing about the message."""

_SAYS_NOTHING: tuple[Any, ...] = (None, False, {}, ())


def told(**members: Any) -> Message:
    """Return the members that say something. A list that may be empty is one: only a tuple goes."""
    return {name: value for name, value in members.items() if value not in _SAYS_NOTHING}


def common(
    kind: str,
    case: Case,
    result: Result,
    should: Should | None,
    *,
    flags: tuple[str, ...],
    free: bool = False,
) -> Message:
    """Return the members that all kinds of vectors have."""
    facts = facts_of(case)
    return {
        "kind": kind,
        "id": case.id,
        "requirement": case.requirement,
        "level": facts.level,
        **told(blocks=facts.blocks),
        "result": result,
        **told(should=should, free=free),
        "flags": flags,
        "comment": " ".join(case.why.split()),
        "also": (),
    }


def cited(requirement: str) -> Message:
    """Return a requirement in words, with a link to the sentence on which it rests."""
    row = catalogue()[requirement]
    url = link(row.cite[0], requirement) if row.cite else ""
    statement = " ".join(row.statement.split())
    return {"title": row.title, "statement": statement, "link": url}


def facts_of(case: Case) -> CaseFacts:
    """Return what a report says of a case whose profiles are all claimed."""
    return case.facts(PROFILES)


def of_success(case: Case) -> tuple[Result, Should | None]:
    """Return the result of what must, should or may work."""
    level = facts_of(case).level
    if level == "MUST":
        return "valid", None
    return "either", "accept" if level == "SHOULD" else None


def of_rejection(case: Case, *, exact: bool) -> tuple[Result, Should | None]:
    """Return the result of an error, which is a SHOULD if something `exact` can be read."""
    if facts_of(case).level == "MUST" and not exact:
        return "invalid", None
    return "either", "reject"


def is_free(case: Case) -> bool:
    """Return True if other values than the expected ones break no MUST."""
    return bool(case.expect.get("ambiguous")) and facts_of(case).level != "MUST"


def has_nan(float32: bytes) -> bool:
    """Return True if an array of FP32 has a NaN: which one it becomes in BF16 is nobody's rule."""
    return any(map(isnan, to_values("FP32", float32)))


def tensor_of(tensor: Tensor, *, one_of: tuple[Any, ...] = (), **more: Any) -> Message:
    """Return a tensor as a vector has it. Raises NoVectorError."""
    return {
        "name": tensor.name,
        "datatype": tensor.datatype,
        "shape": tensor.shape,
        **told(data=None if one_of else packed(tensor.blob), one_of=one_of, **more),
    }


def rules(**members: Any) -> Message:
    """Return what a written message must have, in the order of the schema."""
    order = list(schema_document("vectors")["$defs"]["Rules"]["properties"])
    return told(**dict(sorted(members.items(), key=lambda member: order.index(member[0]))))


def message_fields(fields: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return the fields that belong to the message and not to its delivery."""
    return tuple((name, value) for name, value in fields if name.lower() not in DELIVERY)


def delivered(given: Mapping[str, Any]) -> str:
    """Return the flag of the way in which a request or an answer is delivered, "" for none."""
    delivery = given.get("delivery", "whole")
    how = "" if isinstance(delivery, str) else next(iter(delivery))
    return {"chunks": "chunked", "slices": "several-writes"}.get(how, "")


def flags_of(
    fields: Iterable[tuple[str, str]], datatypes: Iterable[str], size: int, *more: str
) -> tuple[str, ...]:
    """Return the flags that a message shows, and `more`."""
    results = {name for name in more if name}
    named = [(name.lower(), value.strip().lower()) for name, value in fields]
    results |= {"bf16"} & {name.lower() for name in datatypes}
    for name, value in named:
        if name == "content-encoding" and value != "identity":
            coding = value.removeprefix("x-")
            results.add(coding if coding in FLAGS else "other-coding")
        if name == "accept-encoding":
            results.add("response-coding")
    if len({name for name, _ in named}) < len(named):
        results.add("repeated-field")
    if size > _LONG:
        results.add("long")
    return tuple(sorted(results))
