"""Faults of servers that die if a client breaks off or breaks the framing (C)."""

from __future__ import annotations

from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Breach
from v2_mutants.faults.shared.crashes import CrashingServer, ends_server
from v2_mutants.registry import What, fault


def _dies_of(killing: Breach) -> What[None]:
    return ends_server(lambda breach: breach is killing)


for _name, _breach, _text in (
    ("client-that-leaves-kills-server", Breach.LEFT_IN_HEAD,
     "The server dies if a client leaves in the middle of a head."),
    ("short-body-kills-server", Breach.LEFT_IN_BODY,
     "The server dies if a body ends before its Content-Length."),
    ("unfinished-chunks-kill-server", Breach.LEFT_IN_CHUNKS,
     "The server dies if a body in chunks ends before its last chunk."),
    ("reset-kills-server", Breach.RESET,
     "The server dies if a client resets its connection, or does not read its response."),
    ("broken-chunk-kills-server", Breach.FRAMING,
     "The server dies of a chunk without a proper size or end."),
    ("content-length-allocated", Breach.TOO_LONG,
     "The server allocates as many bytes as Content-Length claims, and dies of it."),
):  # fmt: skip
    fault(_name, "C8", Behaviour.broken_off, base=CrashingServer)(_text, _dies_of(_breach))
