"""The messages of a report and what clients say: each stands once, in streams; none is a bomb."""

from __future__ import annotations

import base64
import json
import random
import zlib
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from support.cases import make_case
from support.reports import Document, case, exchange, report_of
from support.responses import exchange_of, http
from support.scenarios import run
from v2_conformance import verify
from v2_conformance.conversations.discovery import Server
from v2_conformance.conversations.steps import Result
from v2_conformance.errors import ReportFileError
from v2_conformance.formats.shown import client_lines
from v2_conformance.formats.text.case import lines
from v2_conformance.judging.metadata import ServerInfo
from v2_conformance.judging.verdict import Verdict
from v2_conformance.report import bodies, files
from v2_conformance.report.bodies import SHORT, Streams
from v2_conformance.report.document import LongTensor, Report
from v2_conformance.report.files import (
    RECORD,
    REPORT,
    document_digest,
    load_report,
    read_report,
    sealed,
    write_report,
)
from v2_conformance.report.recorder import Record, shortened
from v2_conformance.resources import schema
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.client_lines import ClientResult, Line, ReportedTensor
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.exchange import Body, Exchange
from v2_mutants.selftest.clients import plain_client

ASKED = b"POST /v2/models/m/infer HTTP/1.1\r\n\r\n" + bytes(range(200))
ANSWERED = b"HTTP/1.1 200 OK\r\n\r\n" + bytes(range(199, -1, -1))
NOISE = random.Random(1).randbytes(200_000)
SERVER = Server(ServerInfo("srv", "1", ()))


def reported(*exchanges: Exchange) -> Report:
    """A report of one case after another, each with one of these exchanges."""
    cases = [case(f"P2/x{n}", "pass", None, one) for n, one in enumerate(exchanges)]
    return sealed(report_of(cases))


def whole() -> Report:
    cut = msgspec.structs.replace(exchange(b"x"), received=Streams().cut(bytes(40_000), 100))
    long = exchange(ASKED, bytes(40_000))
    return reported(exchange(ASKED, ANSWERED), exchange(ASKED, b""), long, long, cut)


def written(folder: Path, report: Report) -> Document:
    document: Document = json.loads(write_report(folder, report).read_text())
    return document


def recorded(folder: Path, *messages: bytes, request: bytes = b"") -> Record:
    """The unfinished record of a run with these responses, each of a case of its own."""
    cases = [make_case(case_id=f"D1/case-{n}") for n in range(len(messages))]
    record = Record(folder, Target("http://h:1"), SERVER, cases)
    for one, message in zip(cases, messages, strict=True):
        came = exchange_of(message, request=request)
        record.add(Result(one, Verdict(Outcome.PASS), 0.001, (came,)))
    return record


def test_a_message_that_repeats_is_there_once(tmp_path: Path) -> None:
    report = whole()
    document = written(tmp_path, report)
    schema("report").validate(document)
    assert load_report(tmp_path / REPORT) == report
    assert read_report(tmp_path / REPORT).is_intact
    first, second, third, fourth, _ = (one["exchanges"][0] for one in document["cases"])
    assert first["request"] == second["request"] == third["request"]
    assert first["request"][2] == len(ASKED)
    assert third["response"] == fourth["response"]
    assert second["response"] == ""  # shorter than its place
    short, long = (len(zlib.decompress(base64.b64decode(one))) for one in document["bodies"])
    assert (short, long) == (len(ASKED + ANSWERED) + 100, 40_000)


def test_a_full_stream_is_followed_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "FULL", 50_000)
    messages = [bytes([n]) * 9000 for n in range(20)] + [bytes([n]) * 20_000 for n in range(5)]
    messages += [NOISE, b"behind it" * 9]
    report = reported(*(exchange(one) for one in messages))
    document = written(tmp_path, report)
    sizes = sorted(len(zlib.decompress(base64.b64decode(one))) for one in document["bodies"])
    assert sizes == [*[20_000] * 5, *[45_000] * 3, 45_081, 200_000]  # long ones are alone
    assert load_report(tmp_path / REPORT) == report


def test_a_killed_run_has_the_messages_of_every_case_it_recorded(tmp_path: Path) -> None:
    messages = [http(NOISE), http(b"short"), http(NOISE), http(bytes(30_000))]
    recorded(tmp_path, *messages)._file.close()
    report = load_report(tmp_path / RECORD)
    assert [bytes(one.exchanges[0].received) for one in report.cases] == messages
    again = load_report(write_report(tmp_path, report))
    assert again == report
    for stream in written(tmp_path, report)["bodies"]:
        zlib.decompress(base64.b64decode(stream))


