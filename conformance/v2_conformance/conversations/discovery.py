"""What is asked before any case: metadata, which models there are, and known-good requests."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from v2_conformance.judging.known_good import answer, problem_with, silence_of
from v2_conformance.judging.metadata import ServerInfo, playing, server_name
from v2_conformance.suite.causes.base import describe
from v2_conformance.suite.causes.causes import Cause, wrong_output
from v2_conformance.suite.causes.kinds import Unavailable
from v2_conformance.wire.encode.deployment import DeployedModel
from v2_conformance.wire.encode.requests import Prepared
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending, Response

SERVER = "/v2"
"""The path of a server's metadata."""


@dataclass(frozen=True)
class Server:
    """Result of discovery: models in the roles that are present, and why others are absent. `asked`
    are its exchanges: GET /v2, and a GET for each role, in the contract's order."""

    info: ServerInfo
    present: Mapping[str, DeployedModel] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    asked: tuple[Exchange, ...] = field(default=(), repr=False, compare=False)


def discovery(wanted: Iterable[DeployedModel]) -> Generator[str, Response, Server]:
    """Ask for the server's metadata, then for that of each model that is wanted, by what the target
    calls it and its tensors: yield the path of each GET.

    Raises Finding and MessageError if the first answer has no server metadata.
    """
    info = server_name((yield SERVER))
    present: dict[str, DeployedModel] = {}
    absent: dict[str, str] = {}
    for binding in wanted:
        response = yield binding.path
        result = playing(response, binding)
        if isinstance(result, str):
            absent[binding.role] = result
        else:
            present[binding.role] = result
    return Server(info, present, absent)


class FirstAnswer(msgspec.Struct, frozen=True):
    """A canary and the answer `expected` to it: None for the exact one, else the first answer.

    `silence` says why there was no answer that a case could be judged by. `lasting` says whether
    the reason is the model itself, not a server that was away or asked to wait. `wrong` is what was
    wrong with the tensors of the first answer to this canary, if the second was exact.
    """

    prepared: Prepared
    expected: str | None
    silence: str = ""
    lasting: bool = True
    wrong: Cause | None = None


Calibration = Generator[Prepared, Exchange, FirstAnswer]


def calibration(ways: Sequence[Prepared]) -> Calibration:
    """Send each of `ways`, on a fresh connection each, up to the first that is answered exactly.

    If none is, the one with the clearest answer counts. A server that cannot serve now is not asked
    again, nor is one that does not answer in less time than usual, or whose answer does not end.
    What was answered with wrong tensors is sent again at the end: if it is right then, the first
    answers of the server are wrong, which no case shows.
    """
    tried: list[tuple[bool, str, FirstAnswer]] = []
    wrong: list[tuple[Prepared, Cause]] = []
    exact = None
    for way in ways:
        exchange = yield way
        problem = problem_with(way, None, exchange)
        if problem is None:
            exact = FirstAnswer(way, None)
            break
        away = isinstance(problem, Unavailable)
        silence = describe(problem) if away else silence_of(exchange)
        lasting = not (away or exchange.ending is Ending.REFUSED)
        result = FirstAnswer(way, answer(exchange), silence, lasting)
        endless = exchange.ending is Ending.TOO_LARGE
        if away or (silence and (endless or exchange.shortened_ms is not None)):
            return result
        tried.append((exchange.ending is not Ending.COMPLETE, silence, result))
        if wrong_output(problem) is not None:
            wrong.append((way, problem))
    for way, problem in wrong:
        exchange = yield way
        if problem_with(way, None, exchange) is None:
            return FirstAnswer(way, None, wrong=problem)
    return exact or min(tried, key=lambda one: one[:2])[2]
