"""The parts of a soak: kinds of requests, the samples taken meanwhile, and the trends that these
show.

A soak sends the requests of cases that have run before, many at a time for minutes.
"""

from __future__ import annotations

from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta

from v2_conformance.suite.cases import GetCase, RequestCase

Kind = Literal[
    "known_good",
    "known_good_compressed",
    "metadata",
    "compressed_failing",
    "broken_off",
    "header_length",
    "sizes",
    "malformed_json",
    "other",
]
"""A kind of requests that may share a path through a server, and so a leak."""

LEAST_S = 60.0
"""A shorter soak calls nothing a leak: a server may still be warming up."""

KINDS: tuple[Kind, ...] = get_args(Kind)
CONTROL: Kind = "known_good"
"""The kind that every server is made for: growth with this kind is growth with any request."""

Quantity = Literal["memory", "files", "threads", "processes"]
"""The quantities measured of a server's processes: resident bytes, open files, threads, and their
number."""

QUANTITIES: tuple[Quantity, ...] = get_args(Quantity)

Movement = Literal["leaks", "grows", "settles", "given_back", "unknown"]
"""The course of a quantity after the warm-up: it grew to the end, and with the kinds of requests
that were then sent alone; it grew, but there is no such proof; it did not grow; it grew, but was
given back once nothing was asked any more; too little was measured."""

PhaseName = Literal["mixed", "one_kind", "rest"]
Ended = Literal["time", "interrupted", "died", "hung", "nothing_to_send"]
"""Why a soak ended: its time was up; Ctrl-C; nobody answered connections any more, or the watched
process ended; no request got an answer any more; no case could be sent."""

_FAMILIES: dict[str, Kind] = {"H": "header_length", "S": "sizes", "J": "malformed_json"}

Seconds = Annotated[float, Meta(ge=0, le=1e9)]
Number = Annotated[int, Meta(ge=0, le=2**53)]


class SoakPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The base of all parts of a soak."""


class Sample(SoakPart, frozen=True):
    """The measurements at a moment; null if the system did not tell."""

    at_s: Annotated[Seconds, Meta(description="Since the soak began.")]
    requests: Annotated[Number, Meta(description="How many had been sent by then.")]
    memory: Annotated[
        Number | None, Meta(description="Resident bytes of the process and its descendants.")
    ] = None
    files: Annotated[Number | None, Meta(description="Their open files and sockets.")] = None
    threads: Number | None = None
    processes: Number | None = None
    latency_ms: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        Meta(description="Median of the known-good requests since the sample before."),
    ] = None


class Phase(SoakPart, frozen=True):
    """A part of a soak in which the same requests were sent; none while the server was at rest."""

    name: PhaseName
    began_s: Seconds
    ended_s: Seconds
    requests: Annotated[
        dict[Kind, Number],
        Meta(
            description="Kind to the number of requests.",
            extra_json_schema={"propertyNames": {"enum": list(KINDS)}},
        ),
    ]


class KindCount(SoakPart, frozen=True):
    """The results of the requests of a kind.

    `declined` were answered with 429, 502, 503 or 504, `unanswered` not at all: a server may shed
    load. Neither is wrong.
    """

    kind: Kind
    cases: Annotated[Number, Meta(description="How many different requests.")]
    requests: Number
    wrong: Annotated[Number, Meta(description="Answers that were right before the soak.")] = 0
    declined: Number = 0
    unanswered: Number = 0


class KindGrowth(SoakPart, frozen=True):
    """A kind that a quantity was shown to grow with, alone."""

    kind: Kind
    per_request: float


class Trend(SoakPart, frozen=True):
    """The course of a quantity. The rates are those after the warm-up, by Theil and Sen.

    `kinds` are those that it was shown to grow with; none if it does not grow, or if that was not
    found out.
    """

    quantity: Quantity
    movement: Movement
    first: Number
    last: Number
    most: Number
    per_second: float = 0.0
    per_request: float = 0.0
    kinds: tuple[KindGrowth, ...] = ()


def kind_of(case: RequestCase | GetCase) -> Kind:
    """The kind of a case's request."""
    if isinstance(case, GetCase):
        return "metadata"
    if "client" in case.request:
        return "broken_off"
    compressed = "encoding" in case.request
    if case.expects == "success":
        return "known_good_compressed" if compressed else "known_good"
    if compressed:
        return "compressed_failing"
    return _FAMILIES.get(case.requirement[0], "other")
