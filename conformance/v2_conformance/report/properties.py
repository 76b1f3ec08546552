"""Finds what the requests of failures have in common that others lack, in words. Pure."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import combinations
from typing import Any

from v2_conformance.judging.messages.request import read_request
from v2_conformance.protocol.content_codings import acceptable
from v2_conformance.protocol.datatypes import DATATYPES
from v2_conformance.protocol.message import json_object, parameters_of
from v2_conformance.report.document import CaseResult
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.wire.exchange import Body, Exchange

_READ, _LONG = 256 << 10, 64 << 10
# So many failures outweigh a right answer, whose request may hardly use what is broken.
_OUTWEIGH = 10
NO_ID = "without an id"
_HEADER_LENGTH = re.compile(rb"(?i)\ninference-header-content-length: *([0-9]{1,9}) *\r")
_UNLIKE = 4  # bytes of a blob that tell it from others
_FEW, _SOME = 3, 1 / 4  # wrong answers: fewer may be others' by chance


class _Sent:
    """The properties of a request, read from its beginning. Raises ValueError without JSON."""

    def __init__(self, exchange: Exchange) -> None:
        data = exchange.request.start(_READ)
        http = read_request(data)
        self.exchange, self.fields = exchange, dict(http.fields)
        self.raw = self.fields.get("inference-header-content-length") == "0"
        text = b"{}" if self.raw else http.json() or b""
        found = json_object(text)
        if found is None:
            raise ValueError("no JSON")
        self.document, self.ascii, self.path = found[0], text.isascii(), data.split(b"\r")[0]
        self.inputs, self.outputs = map(self._listed, ("inputs", "outputs"))
        asked = [parameters_of(one).get("binary_data") for one in self.outputs] or [None]
        default = self.raw or parameters_of(self.document).get("binary_data_output")
        self.forms = [(default if one is None else one) is True for one in asked]
        self.blobs = ["binary_data_size" in parameters_of(one) for one in self.inputs]
        self.shapes = [one["shape"] for one in self.inputs if type(one.get("shape")) is list]
        self.data = [one["data"] for one in self.inputs if type(one.get("data")) is list]

    def features(self) -> frozenset[str]:
        """Return its PROPERTIES, and the datatypes of its inputs."""
        types = {str(one.get("datatype")) for one in self.inputs} & DATATYPES.keys()
        return frozenset({words for words, holds in PROPERTIES.items() if holds(self)} | types)

    def _listed(self, name: str) -> list[dict[str, Any]]:
        found = self.document.get(name)
        return [one for one in found if type(one) is dict] if type(found) is list else []


# fmt: off
_PLAIN: dict[str, Callable[[_Sent], object]] = {
    "with binary inputs": lambda s: True in s.blobs,
    "with JSON inputs": lambda s: s.data,
    "with binary outputs": lambda s: True in s.forms,
    "with JSON outputs": lambda s: False in s.forms,
    NO_ID: lambda s: not s.raw and "id" not in s.document,
    "with several binary inputs": lambda s: s.blobs.count(True) > 1,
}
PROPERTIES: dict[str, Callable[[_Sent], object]] = {
    "with binary and JSON inputs": lambda s: len({*s.blobs}) > 1,
    "with binary and JSON outputs": lambda s: len({*s.forms}) > 1,
    "with an id": lambda s: "id" in s.document,
    "with binary_data_output": lambda s: "binary_data_output" in parameters_of(s.document),
    "with parameters on an input": lambda s: any(
        {*parameters_of(one)} - {"binary_data_size"} for one in s.inputs),
    "that are raw": lambda s: s.raw,
    "in chunks": lambda s: "chunked" in s.fields.get("transfer-encoding", ""),
    "in gzip": lambda s: "gzip" in s.fields.get("content-encoding", ""),
    "in deflate": lambda s: "deflate" in s.fields.get("content-encoding", ""),
    "in a content coding": lambda s: "content-encoding" in s.fields,
    "for encoded answers": lambda s: acceptable(s.fields.get("accept-encoding", "")),
    "on a versioned path": lambda s: b"/versions/" in s.path,
    "sent at once": lambda s: s.exchange.purpose is Purpose.SAMPLE,
    "in several writes": lambda s: s.exchange.pieces,
    "of over 64 KiB": lambda s: s.exchange.request.size > _LONG,
    "with answers of over 64 KiB": lambda s: s.exchange.received.size > _LONG,
    "with a dimension of 1": lambda s: any(1 in n for n in s.shapes),
    "with a tensor of no elements": lambda s: any(0 in n for n in s.shapes),
    "with nested data": lambda s: any(list in map(type, n) for n in s.data),
    "with text that is not ASCII": lambda s: not s.ascii,
    **_PLAIN,
}
# fmt: on


class Right:
    """The right requests of a run: the last one of each passed case."""

    def __init__(self, passed: Iterable[Sequence[Exchange]]) -> None:
        self._right = features_of(passed)

    def lack(self, failed: Iterable[Sequence[Exchange]]) -> str:
        """Return what all requests of failures have and hardly a right one has, "" for nothing:
        one property or, of many failures, two."""
        held = features_of(failed)
        common = frozenset.intersection(*held) if len(held) > 1 else ()
        shared = [words for words in PROPERTIES if words in common]
        if len(self._right) < _OUTWEIGH:
            shared = []
        for size in (1, 2) if len(held) >= _OUTWEIGH else (1,):
            both = min(combinations(shared, size), key=self._number, default=())
            if both and self._number(both) * _OUTWEIGH <= len(held):
                return f"requests {' and '.join(both)}"
        failing, right = (any(map(_is_plain, some)) for some in (held, self._right))
        return "even plain requests" if failing and not right else ""

    def _number(self, words: Collection[str]) -> int:
        return sum(one.issuperset(words) for one in self._right)


def _is_plain(features: frozenset[str]) -> bool:
    return features & PROPERTIES.keys() <= _PLAIN.keys()


def features_of(cases: Iterable[Sequence[Exchange]]) -> list[frozenset[str]]:
    """Return the features of each case's own request, unless it is generated or pipelined."""
    found = []
    for exchanges in cases:
        for one in _own(exchanges):
            if one.entry is None and one.answers == 1:
                with contextlib.suppress(ValueError):
                    found.append(_Sent(one).features())
    return found


