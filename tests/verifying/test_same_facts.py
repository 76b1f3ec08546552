"""What a report keeps of an exchange is all that the run judged: read again, it is the same."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from support.cases import make_case
from support.reports import report_of
from support.responses import exchange_of, http
from support.servers import PATIENT, Peer, connected, request_of, serving, steps
from v2_conformance.judging.survival import hang_of
from v2_conformance.redaction import Mask
from v2_conformance.report.files import as_json, from_json
from v2_conformance.report.recorder import recorded_exchange
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.verifying.record import Record, setting_of
from v2_conformance.wire.encode.requests import Prepared
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending
from v2_conformance.wire.transport import Parting

LONG = bytes(1 << 20)
LEFT = [Parting.LEAVES, Parting.RESETS]


def read_back(came: Exchange) -> Exchange:
    """A exchange as `verify` reads it from a report. Raises RecordedError."""
    written = as_json(recorded_exchange(came, Mask()))
    kept = from_json(written, Exchange)
    assert (kept.first_byte_ms is None) == (not len(kept.received))
    asked = Prepared(request_of(bytes(came.request)))
    record = Record([kept], setting_of(report_of([])))
    return record.take("it", (Purpose.CASE,), asked)


def is_read_back(came: Exchange) -> bool:
    """Whether a exchange is the same once it is read from a report."""
    again = read_back(came)
    return came == again and came.partial == again.partial


@pytest.mark.parametrize("how", LEFT)
def test_what_comes_before_a_client_leaves_is_no_part_of_it(how: Parting) -> None:
    script = steps(
        Peer.head, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", Peer.until_closed_unread
    )
    with serving(script) as server, connected(server, PATIENT) as connection:
        request = msgspec.structs.replace(
            request_of(b"POST /x HTTP/1.1\r\nHost: h\r\n\r\n", *[LONG] * 64), parting=how
        )
        came = connection.exchange(request)
    assert came.ending is Ending.LEFT
    assert came.sent < len(came.request)
    assert is_read_back(came)


def test_whether_a_server_hung_is_the_same_when_its_request_had_pauses() -> None:
    case, short = make_case(), replace(PATIENT, exchange_s=0.2)
    with serving(Peer.until_closed) as server, connected(server, short) as connection:
        came = connection.exchange(request_of(b"POST /x HTTP/1.1\r\n", b"Host", pause_s=0.05))
    assert came.ending is Ending.TIMEOUT
    for took_ms in (0.0, (came.duration_ms - came.pause_ms) / 20):  # it hung, or may just be slow
        canary = exchange_of(http(b""), duration_ms=took_ms)
        assert (hang_of(case, came, canary) is None) is bool(took_ms)
        assert hang_of(case, read_back(came), canary) == hang_of(case, came, canary)
