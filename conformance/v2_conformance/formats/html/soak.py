"""The part of report.html about a soak: sentences, a chart for each quantity, and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from v2_conformance.report.document import Soak
from v2_conformance.report.shown import soak_words
from v2_conformance.report.shown.soak_words import KIND_WORDS
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.soaking import KINDS, Phase, Quantity, Trend

WIDTH, HEIGHT = 640, 170
_LEFT, _RIGHT, _TOP, _BOTTOM = 8, 8, 18, 22
_SHOWN_BYTES = 1500
_NARROW = 14  # a phase that is not so wide has no label
_TICKS = 5

_Points = Sequence[tuple[float, float]]
_Band = tuple[float, float, str]


@dataclass(frozen=True)
class Chart:
    """A quantity over time, in the coordinates of the drawing, from `bottom` to `top`. A line ends
    where nothing was measured for long. `bands` are the phases behind it: where each begins, its
    width and its label."""

    title: str
    about: str
    lines: tuple[str, ...]
    bands: tuple[_Band, ...]
    ticks: tuple[tuple[float, str], ...]
    top: str
    bottom: str
    leaks: bool
    rows: tuple[tuple[str, str], ...]


def soak_view(soak: Soak | None) -> dict[str, Any] | None:
    """Return what the template prints of a soak, if there was one."""
    if soak is None:
        return None
    return {
        "lines": list(soak_words.lines(soak)),
        "charts": list(_charts(soak)),
        "parts": list(map(_part, soak.phases)),
        "kinds": [(KIND_WORDS[one.kind][1], one) for one in soak.kinds],
        "kept": [(w, _text(w.exchange.request), _text(w.exchange.response)) for w in soak.kept],
    }


def _part(phase: Phase) -> tuple[str, str, int]:
    """Return what was sent in a part of the soak, until when, and how many requests."""
    sent = "all kinds, mixed" if phase.name == "mixed" else "nothing: at rest"
    if phase.name == "one_kind":
        sent = ", ".join(KIND_WORDS[kind][1] for kind in KINDS if kind in phase.requests)
    return sent, soak_words.span(phase.ended_s), sum(phase.requests.values())


def _charts(soak: Soak) -> Iterator[Chart]:
    for trend in soak.trends:
        points = [
            (sample.at_s, float(value))
            for sample in soak.samples
            if (value := getattr(sample, trend.quantity)) is not None
        ]
        if trend.quantity == "processes" and trend.most == trend.first == trend.last:
            continue
        yield _chart(soak, points, trend)
    answers = [(one.at_s, one.latency_ms) for one in soak.samples if one.latency_ms is not None]
    if len(answers) > 1:
        yield _chart(soak, answers, None)


def _chart(soak: Soak, points: _Points, trend: Trend | None) -> Chart:
    if trend is None:
        title = "time to the answer of a known-good request"
        about = "the median between two measurements; not judged"
    else:
        title = soak_words.QUANTITY_WORDS[trend.quantity]
        about = soak_words.movement_words(trend)
    end = max([sample.at_s for sample in soak.samples] + [0.001])
    most = max([value for _, value in points] + [0.001])
    wide, high = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM

    def x(at_s: float) -> float:
        return round(_LEFT + wide * min(at_s, end) / end, 1)

    low = min([value for _, value in points] + [most])
    low = low if low > most / 2 else 0.0
    span_of = most - low or 1.0

    def drawn(line: _Points) -> str:
        return " ".join(
            f"{x(at_s)},{round(_TOP + high * (1 - (value - low) / span_of), 1)}"
            for at_s, value in line
        )

    quantity = None if trend is None else trend.quantity
    return Chart(
        title[:1].upper() + title[1:],
        about,
        tuple(map(drawn, _unbroken(points, end))),
        tuple(_bands(soak.phases, x)),
        tuple((x(end * n / _TICKS), soak_words.span(end * n / _TICKS)) for n in range(_TICKS + 1)),
        _value(quantity, most),
        _value(quantity, low),
        trend is not None and trend.movement in ("leaks", "grows"),
        tuple(_rows(points, quantity, end)),
    )


def _unbroken(points: _Points, end: float) -> Iterator[_Points]:
    """The parts of a line, which ends where nothing was measured for a twentieth of the time."""
    begin = 0
    for at, (one, other) in enumerate(pairwise(points), 1):
        if other[0] - one[0] > end / 20:
            yield points[begin:at]
            begin = at
    yield points[begin:]


def _bands(
    phases: Sequence[Phase], place: Callable[[float], float]
) -> Iterator[tuple[float, float, str]]:
    for number, phase in enumerate(phases):
        left, right = place(phase.began_s), place(phase.ended_s)
        label = str(number + 1) if right - left >= _NARROW else ""
        yield left, round(right - left, 1), label


def _rows(points: _Points, quantity: Quantity | None, end: float) -> Iterator[tuple[str, str]]:
    """The numbers of a chart: the last one of each tenth of the time."""
    for begin, until in pairwise(end * n / 10 for n in range(11)):
        found = [value for at_s, value in points if begin <= at_s <= until]
        if found:
            yield soak_words.span(until), _value(quantity, found[-1])


def _value(quantity: Quantity | None, value: float) -> str:
    return f"{value:.3g} ms" if quantity is None else soak_words.amount(quantity, value)


def _text(data: bytes) -> str:
    lines = data[:_SHOWN_BYTES].decode("latin-1").split("\r\n")
    more = len(data) - _SHOWN_BYTES
    shown = "\n".join(printable(line, _SHOWN_BYTES) for line in lines)
    return shown + (f"\n… and {more} more bytes, in report.json" if more > 0 else "")
