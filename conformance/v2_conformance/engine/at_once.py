"""Sends requests on several connections at once (C6)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from v2_conformance.engine.patience import Patience
from v2_conformance.engine.result import Exchange
from v2_conformance.judging.judge import judge
from v2_conformance.judging.survival import of_several, stale
from v2_conformance.judging.verdict import Verdict
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.outcomes import Outcome, Purpose, sample_note
from v2_conformance.wire.encode import Prepared
from v2_conformance.wire.transcript import Ending, Transcript
from v2_conformance.wire.transport import Transport

_ROUNDS = 5


def at_once(
    members: Sequence[RequestCase],
    variants: Sequence[Prepared],
    transport: Transport,
    patience: Patience,
) -> tuple[Verdict, list[Exchange]]:
    """The requests `variants` of `members`, each on a connection of its own, in rounds; the first
    failure counts."""
    start = threading.Barrier(len(members))

    def talk(prepared: Prepared) -> list[Transcript]:
        connection = transport.connection()
        start.wait()
        found = []
        try:
            for _ in range(_ROUNDS):
                found.append(patience.exchange(connection, prepared.request, unasked=True)[0])
                if found[-1].ending is Ending.TIMEOUT:
                    break  # one is enough
            return found
        finally:
            connection.close()

    with ThreadPoolExecutor(len(members)) as pool:
        transcripts = list(pool.map(talk, variants))
    judged = [
        (judge(member, prepared, transcript), transcript)
        for member, prepared, rounds in zip(members, variants, transcripts, strict=True)
        for transcript in rounds
        if not stale(transcript)
    ]
    bad = [item for item in judged if not item[0].outcome.harmless]
    unclear = [item for item in judged if item[0].outcome is not Outcome.PASS]
    verdict, transcript = (bad or unclear or judged)[0]
    exchange = Exchange(transcript, Purpose.SAMPLE, sample_note(len(judged), len(members)))
    return of_several(verdict, len(bad), len(judged)), [exchange]
