"""Words for the result of a soak, and what it adds to the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from statistics import median

from v2_conformance.report.document import Soak
from v2_conformance.suite.soaking import (
    CONTROL,
    LEAST_S,
    Ended,
    Kind,
    Movement,
    Quantity,
    Sample,
    Trend,
)

KIND_WORDS: Mapping[Kind, tuple[str, str]] = {
    "known_good": ("known-good request", "known-good requests"),
    "known_good_compressed": ("known-good compressed request", "known-good compressed requests"),
    "metadata": ("GET of metadata", "GETs of metadata"),
    "compressed_failing": ("compressed request that fails", "compressed requests that fail"),
    "broken_off": ("request that is broken off", "requests that are broken off"),
    "header_length": ("wrong header length", "wrong header lengths"),
    "sizes": ("wrong declared size", "wrong declared sizes"),
    "malformed_json": ("malformed JSON request", "malformed JSON requests"),
    "other": ("other odd request", "other odd requests"),
}
"""The words for one request of a kind, and for several."""

QUANTITY_WORDS: Mapping[Quantity, str] = {
    "memory": "memory",
    "files": "open files",
    "threads": "threads",
    "processes": "processes",
}
_MOVEMENT_WORDS: Mapping[Movement, str] = {
    "leaks": "a leak",
    "grows": "still growing at the end",
    "settles": "does not keep growing",
    "given_back": "grew, but was given back at rest",
    "unknown": "too little was measured",
}
_ENDED_WORDS: Mapping[Ended, str] = {
    "time": "",
    "interrupted": "stopped early with Ctrl-C",
    "died": "ended early: the server was gone",
    "hung": "ended early: no request got an answer any more",
    "nothing_to_send": "sent nothing: no known-good case passed, or the server was gone before",
}


def amount(quantity: Quantity, value: float) -> str:
    """So much of a quantity: bytes with their unit, and anything else as a number."""
    if quantity != "memory":
        return f"{value:,.0f}" if abs(value) >= 10 or value == int(value) else f"{value:.2g}"
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.0f} B"


def movement_words(trend: Trend) -> str:
    """Return the movement of a quantity in words: if it grew, how fast, and with which kinds of
    requests.
    """
    words = _MOVEMENT_WORDS[trend.movement]
    return f"{words}, {leak_rate(trend)}" if trend.movement in ("leaks", "grows") else words


def leak_rate(trend: Trend) -> str:
    """Return how fast a quantity grows, and with what."""
    minute = f"{amount(trend.quantity, trend.per_second * 60)} per minute under this load"
    if not trend.kinds:
        each = amount(trend.quantity, trend.per_request)
        return f"{minute}, {each} per request; no single kind of request was seen to cause it"
    if any(kind.kind == CONTROL for kind in trend.kinds):
        each = amount(trend.quantity, trend.per_request)
        return f"{each} per request of any kind, known-good ones too ({minute})"
    kinds = " and ".join(
        f"{amount(trend.quantity, kind.per_request)} per {KIND_WORDS[kind.kind][0]}"
        for kind in trend.kinds
    )
    return f"{kinds} ({minute})"


def lines(soak: Soak) -> Iterator[str]:
    """Yield the result of a soak, a sentence each, most important first."""
    rate = soak.requests / soak.duration_s if soak.duration_s else 0.0
    how = _ENDED_WORDS[soak.ended]
    began = f"soak: {soak.requests:,} requests in {span(soak.duration_s)} on {soak.connections}"
    yield f"{began} connections, {rate:,.0f} per second" + (f"; {how}" if how else "")
    wrong = sum(soak.wrong.values())
    if wrong:
        first = next(iter(soak.wrong))
        yield f"{wrong:,} answers that were right alone were wrong, such as those to {first}"
    elif soak.requests:
        yield "no answer that was right alone was wrong"
    declined = sum(kind.declined for kind in soak.kinds)
    unanswered = sum(kind.unanswered for kind in soak.kinds)
    if declined or unanswered:
        yield (
            f"{declined:,} requests were declined with 429, 502, 503 or 504, {unanswered:,} got no "
            "answer"
        )
    if soak.survived is False:
        yield "afterwards a known-good request did not get its right answer"
    for trend in soak.leaks:
        yield leak_words(trend)
    for trend in soak.trends:
        if trend.movement != "leaks":
            yield (
                f"{QUANTITY_WORDS[trend.quantity]}: {amount(trend.quantity, trend.first)} at first,"
                f" {amount(trend.quantity, trend.last)} at last; {movement_words(trend)}"
            )
    if any(trend.movement == "grows" for trend in soak.trends):
        yield (
            "a longer soak shows whether it keeps growing: growth is called a leak only after "
            f"{span(LEAST_S)}, and only with the kind of request that causes it"
        )
    if not soak.watched and soak.requests:
        yield "memory and open files were not watched: --pid names the server's process"
    latency = latency_words(soak.samples)
    if latency:
        yield latency


def leak_words(trend: Trend) -> str:
    """A leak, in a clause."""
    one = trend.quantity == "memory"
    return f"{QUANTITY_WORDS[trend.quantity]} {'leaks' if one else 'leak'}: {leak_rate(trend)}"


def latency_words(samples: Iterable[Sample]) -> str:
    """Return how the time to an answer changed, which nobody judges; "" if it was not measured."""
    found = [sample.latency_ms for sample in samples if sample.latency_ms is not None]
    third = len(found) // 3
    if not third:
        return ""
    first, last = median(found[:third]), median(found[-third:])
    return (
        f"a known-good request took {first:.3g} ms in the first third, {last:.3g} ms in the last"
        " (not judged)"
    )


def span(seconds: float) -> str:
    """A duration as people say it."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def blocking(soak: Soak) -> Iterator[str]:
    """Yield failures under load that keep the server from being robust."""
    if soak.ended in ("died", "hung") or soak.survived is False:
        yield f"the server did not survive the soak: it {_ENDED_BRIEFLY[soak.ended]}"


_ENDED_BRIEFLY: Mapping[Ended, str] = {
    "died": "was gone",
    "hung": "answered nothing any more",
    "time": "no longer answered a known-good request correctly",
    "interrupted": "no longer answered a known-good request correctly",
    "nothing_to_send": "could not be asked",
}


def warnings(soak: Soak) -> Iterator[str]:
    """Yield warnings: leaks, and a soak that did not take place."""
    for trend in soak.leaks:
        yield f"under load, {leak_words(trend)}"
    if soak.ended == "nothing_to_send":
        yield f"the soak {_ENDED_WORDS[soak.ended]}"
