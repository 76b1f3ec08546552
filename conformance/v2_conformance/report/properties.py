"""What requests have in common: the properties that all failing ones have and no right one has.

They are read from recorded requests, and of each no more than its first bytes: a report may come
from anybody. Pure.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import msgspec

from v2_conformance.protocol.content_codings import acceptable
from v2_conformance.protocol.names import (
    BINARY_DATA,
    BINARY_DATA_OUTPUT,
    BINARY_DATA_SIZE,
    HEADER_LENGTH,
)
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.messages import codings_in, one_number, read_chunks, read_head

_READ, _LONG = 256 * 1024, 64 * 1024
_ANSWERED = re.compile(rb"HTTP/1\.[01] (100[^\n]*\n\r?\nHTTP/1\.[01] )?2")
# A few failures have more than two properties in common by chance, and one has any.
_MOST_TOGETHER = 2
# So many failures outweigh a right answer: its request may hardly use what is broken.
_OUTWEIGH = 10


class _Tensor(msgspec.Struct):
    name: str = ""
    datatype: str = ""
    shape: list[Any] = []
    data: Any = None
    parameters: dict[str, Any] = {}


class _Document(msgspec.Struct):
    id: Any = None
    inputs: list[_Tensor] = []
    outputs: list[_Tensor] = []
    parameters: dict[str, Any] = {}


class Sent:
    """What is read of a request. Raises ValueError for one that is malformed, or too long."""

    def __init__(self, exchange: Exchange) -> None:
        data = exchange.request.start(_READ)
        self.exchange, self.head = exchange, read_head(data)
        self.field = self.head.values
        self.codings = codings_in(self.field("content-encoding"))
        self.answers = acceptable(", ".join(self.field("accept-encoding")))
        self.named = self.field(HEADER_LENGTH.lower())
        length = one_number(self.named)
        body, at = data[self.head.end :], self.head.end
        if self.head.is_chunked:
            body = b"".join(data[one.data : one.end] for one in read_chunks(data, at) if one.size)
        if self.codings:
            body = zlib.decompressobj(47).decompress(body, _READ)
        self.text = data[:at] + body[:length]
        self.raw = length == 0
        plain = b"{}" if self.raw else body[:length]
        document = msgspec.json.decode(plain, type=_Document)
        self.id, self.parameters = document.id, document.parameters
        self.inputs, self.outputs = document.inputs, document.outputs
        asked = [one.parameters.get(BINARY_DATA) for one in self.outputs] or [None]
        default = self.raw or self.parameters.get(BINARY_DATA_OUTPUT)
        self.forms = [(default if one is None else one) is True for one in asked]
        self.blobs = [one for one in self.inputs if BINARY_DATA_SIZE in one.parameters]
        self.shapes = [one.shape for one in self.inputs] or ([] if body else [[0]])

    def typed(self, text: str) -> bool:
        """Return True if its Content-Type has this."""
        return any(text in value.lower() for value in self.field("content-type"))


def _other(known: str, *parameters: Collection[str]) -> bool:
    return any({*names} - {known} for names in parameters)


def _reordered(tensors: Iterable[_Tensor]) -> bool:
    names = [(len(one.name), one.name) for one in tensors]
    return names != sorted(names)


def _has_type(datatype: str, sent: Sent) -> bool:
    return any(one.datatype == datatype and 0 not in one.shape for one in sent.inputs)


@dataclass(frozen=True, eq=False)
class Property:
    """What is true of some requests, in words; the requirement about it, and if it `holds` of one.

    `plain` requests have no property but such.
    """

    words: str
    requirement: str
    holds: Callable[[Sent], object]
    plain: bool = False


_P = Property
_SIGNED, _UNSIGNED = ("INT8", "INT16", "INT32", "INT64"), ("UINT8", "UINT16", "UINT32", "UINT64")
_TYPES = dict.fromkeys(_SIGNED, "D1") | dict.fromkeys(_UNSIGNED, "D2")
_TYPES |= {"FP32": "D3", "FP64": "D5", "BOOL": "D6", "FP16": "D8", "BF16": "D9", "BYTES": "B1"}
# fmt: off
PROPERTIES = (
    _P("with binary outputs", "O1", lambda s: True in s.forms, plain=True),
    _P("with JSON outputs", "O2", lambda s: False in s.forms, plain=True),
    _P("with binary inputs", "P2", lambda s: s.blobs, plain=True),
    _P("with JSON inputs", "D11", lambda s: any(t.data is not None for t in s.inputs), plain=True),
    _P("with binary and JSON outputs", "O3", lambda s: len({*s.forms}) > 1),
    _P("with binary and JSON inputs", "M3", lambda s: 0 < len(s.blobs) < len(s.inputs)),
    _P("without a header length", "D11", lambda s: not s.named, plain=True),
    _P("without an id", "O18", lambda s: s.id is None and not s.raw, plain=True),
    _P("with an id", "O18", lambda s: s.id is not None),
    _P("that list outputs", "O13", lambda s: s.outputs, plain=True),
    _P("that ask for no output", "O4", lambda s: not (
        s.raw or s.outputs or BINARY_DATA_OUTPUT in s.parameters)),
    _P("with binary_data_output", "O5", lambda s: BINARY_DATA_OUTPUT in s.parameters),
    _P("that are raw", "W1", lambda s: s.raw),
    _P("in chunks", "C1", lambda s: s.head.is_chunked),
    _P("in a content coding", "Z1", lambda s: s.codings),
    _P("in gzip", "Z1", lambda s: "gzip" in s.codings),
    _P("in deflate", "Z1", lambda s: "deflate" in s.codings),
    _P("for encoded answers", "Z2", lambda s: s.answers),
    _P("for answers in gzip", "Z2", lambda s: "gzip" in s.answers),
    _P("for answers in deflate", "Z2", lambda s: s.answers == {"deflate"}),
    _P("on a versioned path", "V2", lambda s: b"/versions/" in s.head.first),
    _P("with a URL as target", "V2", lambda s: b"://" in s.head.first),
    _P("of HTTP/1.0", "V2", lambda s: s.head.first.endswith(b"/1.0")),
    _P("sent at once", "C6", lambda s: s.exchange.purpose is Purpose.SAMPLE),
    _P("on a kept connection", "C7", lambda s: s.exchange.reused, plain=True),
    _P("in several writes", "C4", lambda s: s.exchange.pieces),
    _P("whose body comes later", "C4", lambda s: s.exchange.pieces[:1] == (s.head.end,)),
    _P("with Expect: 100-continue", "V2", lambda s: s.field("expect")),
    _P("with a Connection field", "V2", lambda s: s.field("connection")),
    _P("with trailer fields", "V2", lambda s: s.field("trailer")),
    _P("without Accept", "V2", lambda s: not s.field("accept")),
    _P("without a Content-Type", "P14", lambda s: not s.field("content-type")),
    _P("typed application/octet-stream", "P12", lambda s: s.typed("octet"), plain=True),
    _P("typed application/json", "P13", lambda s: s.typed("json"), plain=True),
    _P("with the header length's name in other letters", "H2", lambda s: (
        s.named and HEADER_LENGTH.encode() not in s.text)),
    _P("of over 64 KiB", "V3", lambda s: s.exchange.request.size > _LONG),
    _P("with answers of over 64 KiB", "V3", lambda s: s.exchange.received.size > _LONG),
    _P("with several inputs", "M1", lambda s: len(s.inputs) > 1, plain=True),
    _P("with several binary inputs", "M1", lambda s: len(s.blobs) > 1, plain=True),
    _P("with binary inputs in another order", "M2", lambda s: _reordered(s.blobs)),
    _P("with inputs in another order", "M2", lambda s: _reordered(s.inputs)),
    _P("for several outputs", "O12", lambda s: len(s.forms) > 1, plain=True),
    _P("for several binary outputs", "O12", lambda s: s.forms.count(True) > 1, plain=True),
    _P("with outputs in another order", "O12", lambda s: _reordered(s.outputs)),
    _P("with parameters on an input", "S14", lambda s: (
        _other(BINARY_DATA_SIZE, *(t.parameters for t in s.inputs)))),
    _P("with parameters on an output", "O15", lambda s: (
        _other(BINARY_DATA, *(t.parameters for t in s.outputs)))),
    _P("with parameters of their own", "O15", lambda s: _other(BINARY_DATA_OUTPUT, s.parameters)),
    _P("with a scalar", "D13", lambda s: [] in s.shapes),
    _P("of two dimensions or more", "D10", lambda s: any(len(n) > 1 for n in s.shapes), plain=True),
    _P("of three dimensions or more", "D10", lambda s: any(len(n) > 2 for n in s.shapes)),
    _P("with a dimension of 1", "D10", lambda s: any(1 in n for n in s.shapes)),
    _P("with a tensor of no elements", "E1", lambda s: any(0 in n for n in s.shapes)),
    _P("with nested data", "V1", lambda s: any(
        type(t.data) is list and list in map(type, t.data) for t in s.inputs)),
    _P("with text that is not ASCII", "P10", lambda s: not s.text.isascii()),
    *(
        _P(f"with {name}", requirement, partial(_has_type, name), plain=True)
        for name, requirement in _TYPES.items()
    ),
)
# fmt: on
Having = frozenset[Property]


class Right:
    """The requests of passed cases that were answered; of each, its entry in the case files."""

    def __init__(self, passed: Iterable[tuple[str, Sequence[Exchange]]]) -> None:
        self._passed = list(passed)

    @cached_property
    def _having(self) -> Counter[tuple[str, Having]]:
        return Counter(
            (entry, held)
            for entry, exchanges in self._passed
            for held in having([exchanges])
            if any(_ANSWERED.match(one.received.start(1024)) for one in _own(exchanges))
        )

    def lack(self, failed: Sequence[Having], among: Collection[str] | None) -> list[Property]:
        """Return what all requests of failures have and hardly a right one has, [] for nothing.

        Only right ones of the entries `among` which they are count, if it is not None.
        """
        if len(failed) < 2:
            return []
        right: Counter[Having] = Counter()
        for (entry, held), number in self._having.items():
            if among is None or entry in among:
                right[held] += number
        common = [row for row in PROPERTIES if all(row in held for held in failed)]
        for number in range(1, min(len(failed), _MOST_TOGETHER + 1)) if right else ():
            strays = {
                rows: sum(n for held, n in right.items() if held.issuperset(rows))
                for rows in combinations(common, number)
            }
            best = min(strays, key=strays.__getitem__, default=())
            if best and strays[best] * _OUTWEIGH <= len(failed):
                return list(best)
        return []


def having(requests: Iterable[Sequence[Exchange]]) -> Iterator[Having]:
    """Yield the properties of cases' own requests, if they can be read."""
    for own in map(_own, requests):
        for exchange in own:
            known = vars(exchange)
            if "properties" not in known:
                try:
                    sent = Sent(exchange)
                    known["properties"] = frozenset(row for row in PROPERTIES if row.holds(sent))
                except (ValueError, zlib.error, RecursionError):
                    known["properties"] = None
            if known["properties"] is not None:
                yield known["properties"]


def _own(exchanges: Sequence[Exchange]) -> list[Exchange]:
    """Return the exchange of a case's own request, if it is one that is neither generated nor
    pipelined."""
    own = [one for one in exchanges if one.purpose in (Purpose.CASE, Purpose.SAMPLE)][-1:]
    return [one for one in own if one.entry is None and one.answers == 1]
