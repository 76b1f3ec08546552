"""Runs over HTTP/2: what they ask, what they notice, and what their reports say and keep."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.asgi import hypercorn
from support.gateways import SETUPS, running_gateway
from support.http2_servers import OK, Http2Peer, behaving, http2, received
from support.leaks import is_shown
from support.reports import Document
from support.runs import FEW, SECRET, cases_that_differ, changed, chosen, made, said
from support.servers import serving
from v2_conformance.cli.main import main
from v2_conformance.formats.replay.commands import replay_command, write_replay
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.document import Report
from v2_conformance.report.files import load_report
from v2_conformance.runs.targets.make import make_target
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.causes.circumstances import NotOverHttp2
from v2_conformance.suite.causes.transport_findings import StreamReset
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.transcript import Http2Facts
from v2_mutants.servers import MutantServer, mutated

FEWEST = chosen("P2/blob-follows-json[INT32]", "P3/", "P5/", "P8/", "H6/not-a-number[letters]")
FORMS = chosen(
    "P2/blob-follows-json[INT32]",
    "P3/",
    "P5/",
    "P8/",
    "M1/",
    "H6/not-a-number[letters]",
    "C1/chunked-json",
    "C4/",
    "C5/",
    "C6/concurrent-requests[int32]",
    "C8/client-leaves[",
    "C12/",
    "R7/",
    "V2/request-in-any-spelling[many-fields]",
    "V2/request-in-any-spelling[pause-before-body]",
    "V2/request-in-any-spelling[pipelined]",
)


def http2_target(url: str, *headers: str, **how: object) -> Target:
    return make_target(url, headers=headers, timeout=5, http2=True, **how)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The report of a run over HTTP/2, with a secret."""
    with serving(http2(behaving(Behaviour()))) as server:
        target = http2_target(server.url, f"Authorization: Bearer {SECRET}")
        yield made(tmp_path_factory.mktemp("run") / "report", target, [*FEW, *FORMS])


@pytest.fixture(scope="module")
def report(path: Path) -> Report:
    return load_report(path)


@pytest.mark.long
def test_a_right_server_passes_and_what_only_http1_has_is_not_applicable(report: Report) -> None:
    assert not list(report.of(Outcome.FAIL, Outcome.INCONCLUSIVE, Outcome.ERROR, Outcome.NOT_RUN))
    left_out = {c.id: c.cause for c in report.cases if isinstance(c.cause, NotOverHttp2)}
    assert set(left_out) == {
        "C1/chunked-json",
        "C5/body-of-a-get[chunks]",
        "C5/kept-connection-after-success[chunks]",
        "C5/long-rejected-in-chunks",
        "C5/observed",
        "C5/rejected-before-the-end-of-the-chunks[131072]",
        "C5/rejected-before-the-end-of-the-chunks[500]",
        "C5/rejected-in-chunks",
        "C6/every-path",
        "C6/on-other-ways-in[connection-close]",
        "C8/client-leaves[in_head]",
        "C12/observed",
        "O18/id-on-every-way[version_in_chunks]",
        "V2/request-in-any-spelling[pipelined]",
    }
    assert left_out["C1/chunked-json"] == NotOverHttp2("chunks")
    case = report.case("C12/observed")
    assert case is not None
    assert case.outcome is Outcome.UNSUPPORTED
    assert case.message.startswith("not applicable over HTTP/2: ")


@pytest.mark.long
def test_report_says_that_the_run_was_over_http2(report: Report) -> None:
    assert report.target.http2
    assert "; over HTTP/2, which does not test C1, C12" in report.verdict.claim
    exchanges = [exchange for case in report.cases for exchange in case.exchanges]
    assert {exchange.http2 for exchange in exchanges} == {Http2Facts()}
    assert any(exchange.reused for exchange in exchanges)
    for exchange in exchanges:
        line = exchange.request.partition(b"\r\n")[0]
        assert line.endswith(b" HTTP/2")


