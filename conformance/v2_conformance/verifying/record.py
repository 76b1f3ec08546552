"""The recorded exchanges of a report, for the driver that plays conversations from a record.

Each step of a conversation names the request that the suite sends there, which is made again and
compared with the next recorded one. What bytes cannot show, such as times and how a connection
ended, is taken as it is.
"""

from __future__ import annotations

import operator
import re
import zlib
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from urllib.parse import urlsplit

from msgspec.structs import astuple

from v2_conformance.errors import ReportFileError
from v2_conformance.judging.claims import Claims
from v2_conformance.protocol.content_codings import CodingError, decode, known
from v2_conformance.protocol.names import DRAWS
from v2_conformance.redaction import MASKED, WITHHELD, Mask
from v2_conformance.report.document import Report
from v2_conformance.report.verdict.summary import left_out_of
from v2_conformance.suite.cases import Case
from v2_conformance.suite.models import contract
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.wire.encode.deployment import Address
from v2_conformance.wire.encode.requests import Prepared
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.messages import read_messages
from v2_conformance.wire.response import Ending

# Servers take a head of some KiB, with about a hundred fields.
_MOST_FIELDS = 1000
_MOST_CHARACTERS = 1 << 20
_MASKED = re.compile(rb"\*{%d,}" % len(MASKED))
_UNANSWERED = (Ending.CLOSED, Ending.REFUSED, Ending.TIMEOUT)
_LENGTH = re.compile(rb"(?im)^(Content-Length:[ \t]*)([0-9]{1,18})")
_MOST = 8 << 20
_BEGINNING = 4096
_GZIP_OR_DEFLATE = 32 + zlib.MAX_WBITS
_Equal = Callable[[bytes, bytes], bool]
_Message = tuple[bytes, bool, bytes]


class RecordedError(ValueError):
    """No run can have left this record of an exchange or a case; the message is one line."""


class UnconfirmedError(ValueError):
    """The report lacks what was judged; the message says so in one line."""


@dataclass(frozen=True)
class Setting:
    """A report, and what its requests followed from. `mask` hides what the report hides, if it
    `masks` anything. `cases` are of this installation; `planned` the run could send, if known.
    `left_out` is what shows that the server leaves the extension out, else "", read once for all
    cases."""

    report: Report
    address: Address
    claims: Claims
    mask: Mask
    masks: bool
    cases: Mapping[str, Case] = field(default_factory=dict)
    planned: Mapping[str, Case] | None = None

    @cached_property
    def left_out(self) -> str:
        return left_out_of(self.report)


def setting_of(report: Report) -> Setting:
    """Return what a report says of its run. Raises ReportFileError if its target has no URL, or
    more for each request than any server takes."""
    target = report.target
    size = sum(len(name) + len(value) for name, value in target.headers)
    texts = (str(part) for one in target.models.values() for part in astuple(one))
    size += len(target.url) + len(target.host) + max(map(len, texts), default=0)
    if len(target.headers) > _MOST_FIELDS or size > _MOST_CHARACTERS:
        raise ReportFileError(
            "the report cannot be judged again: no server takes requests with so much in their head"
        )
    try:
        parts = urlsplit(target.url)
    except ValueError as error:
        raise ReportFileError(
            f"the report cannot be judged again: its target has no URL ({error})"
        ) from error
    hidden = tuple(name for name, value in target.headers if value and not value.strip("*"))
    if report.seed is not None and report.draws != DRAWS:
        raise ReportFileError("another version drew its values: verify it with that one")
    path = parts.path.rstrip("/")
    present = {
        role: model.deployed(role)
        for role, model in target.models.items()
        if (known := contract().get(role)) is not None
        and len(model.inputs) == len(known.inputs)
        and len(model.outputs) == len(known.outputs)
    }
    return Setting(
        report,
        Address(target.host, path, target.headers, parts.scheme, report.seed),
        Claims(target.profiles, frozenset(target.unsupported), present, target.absent),
        Mask(fields=hidden),
        bool(hidden) or target.masked,
    )


