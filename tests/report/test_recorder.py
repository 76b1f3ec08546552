"""The record survives being cut anywhere, secrets never reach it, and the report is valid."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from support.servers import http, make_case, transcript
from v2_conformance.engine.discovery import Server
from v2_conformance.engine.engine import Exchange, Result
from v2_conformance.engine.target import Target
from v2_conformance.errors import ReportFileError, UsageError
from v2_conformance.judging.judge import FAIL, NOT_RUN, PASS
from v2_conformance.redaction import Mask
from v2_conformance.report.recorder import (
    PAGE,
    RECORD,
    REPORT,
    Record,
    load_report,
    write_atomically,
)
from v2_conformance.resources import schema
from v2_conformance.suite.cases import Case
from v2_conformance.wire.http1 import COMPLETE, Transcript

TARGET = Target("http://me:hunter2@h:1/x", headers=(("X-Api-Key", "s3cret-token"),))
SERVER = Server("srv", "1", ("binary_tensor_data",), {"mixed": TARGET.binding("mixed")}, {"a": "b"})
CASES = [make_case(case_id=f"D1/case-{n}") for n in range(3)]


def result(case: Case, outcome: str = PASS, *exchanges: Transcript, message: str = "") -> Result:
    return Result(case, outcome, message, 0.001, tuple(Exchange(t, "note") for t in exchanges))


def record(tmp_path: Path, *results: Result, target: Target = TARGET) -> Record:
    made = Record(tmp_path, target, SERVER, CASES)
    for item in results:
        made.add(item)
    return made


def finished(tmp_path: Path, *results: Result) -> dict[str, Any]:
    return record(tmp_path, *results).finish()


PASSED = [result(case, PASS, transcript(http(b"\x00\xff"))) for case in CASES]


def refused(path: Path) -> str:
    with pytest.raises(ReportFileError) as error:
        load_report(path)
    assert "\n" not in str(error.value)
    assert path.name in str(error.value)
    return str(error.value)


# The report.


def test_a_finished_run_leaves_a_valid_report(tmp_path: Path) -> None:
    report = finished(tmp_path, *PASSED)
    schema("report").validate(report)
    assert json.loads((tmp_path / REPORT).read_text()) == report == load_report(tmp_path / REPORT)
    assert load_report(tmp_path / RECORD) == report
    assert report["complete"] is True
    assert report["verdict"]["conformant"] is True
    assert report["target"]["url"] == "http://h:1/x"
    assert report["target"]["server"] == {
        "name": "srv",
        "version": "1",
        "extensions": ["binary_tensor_data"],
    }
    assert report["target"]["models"]["mixed"]["inputs"] == ["INPUT0", "INPUT1", "INPUT2"]
    assert not list(tmp_path.glob("*.new"))


def test_bytes_of_exchanges_come_back_exactly(tmp_path: Path) -> None:
    raw = http(bytes(range(256)) * 3)
    sent = b"POST / HTTP/1.1\r\n\r\n" + bytes(range(256))
    came = Transcript(sent, 7, bytearray(raw), COMPLETE, "d", True, True, 0.25, 0.5)
    report = finished(tmp_path, result(CASES[0], PASS, came), *PASSED[1:])
    (exchange,) = report["cases"][0]["exchanges"]
    assert base64.b64decode(exchange["request"]) == sent
    assert base64.b64decode(exchange["response"]) == raw
    assert (exchange["sent"], exchange["reused"], exchange["open"]) == (7, True, True)
    assert (exchange["first_byte_ms"], exchange["duration_ms"]) == (250.0, 500.0)
    assert (exchange["ending"], exchange["detail"], exchange["note"]) == (COMPLETE, "d", "note")
    assert "pieces" not in exchange


def test_how_a_request_was_cut_into_writes_is_kept(tmp_path: Path) -> None:
    came = Transcript(b"abcde", 5, b"", COMPLETE, pieces=(2, 3), pause_s=0.005)
    report = finished(tmp_path, result(CASES[0], PASS, came), *PASSED[1:])
    (exchange,) = report["cases"][0]["exchanges"]
    assert (exchange["pieces"], exchange["pause_ms"]) == ([2, 3], 5.0)


def test_cases_stand_in_the_order_of_the_plan_whatever_ran_first(tmp_path: Path) -> None:
    report = finished(tmp_path, *reversed(PASSED))
    assert [case["id"] for case in report["cases"]] == [case.id for case in CASES]


def test_a_failure_makes_the_report_not_conformant(tmp_path: Path) -> None:
    report = finished(tmp_path, result(CASES[0], FAIL, message="why"), *PASSED[1:])
    assert report["verdict"]["conformant"] is False
    assert report["cases"][0]["message"] == "why"
    (row,) = [row for row in report["requirements"] if row["id"] == "D1"]
    assert (row["outcome"], row["cases"]) == ("fail", {"fail": 1, "pass": 2})


def test_a_run_that_was_stopped_is_incomplete_and_never_conformant(tmp_path: Path) -> None:
    report = record(tmp_path, PASSED[0]).finish(complete=False)
    assert report["complete"] is False
    assert report["verdict"]["conformant"] is False
    assert "stopped with 2 cases to go" in report["verdict"]["reasons"][0]
    schema("report").validate(report)


def test_text_of_a_server_of_any_kind_stays_loadable(tmp_path: Path) -> None:
    server = Server("\ud800\x00\u2028", "é\n", ("\x1b",), {}, {})
    made = Record(tmp_path, TARGET, server, CASES)
    made.add(result(CASES[0], NOT_RUN, message="\ud800\r\n\u2028"))
    report = made.finish()
    assert report["target"]["server"]["name"] == "\ud800\x00\u2028"
    assert load_report(tmp_path / REPORT) == report
    assert (tmp_path / REPORT).read_bytes().isascii()


# A run that was killed.


def test_every_case_is_on_disk_before_the_next_one(tmp_path: Path) -> None:
    made = record(tmp_path)
    for count, item in enumerate(PASSED, 1):
        made.add(item)
        report = load_report(tmp_path / RECORD)
        assert len(report["cases"]) == count
        assert report["complete"] is False
    made.finish()


@pytest.mark.parametrize("footer", [True, False], ids=["in the footer", "in a case"])
@pytest.mark.parametrize("first", range(8))
def test_a_record_cut_at_any_byte_of_its_last_line_is_still_read(
    tmp_path: Path, footer: bool, first: int
) -> None:
    made = record(tmp_path, *PASSED[:2], result(CASES[2]))
    path = tmp_path / RECORD
    if not footer:
        whole = path.read_bytes()
        made.finish()
    else:
        made.finish()
        whole = path.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    for end in range(last + first, len(whole) + 1, 8):
        path.write_bytes(whole[:end])
        report = load_report(path)
        done = end >= len(whole) - 1
        assert report["complete"] is (footer and done)
        assert len(report["cases"]) == (3 if footer or done else 2)
        assert report["verdict"]["conformant"] is (footer and done)


def test_a_record_cut_in_its_header_is_refused_in_one_line(tmp_path: Path) -> None:
    record(tmp_path).finish()
    path = tmp_path / RECORD
    header = path.read_bytes().partition(b"\n")[0]
    for end in range(len(header)):
        path.write_bytes(header[:end])
        refused(path)


def test_a_report_cut_anywhere_is_refused_with_a_hint_at_the_record(tmp_path: Path) -> None:
    finished(tmp_path, *PASSED)
    path = tmp_path / REPORT
    whole = path.read_bytes()
    for end in range(0, len(whole) - 2, 61):
        path.write_bytes(whole[:end])
        message = refused(path)
        assert RECORD in message or not end


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "null",
        "<html>",
        '{"header":',
        '{"header":{}}\n',
        '{"header":{}}\n{"case":{}}\n',
        '{"header":{"order":[]}}\n{"case":3}\n',
        '{"header":null}\n',
        '{"header":{"order":[]}}\nnot json\n{"footer":{}}\n',
        '{"header":{"order":[]}}\n[]\n',
        "[" * 100_000,
    ],
)
def test_what_is_no_report_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / REPORT
    path.write_text(text)
    refused(path)


def test_a_report_that_is_binary_missing_or_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / REPORT).write_bytes(b"\xff\xfe\x00")
    assert "not UTF-8" in refused(tmp_path / REPORT)
    assert "cannot read" in refused(tmp_path / "missing.json")
    assert "cannot read" in refused(tmp_path)


def test_a_report_that_breaks_its_schema_is_refused_with_the_place(tmp_path: Path) -> None:
    report = finished(tmp_path, *PASSED)
    report["cases"][1]["outcome"] = "fine"
    write_atomically(tmp_path / REPORT, json.dumps(report))
    assert "cases.1.outcome" in refused(tmp_path / REPORT)


# The folder.


def test_the_report_of_an_older_run_is_removed_when_a_new_one_starts(tmp_path: Path) -> None:
    finished(tmp_path, *PASSED)
    (tmp_path / PAGE).write_text("old")
    made = record(tmp_path)
    assert not (tmp_path / REPORT).exists()
    assert not (tmp_path / PAGE).exists()
    assert load_report(tmp_path / RECORD)["cases"] == []
    made.finish()


def test_folders_are_made_when_they_are_not_there(tmp_path: Path) -> None:
    assert finished(tmp_path / "a" / "b", *PASSED)["complete"]


def test_a_folder_that_cannot_be_written_is_one_line_with_the_way_out(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    for directory in (blocked, blocked / "below"):
        with pytest.raises(UsageError, match="--report-dir") as error:
            record(directory)
        assert "\n" not in str(error.value)
    with pytest.raises(UsageError, match="cannot write"):
        write_atomically(blocked / "x.json", "{}")


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("old")
    (tmp_path / "report.json.new").mkdir()
    with pytest.raises(UsageError):
        write_atomically(path, "new")
    assert path.read_text() == "old"


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
    came = Transcript(request, len(request), response, COMPLETE, "s3cret-token")
    text = f"status 400: s3cret-token hunter2 Basic {basic}"
    report = finished(tmp_path, result(CASES[0], FAIL, came, message=text), *PASSED[1:])
    (exchange,) = report["cases"][0]["exchanges"]
    masked = [base64.b64decode(exchange[key]) for key in ("request", "response")]
    assert [len(data) for data in masked] == [len(request), len(response)]
    assert masked[1].index(b'"}') == response.index(b'"}')
    assert masked[1].startswith(b"HTTP/1.1 400 Any\r\nContent-Length: ")
    everything = b"".join(
        [*masked, (tmp_path / REPORT).read_bytes(), (tmp_path / RECORD).read_bytes()]
    )
    for secret in (b"hunter2", b"s3cret-token", basic.encode(), b"chocolate"):
        assert secret not in everything


@pytest.mark.parametrize(
    ("head", "hidden"),
    [
        (b"HTTP/1.1 200 OK\r\nSet-Cookie: id=abc\r\nA: b", b"id=abc"),
        (b"HTTP/1.1 200 OK\r\nset-COOKIE:id=abc; Path=/", b"id=abc; Path=/"),
        (b"HTTP/1.1 200 OK\nSet-Cookie: id=abc\nA: b", b"id=abc"),
        (b"GET / HTTP/1.1\r\nCookie: \tid=abc", b"id=abc"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nSet-Cookie: id=abc", b"id=abc"),
        (b"HTTP/1.1 200 OK\r\nSet-Cookie: id=\r\n abc", b"id=\r\n abc"),
        (b"HTTP/1.1 200 OK\r\nSet-Cookie: id=abc\r\nSet-Cookie: id=abc", b"id=abc"),
    ],
)
def test_values_of_cookies_are_masked_byte_for_byte(head: bytes, hidden: bytes) -> None:
    body = b"\r\n\r\nCookie: in the body\r\nSet-Cookie: stays"
    masked = Mask().data(head + body)
    assert masked == head.replace(hidden, b"*" * len(hidden)) + body


def test_masking_nothing_changes_nothing() -> None:
    data = bytes(range(256)) * 40
    assert Mask(("absent",)).data(memoryview(data)) == data
    assert Mask(("absent",)).text("text") == "text"


def test_a_secret_is_masked_also_where_a_message_quotes_it_as_ascii() -> None:
    mask = Mask(("pä\\ssword",))
    assert "ss" not in mask.text(ascii("echo pä\\ssword"))
    assert mask.data("x pä\\ssword".encode()) == b"x **********"


def test_a_secret_that_a_message_cuts_off_is_masked_as_far_as_it_goes() -> None:
    assert Mask(("a-long-secret",)).text("got a-long-sec…") == "got **********…"


def test_a_short_secret_is_masked_in_its_own_field_and_leaves_the_rest_readable() -> None:
    mask = Mask(("200",), ("X-Partition-Key",))
    head = b"POST / HTTP/1.1\r\nx-partition-key: 200\r\n\r\nbody 200"
    assert mask.data(head) == b"POST / HTTP/1.1\r\nx-partition-key: ***\r\n\r\nbody 200"
    assert mask.data(b"HTTP/1.1 200 OK\r\n\r\n") == b"HTTP/1.1 200 OK\r\n\r\n"
