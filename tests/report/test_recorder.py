"""The record and its report: whole, in order, on disk at once, and without a secret."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from support.cases import make_case, prepared
from support.leaks import is_shown
from support.responses import BLOB, exchange_of, http, v2
from v2_conformance.conversations.steps import Result
from v2_conformance.errors import UsageError
from v2_conformance.judging.judge import judge
from v2_conformance.judging.verdict import Verdict
from v2_conformance.redaction import Masked
from v2_conformance.report.document import Report
from v2_conformance.report.files import RECORD, REPORT, load_report, read_report
from v2_conformance.report.recorder import Record
from v2_conformance.report.tested import ServerInfo
from v2_conformance.resources import schema
from v2_conformance.runs.discovery import Server
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.cases import Case
from v2_conformance.suite.causes.base import FirstDifference
from v2_conformance.suite.causes.causes import Cause, DidNotSurvive, GeneratedFailure
from v2_conformance.suite.causes.kinds import (
    NotHttp,
    RoleAbsent,
    WrongBytesElement,
    WrongStatus,
    WrongValue,
)
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending

TARGET = Target("http://me:hunter2@h:1/x", headers=(("X-Api-Key", "s3cret-token"),))
SERVER = Server("srv", "1", ("binary_tensor_data",), {"mixed": TARGET.binding("mixed")}, {"a": "b"})
CASES = [make_case(case_id=f"D1/case-{n}") for n in range(3)]
FAILED = WrongStatus("200", 500, "no")


def result(
    case: Case,
    outcome: Outcome = Outcome.PASS,
    *exchanges: Exchange,
    cause: Cause | None = None,
    sent: str = "",
) -> Result:
    recorded = tuple(one.for_purpose(Purpose.CASE, "note") for one in exchanges)
    return Result(case, Verdict(outcome, cause, sent), 0.001, recorded)


def record(tmp_path: Path, *results: Result, target: Target = TARGET, **more: Any) -> Record:
    made = Record(tmp_path, target, SERVER, CASES, **more)
    for item in results:
        made.add(item)
    return made


def finished(tmp_path: Path, *results: Result, target: Target = TARGET) -> Report:
    return record(tmp_path, *results, target=target).finish()


PASSED = [result(case, Outcome.PASS, exchange_of(http(b"\x00\xff"))) for case in CASES]


# The report.


def test_a_finished_run_leaves_a_valid_report(tmp_path: Path) -> None:
    report = finished(tmp_path, *PASSED)
    document = json.loads((tmp_path / REPORT).read_text())
    schema("report").validate(document)
    assert load_report(tmp_path / REPORT) == report == load_report(tmp_path / RECORD)
    assert read_report(tmp_path / REPORT).is_intact
    assert document["cases"][1]["id"] == report.cases[1].id
    assert report.complete is True
    assert report.verdict.conformant is True
    assert report.target.url == "http://h:1/x"
    assert report.target.server == ServerInfo("srv", "1", ("binary_tensor_data",))
    assert report.target.models["mixed"].inputs == ("INPUT0", "INPUT1", "INPUT2")
    assert not list(tmp_path.glob("*.new"))


def test_bytes_of_exchanges_come_back_exactly(tmp_path: Path) -> None:
    raw = http(bytes(range(256)) * 3)
    sent = b"POST / HTTP/1.1\r\n\r\n" + bytes(range(256))
    came = exchange_of(bytearray(raw), detail="d", request=sent, reused=True, open=True)
    came = replace(came, sent=7, first_byte_ms=250.0, duration_ms=500.0)
    report = finished(tmp_path, result(CASES[0], Outcome.PASS, came), *PASSED[1:])
    (exchange,) = report.cases[0].exchanges
    assert exchange.request == sent
    assert exchange.received == raw
    assert (exchange.sent, exchange.reused, exchange.open) == (7, True, True)
    assert (exchange.first_byte_ms, exchange.duration_ms) == (250.0, 500.0)
    assert (exchange.ending, exchange.detail, exchange.note) == (Ending.COMPLETE, "d", "note")
    assert exchange.purpose is Purpose.CASE
    assert "pieces" not in json.loads((tmp_path / REPORT).read_text())["cases"][0]["exchanges"][0]


def test_cases_stand_in_the_order_of_the_plan_whatever_ran_first(tmp_path: Path) -> None:
    report = finished(tmp_path, *reversed(PASSED))
    assert [case.id for case in report.cases] == [case.id for case in CASES]


# Whatever a server sent, the report can be read.


NASTY = "\ud800\x00\u2028 é \udfff\ud83d\ude00 \\ud800"
SHOWN = "\\ud800\x00\u2028 é \\udfff\\ud83d\\ude00 \\ud800"


def test_text_of_a_server_of_any_kind_stays_loadable(tmp_path: Path) -> None:
    server = Server(NASTY, NASTY, (NASTY,), {"mixed": TARGET.binding("mixed")}, {"a": NASTY})
    cases = [make_case(case_id=f"D1/{NASTY}"), *CASES[1:]]
    made = Record(tmp_path, TARGET, server, cases)
    own = exchange_of(b"", Ending.CLOSED, NASTY, entry={NASTY: [NASTY]})
    told = own.for_purpose(Purpose.CANARY_FRESH, NASTY, expected=NASTY)
    cause = DidNotSurvive(NotHttp(NASTY), None, RoleAbsent(NASTY, NASTY), False)
    made.add(Result(cases[0], Verdict(Outcome.FAIL, cause, NASTY), 0.1, (told,)))
    report = made.finish()
    for path in (tmp_path / REPORT, tmp_path / RECORD):
        assert load_report(path) == report
        assert path.read_bytes().isascii()
    assert read_report(tmp_path / REPORT).is_intact
    assert report.target.server == ServerInfo(SHOWN, SHOWN, (SHOWN,))
    assert report.target.absent == {"a": SHOWN}
    (case,) = report.cases
    assert (case.id, case.message.endswith(f"({SHOWN})")) == (f"D1/{SHOWN}", True)
    assert case.cause == DidNotSurvive(NotHttp(SHOWN), None, RoleAbsent(SHOWN, SHOWN), False)
    (exchange,) = case.exchanges
    assert (exchange.note, exchange.detail, exchange.expected) == (SHOWN, SHOWN, SHOWN)
    assert exchange.entry == {SHOWN: [SHOWN]}


@pytest.mark.parametrize("digits", [19, 20, 300, 4298, 4299, 4300, 4301, 5000])
def test_a_number_of_any_size_stays_loadable(tmp_path: Path, digits: int) -> None:
    number = "9" * digits
    bodies = (
        b'{"outputs":[{"name":"OUTPUT0","datatype":"INT32","shape":[3],'
        b'"parameters":{"binary_data_size":%b}}]}' % number.encode(),
        b'{"outputs":[{"name":"OUTPUT0","datatype":"INT32","shape":[0,%b],'
        b'"parameters":{"binary_data_size":0}}]}' % number.encode(),
        b'{"outputs":[{"name":"OUTPUT0","datatype":"INT32","shape":[1e300],"data":[1]}]}',
        b"{}",
    )
    lengths = (None, None, None, number[:40])
    results: list[Result] = []
    for body, length in zip(bodies, lengths, strict=True):
        answered = exchange_of(v2(body, BLOB, length=length))
        found = judge(CASES[0], prepared(CASES[0]), answered)
        # Of a number with more digits the suite reads nothing.
        deeper = digits > 4300 and number.encode() in body
        assert found.outcome is (Outcome.INCONCLUSIVE if deeper else Outcome.FAIL)
        results.append(Result(make_case(case_id=f"D1/case-{len(results)}"), found))
    report = finished(tmp_path, *results)
    assert len(report.cases) == len(bodies)
    assert load_report(tmp_path / REPORT) == report
    assert read_report(tmp_path / REPORT).is_intact


# A record at work.


def test_every_case_is_on_disk_before_the_next_one(tmp_path: Path) -> None:
    made = record(tmp_path)
    for count, item in enumerate(PASSED, 1):
        made.add(item)
        report = load_report(tmp_path / RECORD)
        assert len(report.cases) == count
        assert report.complete is False
    made.finish()


def test_unwritable_case_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = record(tmp_path, PASSED[1])

    def full(descriptor: int, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("v2_conformance.report.recorder.write_all", full)
    for more in (lambda: made.add(PASSED[2]), made.finish):
        with pytest.raises(UsageError, match=r"cannot write .*report\.jsonl: No space left"):
            more()
    assert [case.id for case in load_report(tmp_path / RECORD).cases] == ["D1/case-1"]


def test_the_files_of_an_older_run_are_removed_when_a_new_one_starts(tmp_path: Path) -> None:
    finished(tmp_path, *PASSED)
    for name in ("page.html", "mine.txt"):
        (tmp_path / name).write_text("old")
    made = record(tmp_path, outdated=("page.html", "never-there.svg"))
    assert not (tmp_path / REPORT).exists()
    assert not (tmp_path / "page.html").exists()
    assert (tmp_path / "mine.txt").exists()
    assert load_report(tmp_path / RECORD).cases == ()
    made.finish()


def test_a_folder_that_cannot_be_written_is_one_line_with_the_way_out(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    for directory in (blocked, blocked / "below"):
        with pytest.raises(UsageError, match="--report-dir") as error:
            record(directory)
        assert "\n" not in str(error.value)


# Secrets.


def test_no_secret_reaches_the_record_or_the_report(tmp_path: Path) -> None:
    basic = base64.b64encode(b"me:hunter2").decode()
    request = (
        f"GET /v2 HTTP/1.1\r\nAuthorization: Basic {basic}\r\nX-Api-Key: s3cret-token\r\n"
        "Cookie: a=chocolate\r\n\r\n"
    ).encode()
    response = http(
        b'{"error": "s3cret-token hunter2 %b"}' % basic.encode(),
        400,
        ("Set-Cookie", "id=chocolate"),
    )
    came = exchange_of(response, detail="s3cret-token", request=request)
    text = f"s3cret-token hunter2 Basic {basic}"
    failed = result(CASES[0], Outcome.FAIL, came, cause=WrongStatus("200", 400, text), sent=text)
    report = finished(tmp_path, failed, *PASSED[1:])
    (exchange,) = report.cases[0].exchanges
    masked = [bytes(exchange.request), bytes(exchange.received)]
    assert [len(data) for data in masked] == [len(request), len(response)]
    assert masked[1].index(b'"}') == response.index(b'"}')
    assert masked[1].startswith(b"HTTP/1.1 400 Any\r\nContent-Length: ")
    everything = b"".join(
        [*masked, (tmp_path / REPORT).read_bytes(), (tmp_path / RECORD).read_bytes()]
    )
    for secret in (b"hunter2", b"s3cret-token", basic.encode(), b"chocolate"):
        assert secret not in everything


def test_no_secret_reaches_a_cause_in_words_or_in_hex(tmp_path: Path) -> None:
    secret = "s3cret-token"
    hexed = secret.encode().hex()
    found = FirstDifference("OUT", "BYTES", 0, 4, None, "00", hexed, "b'a'", f"b'{secret[:9]}'…")
    element = WrongBytesElement(found, 1, None, 0, 1, 12, "(nothing)", f"{hexed[:18]}…")
    value = WrongValue(found, 1, 1)
    died = DidNotSurvive(value, WrongStatus(secret, 500, secret), element, False)
    cause = GeneratedFailure(died, 1, 0, "6", secret)
    report = finished(tmp_path, result(CASES[0], Outcome.FAIL, cause=cause))
    (case,) = report.cases
    stars = "*" * len(secret)
    assert isinstance(case.cause, GeneratedFailure)
    assert case.cause.file == stars
    shown = case.cause.request
    assert isinstance(shown, DidNotSurvive)
    assert shown.fresh_connection == WrongStatus(stars, 500, stars)
    assert isinstance(shown.same_connection, WrongValue)
    assert shown.same_connection.difference.got == 2 * stars
    assert shown.same_connection.difference.got_value == "b'*********'…"
    assert isinstance(shown.case, WrongBytesElement)
    assert (shown.case.expected, shown.case.got) == ("(nothing)", "*" * 18 + "…")
    text = (tmp_path / REPORT).read_text()
    assert secret[:9] not in text
    assert hexed[:18] not in text


@pytest.mark.parametrize("secret", ["wrong_status", "status", "survive", "complete"])
def test_secret_that_is_a_word_of_the_report(tmp_path: Path, secret: str) -> None:
    target = Target("http://h:1", headers=(("X-Api-Key", secret),))
    cause = DidNotSurvive(None, FAILED, None, True)
    failed = result(CASES[0], Outcome.FAIL, exchange_of(http(b"")), cause=cause)
    (case,) = finished(tmp_path, failed, target=target).cases
    assert case.cause == cause
    assert case.id == "D1/case-0"


def test_case_with_a_secret_is_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = Target("http://h:1", headers=(("X-Api-Key", "open-sesame-42"),))
    monkeypatch.setattr(
        "v2_conformance.redaction.mask.Mask.data", lambda self, data, limit: Masked(data)
    )
    leaky = exchange_of(http(b'{"error": "open-sesame-42"}', 400))
    report = finished(tmp_path, result(CASES[0], Outcome.FAIL, leaky), *PASSED[1:], target=target)
    first, *rest = report.cases
    assert first.outcome is Outcome.ERROR
    assert "was not written because it would show a secret" in first.message
    assert not first.exchanges
    assert {case.outcome for case in rest} == {Outcome.PASS}
    for path in tmp_path.iterdir():
        assert is_shown(path.read_bytes(), b"open-sesame-42") is None