def test_the_report_is_judged_again_from_fields_and_bodies(path: Path) -> None:
    found, words = said(path)
    assert not found.edits
    assert not cases_that_differ(found)
    assert all(case.unjudged is None for case in found.cases), words


def test_no_secret_is_in_the_report(path: Path) -> None:
    assert is_shown(path.read_bytes(), SECRET.encode()) is None
    report = load_report(path)
    assert b"\r\nauthorization: " in report.cases[0].exchanges[0].request


def over_http1(report: Document) -> None:
    report["target"]["http2"] = False


def forged_open(report: Document) -> None:
    exchange = next(e for c in report["cases"] for e in c["exchanges"])
    exchange["http2"] = {"goaway": 0}


def forged_reset(report: Document) -> None:
    exchange = next(e for c in report["cases"] for e in c["exchanges"])
    exchange["http2"] = {"reset": 2}


def plain_exchange(report: Document) -> None:
    del next(e for c in report["cases"] for e in c["exchanges"])["http2"]


@pytest.mark.long
@pytest.mark.parametrize("forge", [over_http1, forged_open, forged_reset, plain_exchange])
def test_impossible_record_is_noticed(forge: object, path: Path, tmp_path: Path) -> None:
    found, _ = changed(path, tmp_path, forge)  # type: ignore[arg-type]
    assert found.exit_code == 1


@pytest.mark.parametrize(
    ("fault", "requirement"),
    [
        ("request-blobs-off-by-one", "P2"),
        ("response-header-length-missing", "P3"),
        ("response-header-length-short", "P5"),
        ("response-blobs-padded", "P8"),
        ("non-numeric-header-length-guessed", "H6"),
    ],
)
def test_faults_are_noticed_over_http2(fault: str, requirement: str, tmp_path: Path) -> None:
    with serving(http2(behaving(mutated([fault])))) as server:
        report = load_report(made(tmp_path / "report", http2_target(server.url), FEWEST))
    assert requirement in {case.requirement for case in report.of(Outcome.FAIL)}


def test_reset_of_a_wrong_request_fails_with_its_code(tmp_path: Path) -> None:
    right = Behaviour()

    def script(peer: Http2Peer) -> None:
        while True:
            asked = peer.request()
            response = right.handle(received(asked.fields, bytes(asked.body)))
            if response.status == 400:
                peer.h2.reset_stream(asked.stream, 2)
                peer.flush()
            else:
                peer.answer(asked, b"".join(map(bytes, response.body)), [
                    *OK[:1], *((name.lower(), value) for name, value in response.headers)
                ])  # fmt: skip

    with serving(http2(script)) as server:
        path = made(tmp_path / "report", http2_target(server.url), FEWEST)
    case = load_report(path).case("H6/not-a-number[letters]")
    assert case is not None
    assert case.outcome is Outcome.FAIL
    assert case.cause == StreamReset(2, 0)
    assert "INTERNAL_ERROR (0x2)" in case.message
    assert [exchange.purpose.value for exchange in case.exchanges][1:] == [
        "canary_same_connection",
        "canary_fresh_connection",
    ]
    found, _ = said(path)
    assert not cases_that_differ(found)


def test_curl_replays_over_http2_or_not_at_all(report: Report, tmp_path: Path) -> None:
    case = report.case("P2/blob-follows-json[INT32]")
    slices = next(c for c in report.cases if c.id.startswith("C4/segmented-writes[int32,40]"))
    assert case is not None
    assert "--http2-prior-knowledge" in replay_command(report, case)
    write_replay(report, case, tmp_path / "replay")
    assert not (tmp_path / "replay" / "replay.py").exists()
    assert "-H 'content-type: application/octet-stream'" in (
        tmp_path / "replay" / "replay.sh"
    ).read_text("ascii")
    assert replay_command(report, slices) == ""


# The command.


