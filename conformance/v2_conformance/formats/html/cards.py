"""The cases of a report as the page shows them, with as many recorded bytes as it has room for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import escape

from v2_conformance.judging.judge import DISPUTED, ERROR, FAIL, INCONCLUSIVE, PASS
from v2_conformance.report.fold import (
    BRIEF,
    FULL,
    ShownExchange,
    clipped,
    shown_exchanges,
    size,
    survival,
)
from v2_conformance.suite.requirements import LEVELS

TROUBLES = (FAIL, ERROR, INCONCLUSIVE, DISPUTED)

# The page stays under 8 MB: the bytes of exchanges get what everything else leaves of this.
_PAGE_BYTES = 7_500_000
_FRAME_BYTES = 400_000
_CARD_BYTES = 1_000
_LEAST = 20_000  # with less room than this the page is full
# A message is shown whole, unless it is absurd, or one of very many.
_MAX_MESSAGE = 4_000
_MAX_MESSAGE_OF_MANY = 400
_MANY = 250
_MAX_REPLAY = 6_000
_REPLAY_BYTES = 1_500_000
_MAX_WHY = 1_000

# The report and a case of it → the command that sends the case again, "" where there is none.
Replay = Callable[[Mapping[str, Any], Mapping[str, Any]], str]


@dataclass(frozen=True)
class Card:
    """A case that was sent; `exchanges` is None where the page has no room for its bytes.

    `survival` and `replay` are "" where there is nothing to say.
    """

    case: Mapping[str, Any]
    message: str
    why: str
    survival: str
    replay: str
    difference: Mapping[str, Any] | None
    exchanges: Sequence[ShownExchange] | None
    brief: bool = False

    @property
    def passed(self) -> bool:
        """Whether it is one of those that need no attention."""
        return bool(self.case["outcome"] == PASS)


def cards(report: Mapping[str, Any], replay: Replay | None = None) -> list[Card]:
    """The cases that were sent: the worst first, then what passed, in the order of the report."""
    order = (*TROUBLES, PASS)
    chosen = [case for case in report["cases"] if case["outcome"] in order]
    chosen.sort(
        key=lambda c: (
            order.index(c["outcome"]),
            LEVELS.index(c["level"]) if c["outcome"] != PASS else 0,
        )
    )
    few = sum(case["outcome"] != PASS for case in chosen) <= _MANY
    limit = _MAX_MESSAGE if few else _MAX_MESSAGE_OF_MANY
    commands = _commands(report, chosen, replay)
    bare = [_bare(case, limit, text) for case, text in zip(chosen, commands, strict=True)]
    left = _PAGE_BYTES - _FRAME_BYTES - _CARD_BYTES * len(report["cases"])
    left -= sum(_text_size(card) for card in bare)
    troubled = [card for card in bare if not card.passed]
    first, left = _filled(troubled, left)
    rest, _ = _filled(bare[len(troubled) :], left)
    return [*first, *rest]


def _commands(
    report: Mapping[str, Any], cases: Sequence[Mapping[str, Any]], replay: Replay | None
) -> Iterator[str]:
    """Each case's replay; what no longer fits into the room for all of them is left out."""
    left = _REPLAY_BYTES
    for case in cases:
        command = replay(report, case) if replay else ""
        if len(command) > min(left, _MAX_REPLAY):
            command = ""
        left -= len(command)
        yield command


def _bare(case: Mapping[str, Any], limit: int, command: str) -> Card:
    return Card(
        case=case,
        message=clipped(case["message"], limit),
        why=clipped(case.get("why", ""), _MAX_WHY),
        survival=survival(case),
        replay=command,
        difference=_shown_difference(case),
        exchanges=None,
    )


def _shown_difference(case: Mapping[str, Any]) -> Mapping[str, Any] | None:
    found = case.get("difference")
    if not found:
        return None
    return {
        key: clipped(value) if isinstance(value, str) else value for key, value in found.items()
    }


def _text_size(card: Card) -> int:
    texts = [card.message, card.why, card.survival, card.replay]
    total = sum(size(escape(text)) for text in texts)
    if card.difference:
        total += 900 + sum(size(escape(str(value))) for value in card.difference.values())
    return total


def _filled(bare: Sequence[Card], left: int) -> tuple[list[Card], int]:
    """The cards with their bytes, in full if all fit into `left`, else in brief as far as they fit.

    Returns what is left, too.
    """
    shown: list[Card] = []
    spent = 0
    for card in bare:
        exchanges = shown_exchanges(card.case, FULL)
        spent += sum(exchange.cost for exchange in exchanges)
        if spent > left:
            break
        shown.append(replace(card, exchanges=exchanges))
    else:
        return shown, left - spent
    shown = []
    for card in bare:
        if left > _LEAST:
            exchanges = shown_exchanges(card.case, BRIEF)
            cost = sum(exchange.cost for exchange in exchanges)
            if cost <= left:
                left -= cost
                card = replace(card, exchanges=exchanges, brief=True)
        shown.append(card)
    return shown, left
