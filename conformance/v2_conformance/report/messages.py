"""The messages of a report.json: each is kept once, many in one deflated block.

Many requests of a run differ in a few bytes, a response often repeats its request's tensors, and
the same known-good exchange follows most cases. So report.json has all messages in `messages`,
deflated together in blocks, and an exchange has the place of its own there. The record of a run,
which is written line by line, has each message in its exchange.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec

from v2_conformance.errors import ReportFileError
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.report.evidence import AskedModel, Calibration, RecordedExchange, SampleValue
from v2_conformance.report.kept_bytes import (
    PLAIN,
    Deflated,
    KeptBytes,
    Place,
    deflated,
    is_shorter,
    unpacked,
)

# A block is full from here on: long enough to find what repeats, short enough to unpack alone.
_FULL = 64 << 10
# A shorter message takes less room than its place in a block.
_SHORTEST = 16
# Longer blocks hold one message: those that are longer than PLAIN are alone.
_LONGEST_SHARED = _FULL + PLAIN
_CACHED = "_packed"
_WithExchanges = TypeVar("_WithExchanges", CaseResult, Calibration)
_Values = tuple[tuple[SampleValue, ...], ...]


def packed(report: Report) -> Report:
    """Return `report` as report.json has it, with its messages in blocks. It is made once."""
    if report.messages:
        return report
    made: Report | None = vars(report).get(_CACHED)
    if made is None:
        made = _packed(report)
        vars(report)[_CACHED] = made
    return made


def with_packed(report: Report, other: Report) -> Report:
    """Return `report`, which has the exchanges of `other`, reusing its blocks."""
    made = packed(other)
    vars(report)[_CACHED] = msgspec.structs.replace(
        report,
        cases=made.cases,
        discovery=made.discovery,
        calibration=made.calibration,
        relations=made.relations,
        messages=made.messages,
    )
    return report


def _packed(report: Report) -> Report:
    blocks = _Blocks()
    changed = _exchanges_changed(report, blocks.place)
    return msgspec.structs.replace(changed, messages=blocks.finish())


class _Blocks:
    """Blocks in the making: a message that repeats gets its existing place."""

    def __init__(self) -> None:
        self._made: list[Deflated | None] = []  # None is the one that is being filled
        self._filling: int | None = None
        self._pieces: list[bytes] = []
        self._size = 0
        self._places: dict[KeptBytes, Place] = {}

    def place(self, kept: KeptBytes) -> KeptBytes:
        """Return where the message is now; a very short or partial one stays where it was."""
        if isinstance(kept, Deflated):
            if kept.kept is not None:
                return kept
        elif isinstance(kept, Place) or len(kept) < _SHORTEST:
            return kept
        known = self._places.get(kept)
        if known is None:
            known = self._places[kept] = self._new(kept)
        return known

    def finish(self) -> tuple[Deflated, ...]:
        """Return all blocks."""
        self._close()
        return tuple(block for block in self._made if block is not None)

    def _new(self, message: Deflated | bytes) -> Place:
        if isinstance(message, bytes):
            if len(message) <= PLAIN:
                return self._beside_others(message)
            message = deflated(message)
        self._made.append(message)
        return Place(len(self._made) - 1, 0, message.size)

    def _beside_others(self, message: bytes) -> Place:
        if self._filling is None:
            self._filling = len(self._made)
            self._made.append(None)
        place = Place(self._filling, self._size, len(message))
        self._pieces.append(message)
        self._size += len(message)
        if self._size >= _FULL:
            self._close()
        return place

    def _close(self) -> None:
        if self._filling is not None:
            self._made[self._filling] = deflated(b"".join(self._pieces))
        self._filling, self._pieces, self._size = None, [], 0


def with_messages(report: Report, most: int) -> Report:
    """Return a report that was read, with each message in its exchange.

    At most `most` bytes are unpacked for it; a message that has a block for itself stays deflated.
    Raises ReportFileError for a place that is in no block, for blocks that are damaged, and for
    more than `most` bytes.
    """
    if not report.messages:
        return report
    found = _Messages(report.messages, most)
    changed = _exchanges_changed(report, found.message)
    return msgspec.structs.replace(changed, messages=())


class _Messages:
    """Messages of a report's blocks, which are unpacked on demand."""

    def __init__(self, blocks: tuple[Deflated, ...], most: int) -> None:
        self._blocks = blocks
        self._left = most
        self._unpacked: dict[int, bytes] = {}
        self._found: dict[Place, KeptBytes] = {}

    def message(self, kept: KeptBytes) -> KeptBytes:
        """Return the message at a place; anything else already is a message."""
        if not isinstance(kept, Place):
            return kept
        found = self._found.get(kept)
        if found is None:
            found = self._found[kept] = self._message(kept)
        return found

    def _message(self, place: Place) -> KeptBytes:
        if place.block >= len(self._blocks):
            raise _damaged(f"there is no block {place.block}")
        block = self._blocks[place.block]
        if block.kept is not None or place.start + place.length > block.size:
            raise _damaged(f"block {place.block} has no {place.length} bytes from {place.start} on")
        if place.length == block.size > PLAIN:
            return block if is_shorter(block) else self._whole(place.block)
        if block.size > _LONGEST_SHARED:
            raise _damaged(f"block {place.block} is too long for several messages")
        # Overlapping places could expand a little into a lot.
        self._take(place.length)
        return self._whole(place.block)[place.start : place.start + place.length]

    def _whole(self, number: int) -> bytes:
        if number not in self._unpacked:
            self._take(self._blocks[number].size)
            self._unpacked[number] = unpacked(self._blocks[number])
        return self._unpacked[number]

    def _take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise _damaged("its messages are longer than those of any run")


def _damaged(what: str) -> ReportFileError:
    return ReportFileError(f"a message in the report is damaged: {what}")


def messages_of(report: Report) -> list[KeptBytes]:
    """Return all messages of a report, each as often as it stands there."""
    found: list[KeptBytes] = []

    def add(kept: KeptBytes) -> KeptBytes:
        found.append(kept)
        return kept

    _exchanges_changed(report, add)
    return found


def _exchanges_changed(report: Report, change: Callable[[KeptBytes], KeptBytes]) -> Report:
    """Return `report` with every message changed, in its order."""

    def exchanges(found: tuple[RecordedExchange, ...]) -> Iterator[RecordedExchange]:
        for exchange in found:
            request, response = change(exchange.request_kept), change(exchange.response_kept)
            yield msgspec.structs.replace(exchange, request_kept=request, response_kept=response)

    def changed(one: _WithExchanges) -> _WithExchanges:
        return msgspec.structs.replace(one, exchanges=tuple(exchanges(one.exchanges)))

    def values(sets: _Values) -> _Values:
        return tuple(
            tuple(msgspec.structs.replace(value, data=change(value.data)) for value in one)
            for one in sets
        )

    def asked(model: AskedModel) -> AskedModel:
        return msgspec.structs.replace(
            model,
            samples=values(model.samples),
            special=values(model.special),
            learned=tuple(exchanges(model.learned)),
        )

    relations = report.relations
    if relations is not None:
        models = tuple(map(asked, relations.models))
        relations = msgspec.structs.replace(relations, models=models)
    return msgspec.structs.replace(
        report,
        discovery=tuple(exchanges(report.discovery)),
        relations=relations,
        calibration=tuple(map(changed, report.calibration)),
        cases=tuple(map(changed, report.cases)),
    )