def test_responses_have_bounded_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "ANSWERS", 500_000)
    messages = [http(random.Random(n).randbytes(200_000)) for n in range(50)]
    report = recorded(tmp_path, *messages).finish()
    omitted = [one.exchanges[0].omitted for one in report.cases]
    assert omitted[:2] == [0, 0]
    assert all(omitted[2:])
    assert (tmp_path / REPORT).stat().st_size < 1_000_000
    assert read_report(tmp_path / REPORT).is_intact
    assert load_report(tmp_path / REPORT) == report
    start = report.cases[3].exchanges[0].received
    assert (bytes(start), start.size) == (messages[3][:512], len(messages[3]))
    shown = " ".join(text.plain for text in lines(report, report.cases[3], path="report.json"))
    assert "more, for which the report has no room" in " ".join(shown.split())
    assert report.cases[3].outcome is Outcome.PASS  # it was judged by all its bytes


def test_each_answer_to_a_long_request_may_be_as_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "ANSWERS", 1000)
    answers = [http(NOISE, 200, ("Date", str(n))) for n in range(4)]
    report = recorded(tmp_path, *answers, request=NOISE).finish()  # the same request each time
    assert [one.exchanges[0].omitted for one in report.cases] == [0] * 4


def packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data)).decode()


def placed(report: Document, *place: int) -> None:
    report["cases"][0]["exchanges"][0]["request"] = list(place)


def bombs(report: Document, streams: int = 300) -> None:
    report["bodies"] = [packed(bytes(16 << 20))] * streams
    first = report["cases"][0]
    exchanges = [
        first["exchanges"][0] | {"request": [n % streams, 0, 16 << 20], "response": ""}
        for n in range(300)
    ]
    report["cases"] = [first | {"exchanges": exchanges}]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda report: placed(report, 2, 0, 1), "there is no stream 2"),
        (lambda report: placed(report, 0, 99_999, 10**6), "a stream has not 1099999 bytes in it"),
        (lambda report: placed(report, 0, 10, 10**8), "no stream has 100000000 bytes"),
        (lambda report: placed(report, 0, -1, 1), "is not a report"),
        (lambda report: placed(report, 0, 0, 9, 5, "0" * 64), "no stream has 9 bytes"),  # type: ignore[arg-type]
        (lambda report: report.pop("bodies"), "there is no stream 0"),
        (lambda report: report.update(bodies=[packed(b"abc")] * 2), "a stream has not"),
        (lambda report: report.update(bodies=["AAAA"]), "a message in the report is damaged"),
        (bombs, "its messages have over 4096 MiB"),
        (lambda report: bombs(report, 1), "its exchanges have over 2048 MiB in all"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_damaged_stream_is_one_line(
    change: Callable[[Document], object], words: str, tmp_path: Path
) -> None:
    document = written(tmp_path, reported(exchange(ASKED, ANSWERED), exchange(bytes(40_000))))
    change(document)
    document["integrity"]["digest"] = document_digest(document)
    path = tmp_path / REPORT
    path.write_text(json.dumps(document))
    with pytest.raises(ReportFileError, match=words) as found:
        [bytes(one.request) for one in load_report(path).cases[0].exchanges]
    assert "\n" not in str(found.value)


def test_a_record_with_streams_out_of_order_is_one_line(tmp_path: Path) -> None:
    recorded(tmp_path, http(NOISE))._file.close()
    path = tmp_path / RECORD
    path.write_text(path.read_text().replace('"bodies":[[0,', '"bodies":[[7,'))
    with pytest.raises(ReportFileError, match="stream 7 does not follow the others"):
        load_report(path)


LONG = bytes(range(256)) * 100


def said(*data: bytes) -> ClientResult:
    tensors = tuple(ReportedTensor("A", "UINT8", (len(one),), one) for one in data)
    return ClientResult(lines=(Line(error="no"), Line(outputs=tensors)), exit=0)


@pytest.mark.parametrize("data", [(), (b"",), (b"short",), (LONG,), (b"", LONG, b"x", LONG)])
def test_what_is_long_comes_back(data: tuple[bytes, ...]) -> None:
    whole = said(*data)
    short, long = shortened(whole)
    assert len(long) == data.count(LONG)
    assert all(len(o.data) <= SHORT for line in short.lines for o in line.outputs or ())
    assert case("K1/x", reported=short, reported_long=long).reported_in_full == whole


@pytest.mark.parametrize("place", [(5, 0), (0, 0), (1, 1), (1, 2)])
def test_what_is_damaged_is_an_error(place: tuple[int, int]) -> None:
    long = LongTensor(*place, Body(LONG))
    with pytest.raises(ReportFileError):
        print(case("K1/x", reported=said(b"", b"taken"), reported_long=(long,)).reported_in_full)


def test_a_tensor_of_16_mib_takes_little_room_and_is_verified(tmp_path: Path) -> None:
    run(tmp_path, plain_client(), 1, ["K40/large*"], timeout_s=30)
    path = tmp_path / REPORT
    assert path.stat().st_size < 1_000_000
    report = load_report(path)
    assert all("16800000 bytes" in client_lines(c)[0] for c in report.cases if "16" in c.id)
    assert verify(path).exit_code == 0