def test_the_option_and_the_target_file_ask_for_http2(tmp_path: Path) -> None:
    file = tmp_path / "target.yaml"
    with serving(http2(behaving(Behaviour()))) as server:
        file.write_text(f"url: {server.url}\nhttp2: true\n")
        for number, arguments in enumerate([[server.url, "--http2"], ["--target", str(file)]]):
            out = tmp_path / str(number)
            code = main(["run", *arguments, "--case", "P2/*", "--report-dir", str(out)])
            assert code == 0
            assert json.loads((out / "report.json").read_text())["target"]["http2"] is True
            assert main(["verify", str(out / "report.json")]) == 0


def test_server_of_http1_is_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ReferenceServer() as server:
        assert main(["run", server.url, "--http2", "--report-dir", str(tmp_path / "r")]) == 3
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "does not speak HTTP/2" in message
    assert "--http2" in message


def test_gateways_over_http1_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(http2(behaving(Behaviour()))) as server:
        arguments = ["run", server.url, "--http2", "--through", "http://127.0.0.1:9"]
        assert main([*arguments, "--report-dir", str(tmp_path / "r")]) == 2
    assert "remove --http2" in capsys.readouterr().err


# Real implementations of HTTP/2.


def test_hypercorn_in_front_of_the_reference_behaviour(tmp_path: Path) -> None:
    with hypercorn(Behaviour()) as url:
        path = made(tmp_path / "report", http2_target(url), FORMS)
    report = load_report(path)
    assert [(c.id, c.message) for c in report.of(Outcome.FAIL, Outcome.INCONCLUSIVE)] == []
    assert said(path)[0].edits == ()


def test_hypercorn_over_http2_does_not_hide_a_fault(tmp_path: Path) -> None:
    with hypercorn(mutated(["response-header-length-short"])) as url:
        report = load_report(made(tmp_path / "report", http2_target(url), FEWEST))
    assert "P5" in {case.requirement for case in report.of(Outcome.FAIL)}


CADDY = {setup.name: setup for setup in SETUPS if setup.gateway == "caddy"}


@pytest.mark.parametrize(("fault", "failing"), [(None, set()), ("response-blobs-padded", {"P8"})])
def test_caddy_with_tls_in_front(fault: str | None, failing: set[str], tmp_path: Path) -> None:
    setup = CADDY["tls"]
    faults = () if fault is None else (fault,)
    with MutantServer(faults) as server, running_gateway(setup, server.url, tmp_path) as url:
        target = http2_target(url, cacert=tmp_path / "ca.pem")
        path = made(tmp_path / "report", target, FORMS)
    report = load_report(path)
    assert failing <= {case.requirement for case in report.of(Outcome.FAIL)}
    if not failing:
        assert [(c.id, c.message) for c in report.of(Outcome.FAIL, Outcome.INCONCLUSIVE)] == []
    found = said(path)[0]
    assert found.edits == ()
    assert not cases_that_differ(found)


def test_http2_is_loaded_only_when_it_is_asked_for() -> None:
    program = (
        "import sys, v2_conformance.cli.run.command, v2_conformance.runs.targets.make as t;"
        "t.make_target('http://127.0.0.1:1').transport();"
        "sys.exit('h2' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], env=os.environ).returncode == 0


def test_trailers_are_recorded_without_secrets(tmp_path: Path) -> None:
    right = Behaviour()

    def script(peer: Http2Peer) -> None:
        while True:
            asked = peer.request()
            response = right.handle(received(asked.fields, bytes(asked.body)))
            fields = [(":status", str(response.status))]
            fields += [(name.lower(), value) for name, value in response.headers]
            peer.fields(asked, fields)
            peer.data(asked, b"".join(map(bytes, response.body)))
            peer.fields(asked, [("x-echo", f"Bearer {SECRET}"), ("x-sum", "1")], end=True)

    with serving(http2(script)) as server:
        target = http2_target(server.url, f"Authorization: Bearer {SECRET}")
        path = made(tmp_path / "report", target, chosen("P2/blob-follows-json[INT32]"))
    assert is_shown(path.read_bytes(), SECRET.encode()) is None
    facts = load_report(path).cases[0].exchanges[0].http2
    assert facts is not None
    assert [name for name, _ in facts.trailers] == ["x-echo", "x-sum"]
    assert facts.trailers[1] == ("x-sum", "1")
