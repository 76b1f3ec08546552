"""Reports that nobody touched hold, whatever was asked or generated and whoever the server is."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from support.long_tests import sample
from support.reports import Document, as_json, case_of, from_json, read_document, report_of
from support.runs import (
    cases_that_differ,
    changed,
    chosen,
    made,
    of_faulty,
    said,
    target_of,
    words_of,
)
from support.servers import PATIENT, Peer, Start, connected, request_of, serving, steps
from support.small_suite import SMALL, small_run
from v2_conformance.cli.main import main
from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.redaction import Mask
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.files import load_report
from v2_conformance.report.recorder import recorded_exchange
from v2_conformance.runs.targets.making import load_target, make_target
from v2_conformance.suite.library import every_case, generated_case
from v2_conformance.suite.models import ModelContract
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_conformance.verifying.record import RecordedExchanges, setting_of
from v2_conformance.verifying.verification import verify
from v2_conformance.wire.encode.requests import Prepared
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending
from v2_conformance.wire.transport import Parting
from v2_mutants.faults import FAULTS
from v2_mutants.servers import MutantServer

# Each closes connections, or answers late or otherwise, where `verify` could think of an edit.
VARIANTS = (
    "chunked-responses", "closes-after-each-response", "closes-after-errors", "closes-now-and-then",
    "compresses-unasked", "gateway-loses-connections", "http-1.0-responses-by-close",
    "interim-responses", "metadata-with-more", "metadata-without-tensors",
    "one-connection-at-a-time", "overloaded-now-and-then", "refuses-before-the-body",
    "resets-before-the-body", "short-idle-timeout", "unprocessable-for-bad-requests",
)  # fmt: skip
LIKE_EDITS = (
    "rejection-stops-listening", "rejection-without-response", "rejection-kills-model",
    "concurrent-requests-mixed", "error-is-plain-text",
)  # fmt: skip
WIDE = ("M7", "P2", "R1", "R3", "C6")
"""What meets every fault, besides the requirement that it breaks."""


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_report_of_a_legal_server_holds(variant: str, tmp_path: Path) -> None:
    with MutantServer(variants=[variant]) as server:
        path = small_run(tmp_path, make_target(server.url, timeout=5))
    found = verify(path, SMALL)
    assert found.exit_code == 0, words_of(found)
    assert found.verdict.conformant


@pytest.mark.parametrize("fault", [*LIKE_EDITS, *sample(FAULTS, 64)])
@pytest.mark.parametrize("workers", ["1", "4"])
@pytest.mark.long
def test_the_report_of_a_broken_server_holds(fault: str, workers: str, tmp_path: Path) -> None:
    names = (FAULTS[fault].requirement, *WIDE)
    chosen = [word for name in names for word in ("--case", name)]
    usual = ["-n", workers, "--timeout", "1", "--profile", "raw", "--profile", "compression"]
    main(["run", "--fault", fault, *chosen, *usual, "--report-dir", str(tmp_path)])
    found = verify(tmp_path / "report.json", every_case())
    assert found.exit_code == 0, words_of(found)
    assert not any(case.other_cause for case in found.cases)


@pytest.mark.parametrize(
    "options",
    [
        ["--case", "P2", "--case", "Z*", "--profile", "compression"],
        ["--case", "P*", "--header", "Authorization: Bearer of-a-test-0123"],
        ["--case", "P*", "--header", "Host: other.example"],
        ["--case", "W*", "--profile", "raw", "-n", "4"],
    ],
    ids=lambda options: options[-1],
)
def test_the_report_of_a_run_with_these_options_holds(options: list[str], tmp_path: Path) -> None:
    main(["run", *options, "--report-dir", str(tmp_path)])
    found = verify(tmp_path / "report.json", every_case())
    assert found.exit_code == 0, words_of(found)


NAMES = ("P2/blob-follows-json[INT32]", "H6/not-a-number[letters]", "R1/unknown-version")
PATHS = "V2/request-in-any-spelling[version-path"


def test_the_report_of_a_pinned_version_holds(tmp_path: Path, server: ReferenceServer) -> None:
    cases = [c for c in every_case() if c.id in NAMES or c.id.startswith(PATHS)]
    file = tmp_path / "target.yaml"
    file.write_text(
        f"url: {server.url}\nmodels:\n"
        "  identity/INT32: {model: identity_int32, version: 1}\n"
        "  identity/FP32: {model: identity_fp32, version: 9}\n"
    )
    path = made(tmp_path, load_target(file), cases)
    report = load_report(path)
    assert {case.outcome for case in report.cases} == {Outcome.PASS}
    case = report.case(NAMES[0])
    assert case is not None
    asked = bytes(case.exchanges[0].request)
    assert asked.startswith(b"POST /v2/models/identity_int32/versions/1/infer HTTP/1.1\r\n")
    assert "identity/FP32" in report.target.absent
    found = verify(path, every_case())
    assert found.exit_code == 0, words_of(found)


GENERATED = "M7/generated"


@pytest.mark.parametrize("faults", [[], ["request-blobs-in-model-order"]])
def test_generated_requests_are_judged_again_from_their_entries(
    tmp_path: Path, faults: list[str]
) -> None:
    path = of_faulty(tmp_path, *faults, cases=[generated_case()])
    assert not cases_that_differ(said(path)[0])

    def change(report: Document) -> None:
        case_of(report, GENERATED)["exchanges"][0]["entry"]["request"]["id"] = "another"

    assert cases_that_differ(changed(path, tmp_path, change)[0]) == [GENERATED]


class _Waits(Behavior):
    """A server that asks to wait, every time, before it serves a coded request."""

    def handle(self, request: Request) -> Response:
        response = super().handle(request)
        coded = any(name.lower() == "content-encoding" for name, _ in request.headers)
        busy = Response(503, headers=(("Retry-After", "9"),))
        return busy if coded and response.status == 200 else response


def test_a_server_that_asks_to_wait_for_a_form_is_not_said_to_hide_it(
    start: Start, tmp_path: Path
) -> None:
    target = make_target(start(_Waits).url, profiles=("compression",), timeout=1)
    cases = chosen("Z6/wrong-checksum")
    found = verify(made(tmp_path, target, cases), every_case())
    assert found.exit_code == 0, words_of(found)


class _Silent(Behavior):
    """It answers no inference request."""

    def serialize(
        self, response: Response, *, keep_open: bool, with_body: bool = True
    ) -> list[Buffer]:
        silent = response.status == 500
        return (
            [] if silent else super().serialize(response, keep_open=keep_open, with_body=with_body)
        )

    def infer(self, model: ModelContract, request: Request) -> Response:
        return Response(500, (), ())


class _Dies(Behavior):
    """A request with much white space kills its model."""

    dead = ""

    def infer(self, model: ModelContract, request: Request) -> Response:
        if b" " * 60 in bytes(request.body):
            type(self).dead = model.role
        dead = model.role == self.dead
        return self.error(500, "dead") if dead else super().infer(model, request)


@pytest.mark.parametrize(("server", "outcome"), [(_Silent, "inconclusive"), (_Dies, "not_run")])
def test_generated_requests_that_were_not_sent_are_taken_as_recorded(
    server: type[Behavior], outcome: str, tmp_path: Path, start: Start
) -> None:
    cases = [*chosen("H1/honoured[long,INT32]"), generated_case()]
    timeout = 0.3 if server is _Silent else 10
    path = made(tmp_path, target_of(start(server).url, timeout=timeout), cases)
    found, text = said(path)
    assert found.exit_code == 0, text
    assert case_of(read_document(path), GENERATED)["outcome"] == outcome


LONG = bytes(1 << 20)
LEFT = [Parting.LEAVES, Parting.RESETS]


def is_read_back(came: Exchange) -> bool:
    """Whether an exchange is the same once `verify` has read it from a report."""
    written = as_json(recorded_exchange(came, Mask()))
    kept = from_json(written, Exchange)
    assert (kept.first_byte_ms is None) == (not len(kept.received))
    asked = Prepared(request_of(bytes(came.request)))
    record = RecordedExchanges([kept], setting_of(report_of([])))
    again = record.take("it", (Purpose.CASE,), asked)
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