def _own(exchanges: Sequence[Exchange]) -> Sequence[Exchange]:
    """Return the one that a case is about, the last of several."""
    return [one for one in exchanges if one.purpose in (Purpose.CASE, Purpose.SAMPLE)][-1:]


def mixed_up(wrong: Sequence[CaseResult], cases: Iterable[CaseResult]) -> set[str]:
    """Return the ids of `wrong` answers if they are those of other requests: if many have the blobs
    of another one, or of a right answer to it, and nothing of their own. Else nothing.
    """
    if len(wrong) < _FEW:
        return set()  # without reading all messages
    own = {case.id: one for case in wrong for one in _own(case.exchanges)}
    messages = (
        message
        for case in cases
        for one in case.exchanges
        for message in (one.request, *(() if case.id in own else (one.received,)))
    )
    there = {*map(_blobs, messages)} - {b""}
    others = [
        case
        for case in wrong
        if (one := own.get(case.id)) is not None
        and (blobs := _blobs(one.received)) in there
        and _blobs(one.request)
        and blobs not in one.request.start(_READ)
    ]
    many = len({case.requirement for case in others}) > 1
    many = many and len(others) >= max(_FEW, len(wrong) * _SOME)
    return {case.id for case in wrong} if many else set()


def _blobs(message: Body) -> bytes:
    """Return the blobs of a message, b"" if it has none or if they are like many others."""
    head, _, body = message.start(_READ).partition(b"\r\n\r\n")
    found = _HEADER_LENGTH.search(head + b"\r")
    blobs = body[int(found[1]) :] if found else b""
    return blobs if len({*blobs}) >= _UNLIKE else b""
