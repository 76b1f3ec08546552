"""The cases of a report as the page shows them, with as many recorded bytes as it has room for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec
from markupsafe import escape

from v2_conformance.formats.html.exchanges import ExchangeMarkup, exchanges_markup, size
from v2_conformance.formats.html.packed import packed_cases
from v2_conformance.formats.outcomes_shown import SKIPPED, WORST_FIRST
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.report.fold import BRIEF, FULL, canary_answers
from v2_conformance.report.said import said_lines
from v2_conformance.report.visible_text import short
from v2_conformance.suite.causes import NotKept
from v2_conformance.suite.findings import FirstDifference
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import LEVELS

# The page stays under 8 MB: the bytes of exchanges get what everything else leaves of this.
_PAGE_BYTES = 7_500_000
_FRAME_BYTES = 400_000
_CARD_BYTES = 1_000
_PACKED_BYTES = 2_000_000
_LEAST = 20_000  # with less room than this the page is full
# A message is shown whole, unless it is absurd, or one of very many.
_MAX_MESSAGE = 4_000
_MAX_MESSAGE_OF_MANY = 400
_MANY = 250
_MAX_REPLAY = 6_000
_REPLAY_BYTES = 1_500_000
_MAX_WHY = 1_000
_MAX_VALUE = 400

Replay = Callable[[Report, CaseResult], str]
"""The command that sends a case of a report again, "" if there is none."""


@dataclass(frozen=True)
class Card:
    """A case that was sent; `exchanges` is None if the page has no room for its bytes. Those of a
    case that passed are `packed`: their place in the page's stream, None if it has no room.

    `survival` and `replay` are "" if there is nothing to say. `elsewhere` are the ids of the cards
    whose exchanges a case is about that has none of its own. `said` is what a client said.
    """

    case: CaseResult
    message: str
    why: str
    survival: str
    replay: str
    difference: FirstDifference | None
    exchanges: Sequence[ExchangeMarkup] | None
    brief: bool = False
    packed: int | None = None
    said: Sequence[str] = ()
    elsewhere: Sequence[str] = ()


@dataclass(frozen=True)
class Cards:
    """The cases that were sent: those that need a look, the worst first, and those that passed, in
    the order of the report. `stream` has the bytes of those that passed (see `packed_cases`)."""

    troubled: Sequence[Card]
    passed: Sequence[Card]
    stream: str


def cards(report: Report, replay: Replay) -> Cards:
    """The cards of a report. What failed gets its bytes before what passed."""
    passed = list(report.of(Outcome.PASS))
    chosen = [case for case in report.cases if case.outcome not in (*SKIPPED, Outcome.PASS)]
    chosen.sort(key=_urgency)
    limit = _MAX_MESSAGE if len(chosen) <= _MANY else _MAX_MESSAGE_OF_MANY
    commands = _commands(report, chosen, replay)
    ids = {case.id for case in (*chosen, *passed)}
    bare = [_bare(case, limit, text, ids) for case, text in zip(chosen, commands, strict=True)]
    bare_passed = [_bare(case, limit, "", ids) for case in passed]
    left = _PAGE_BYTES - _FRAME_BYTES - _CARD_BYTES * len(report.cases)
    left -= sum(_text_size(card) for card in (*bare, *bare_passed))
    troubled, left = _filled(bare, left)
    packed = packed_cases(passed, min(left, _PACKED_BYTES))
    return Cards(
        troubled,
        [replace(card, packed=packed.places.get(card.case.id)) for card in bare_passed],
        packed.stream,
    )


def survival(case: CaseResult) -> str:
    """What the known-good requests after a case showed, in a sentence; "" if none was sent."""
    answers = canary_answers(case)
    if not answers:
        return ""
    wrong = [answer.where for answer in answers if not answer.right]
    if wrong:
        return (
            "The server did not survive: after this case, a known-good request got a wrong answer "
            f"{' and '.join(wrong)}."
        )
    return (
        "The server survived: after this case, a known-good request got the right answer "
        f"{' and '.join(answer.where for answer in answers)}."
    )


def _urgency(case: CaseResult) -> tuple[int, int]:
    return WORST_FIRST.index(case.outcome), LEVELS.index(case.level)


def _commands(report: Report, cases: Sequence[CaseResult], replay: Replay) -> Iterator[str]:
    """Each case's replay; what no longer fits into the room for all of them is left out."""
    left = _REPLAY_BYTES
    for case in cases:
        command = replay(report, case)
        if len(command) > min(left, _MAX_REPLAY):
            command = ""
        left -= len(command)
        yield command


def _bare(case: CaseResult, limit: int, command: str, ids: Collection[str]) -> Card:
    named = case.cause.cases if isinstance(case.cause, NotKept) else ()
    return Card(
        case=case,
        message=short(case.message, limit),
        why=short(case.why, _MAX_WHY),
        survival=survival(case),
        replay=command,
        difference=_short_difference(case.difference),
        exchanges=None,
        said=said_lines(case),
        elsewhere=[case_id for case_id in named if case_id in ids],
    )


def _short_difference(found: FirstDifference | None) -> FirstDifference | None:
    if found is None:
        return None
    values = msgspec.structs.asdict(found).items()
    texts = {name: short(value, _MAX_VALUE) for name, value in values if isinstance(value, str)}
    return msgspec.structs.replace(found, **texts)


def _text_size(card: Card) -> int:
    texts = [
        card.message,
        card.why,
        card.survival,
        card.replay,
        *card.said,
        *card.elsewhere,
        *card.elsewhere,
    ]
    total = sum(size(escape(text)) for text in texts)
    if card.difference:
        values = msgspec.structs.astuple(card.difference)
        total += 900 + sum(size(escape(str(value))) for value in values)
    return total


def _filled(bare: Sequence[Card], left: int) -> tuple[list[Card], int]:
    """The cards with their bytes, in full if all fit into `left`, else in brief as far as they fit.

    Returns what is left, too.
    """
    shown: list[Card] = []
    spent = 0
    for card in bare:
        exchanges = exchanges_markup(card.case, FULL, canaries=BRIEF)
        spent += sum(exchange.cost for exchange in exchanges)
        if spent > left:
            break
        shown.append(replace(card, exchanges=exchanges))
    else:
        return shown, left - spent
    shown = []
    for card in bare:
        if left > _LEAST:
            exchanges = exchanges_markup(card.case, BRIEF, canaries=None)
            cost = sum(exchange.cost for exchange in exchanges)
            if cost <= left:
                left -= cost
                card = replace(card, exchanges=exchanges, brief=True)
        shown.append(card)
    return shown, left