class RecordedExchanges:
    """The exchanges of a report, each of which answers one step."""

    def __init__(self, exchanges: Sequence[Exchange], setting: Setting) -> None:
        self.left = deque(exchanges)
        self.setting = setting
        self.taken: list[Exchange] = []

    def comes(self, purpose: Purpose) -> bool:
        """Return True if the next exchange is for this purpose."""
        return bool(self.left) and self.left[0].purpose is purpose

    def take(self, what: str, purposes: Collection[Purpose], *candidates: Prepared) -> Exchange:
        """Return the next exchange: one of these requests, which is `matched` then, sent for one of
        these purposes.

        `what` names it in messages. Raises RecordedError if it is another one or missing, and
        UnconfirmedError if the report does not have all of it.
        """
        if not self.left:
            raise RecordedError(f"{what} is not recorded")
        recorded = self.left.popleft()
        if recorded.purpose not in purposes:
            raise RecordedError(f"{what} is not recorded; instead: {recorded.purpose.value}")
        check_whole(recorded)
        exchange, ending = recorded.unpacked(), recorded.ending
        partial = exchange.partial
        arrived = partial is not None and partial.whole and exchange.answers == 1
        if (ending is Ending.COMPLETE and partial is None) or (ending in _UNANSWERED and arrived):
            raise RecordedError(f"the recorded response does not end as the record says: {ending}")
        self.matched = self._matching(what, candidates, exchange)
        self.taken.append(exchange)
        return exchange

    def end(self) -> None:
        """Raise RecordedError if more is recorded than the suite sends."""
        if self.left:
            raise RecordedError(
                f"{self.left[0].purpose.value} is recorded, but the suite sends nothing more there"
            )

    def _matching(self, what: str, candidates: Sequence[Prepared], exchange: Exchange) -> Prepared:
        sent, differences = bytes(exchange.request), []
        for prepared in candidates:
            expected = b"".join(prepared.request.http1)
            at = first_difference(sent, expected, self.setting)
            if at is None and exchange.answers == prepared.request.answers:
                return prepared
            differences.append((at or 0, len(expected)))
        at, length = max(differences)
        raise RecordedError(
            f"{what} is not what the suite sends: expected {length} bytes, got {len(sent)}, the "
            f"first that differs is byte {at}"
        )


def check_whole(exchange: Exchange) -> None:
    """Raise UnconfirmedError if the report does not have all bytes of an exchange."""
    if exchange.omitted:
        raise UnconfirmedError(f"{exchange.omitted} bytes of its exchanges are not in the report")
    if exchange.note.endswith(WITHHELD):
        raise UnconfirmedError("a body of its exchanges is withheld: it may have a secret")


def first_difference(sent: bytes, expected: bytes, setting: Setting) -> int | None:
    """Return the offset at which recorded bytes differ from the `expected` ones, else None.

    If the report masks secrets, masked bytes are not compared: the values of header fields that
    it hides, and each run of six or more asterisks. All others must be equal, and so must lengths;
    bodies in a content coding must decode to the same.
    """
    if setting.masks:
        expected = setting.mask.sent(expected)
    equal = _equal_but_for_masks if setting.masks else operator.eq
    if equal(sent, expected) or _same_decoded(sent, expected, equal):
        return None
    pairs = zip(sent, expected, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(sent), len(expected)))


def _equal_but_for_masks(sent: bytes, expected: bytes) -> bool:
    if len(sent) != len(expected):
        return False
    visible = bytearray(expected)
    for run in _MASKED.finditer(sent):
        visible[run.start() : run.end()] = run[0]
    return sent == visible


def _same_decoded(one: bytes, other: bytes, equal: _Equal) -> bool:
    """Return True if these messages are `equal`, or differ only in how bodies are compressed.

    Another zlib, such as zlib-ng, compresses the same bytes into other ones. What was made with it
    then differs in its compressed body, its Content-Length and its chunks alone.
    """
    pairs = zip_longest(_messages(one), _messages(other))
    return all(a and b and _same(a, b, equal) for a, b in pairs)


def _same(one: _Message, other: _Message, equal: _Equal) -> bool:
    """A body that does not decode to its end begins like the other one, as far as both go."""
    heads, whole, body = one
    other_heads, other_whole, other_body = other
    size = max(len(body), len(other_body)) if whole else min(len(body), len(other_body))
    same_bodies = equal(body[:size], other_body[:size])
    return whole is other_whole and equal(heads, other_heads) and same_bodies


def _messages(data: bytes) -> Iterator[_Message]:
    """Yield the heads of each message, whether its body decodes to its end, and to what."""
    for message in read_messages(data):
        heads, body = (b"".join(data[a:b] for a, b in spans) for spans in message[:2])
        codings = [known(name) or "" for name in message.codings]
        if all(codings):
            whole, decoded = _decoded(body, codings)
            yield _without_length(heads, len(body) if whole else None), whole, decoded
        else:
            yield heads, True, body


def _without_length(heads: bytes, size: int | None) -> bytes:
    """Return `heads` with what Content-Length says beyond `size`, with nothing if that is None."""
    return _LENGTH.sub(
        lambda field: field[1] + (b"" if size is None else b"%d" % (int(field[2]) - size)), heads
    )


def _decoded(body: bytes, codings: Sequence[str]) -> tuple[bool, bytes]:
    for coding in reversed(codings):
        try:
            body = decode(coding, body, _MOST)
        except CodingError:
            return False, _beginning(body)
    return True, body


def _beginning(body: bytes) -> bytes:
    """Return what a stream that is broken, or very long, decodes to at first."""
    unpacker, beginning = zlib.decompressobj(_GZIP_OR_DEFLATE), bytearray()
    with suppress(zlib.error):  # byte for byte, as what a call has decoded is lost if it raises
        for at in range(min(len(body), _BEGINNING)):
            beginning += unpacker.decompress(body[at : at + 1])
    return bytes(beginning)
