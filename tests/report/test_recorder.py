"""The record and its report: whole, on disk at once, without a secret, one run at a time."""

from __future__ import annotations

import base64
import errno
import fcntl
import json
import signal
import sys
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import pytest
from msgspec.structs import replace

from support.cases import make_case, prepared
from support.leaks import is_shown
from support.responses import BLOB, exchange_of, http, v2
from v2_conformance.conversations.discovery import Server
from v2_conformance.conversations.steps import Result
from v2_conformance.errors import UsageError
from v2_conformance.judging.judge import judge
from v2_conformance.judging.metadata import ServerInfo
from v2_conformance.judging.verdict import Verdict
from v2_conformance.redaction import Masked
from v2_conformance.report.document import Report
from v2_conformance.report.files import RECORD, REPORT, load_report, read_report
from v2_conformance.report.recorder import Record, sole_run
from v2_conformance.resources import schema
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.cases import Case
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.causes.base import FirstDifference
from v2_conformance.suite.causes.causes import Cause, DidNotSurvive, GeneratedFailure
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending

TARGET = Target("http://me:hunter2@h:1/x", headers=(("X-Api-Key", "s3cret-token"),))
INFO = ServerInfo("srv", "1", ("binary_tensor_data",))
SERVER = Server(INFO, {"mixed": TARGET.binding("mixed")}, {"a": "b"})
CASES = [make_case(case_id=f"D1/case-{n}") for n in range(3)]
FAILED = kinds.WrongStatus("200", 500, "no")


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


def test_a_finished_run_leaves_a_valid_report(tmp_path: Path) -> None:
    report = finished(tmp_path, *PASSED)
    document = json.loads((tmp_path / REPORT).read_text())
    schema("report").validate(document)
    assert load_report(tmp_path / REPORT) == report == load_report(tmp_path / RECORD)
    assert read_report(tmp_path / REPORT).is_intact
    assert report.complete
    assert report.target.url == "http://h:1/x"
    assert report.target.server == INFO
    assert report.target.models["mixed"].inputs == ("INPUT0", "INPUT1", "INPUT2")
    assert not list(tmp_path.glob("*.new"))


def test_bytes_of_exchanges_come_back_exactly(tmp_path: Path) -> None:
    raw = http(bytes(range(256)) * 3)
    sent = b"POST / HTTP/1.1\r\n\r\n" + bytes(range(256))
    came = exchange_of(bytearray(raw), detail="d", request=sent, reused=True, open=True)
    came = replace(came, sent=7, first_byte_ms=250.0, duration_ms=500.0)
    report = finished(tmp_path, result(CASES[0], Outcome.PASS, came), *PASSED[1:])
    (found,) = report.cases[0].exchanges
    assert (bytes(found.request), bytes(found.received)) == (sent, raw)
    assert replace(found, request=came.request, received=came.received) == replace(
        came, purpose=Purpose.CASE, note="note"
    )
    assert "pieces" not in json.loads((tmp_path / REPORT).read_text())["cases"][0]["exchanges"][0]


NASTY = "\ud800\x00\u2028 é \udfff\ud83d\ude00 \\ud800"
SHOWN = "\\ud800\x00\u2028 é \\udfff\\ud83d\\ude00 \\ud800"


def test_text_of_a_server_of_any_kind_stays_loadable(tmp_path: Path) -> None:
    info = ServerInfo(NASTY, NASTY, (NASTY,))
    server = Server(info, {"mixed": TARGET.binding("mixed")}, {"a": NASTY})
    cases = [make_case(case_id=f"D1/{NASTY}"), *CASES[1:]]
    made = Record(tmp_path, TARGET, server, cases)
    own = exchange_of(b"", Ending.CLOSED, NASTY, entry={NASTY: [NASTY]})
    told = own.for_purpose(Purpose.CANARY_FRESH, NASTY, expected=NASTY)
    cause = DidNotSurvive(kinds.NotHttp(NASTY), None, kinds.RoleAbsent(NASTY, NASTY), False)
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
    assert case.cause == DidNotSurvive(
        kinds.NotHttp(SHOWN), None, kinds.RoleAbsent(SHOWN, SHOWN), False
    )
    (exchange,) = case.exchanges
    assert (exchange.note, exchange.detail, exchange.expected) == (SHOWN, SHOWN, SHOWN)
    assert exchange.entry == {SHOWN: [SHOWN]}


@pytest.mark.parametrize("digits", [19, 300, 4300, 4301, 5000])
def test_a_number_of_any_size_stays_loadable(tmp_path: Path, digits: int) -> None:
    number = b"9" * digits
    output = b'{"outputs":[{"name":"OUTPUT0","datatype":"INT32","shape":[%b'
    bodies = (
        output % b'3],"parameters":{"binary_data_size":%b}}]}' % number,
        output % b'0,%b],"parameters":{"binary_data_size":0}}]}' % number,
        output % b'1e300],"data":[1]}]}',
    )
    for count, body in enumerate(bodies):
        folder = tmp_path / str(count)
        found = judge(CASES[0], prepared(CASES[0]), exchange_of(v2(body, BLOB)))
        # Of a number with more digits the suite reads nothing.
        deeper = digits > 4300 and number in body
        assert found.outcome is (Outcome.INCONCLUSIVE if deeper else Outcome.FAIL)
        report = finished(folder, Result(CASES[0], found))
        assert load_report(folder / REPORT) == report
        assert read_report(folder / REPORT).is_intact


def test_no_secret_reaches_the_record_or_the_report(tmp_path: Path) -> None:
    basic = base64.b64encode(b"me:hunter2").decode()
    request = (
        f"GET /v2 HTTP/1.1\r\nAuthorization: Basic {basic}\r\nX-Api-Key: s3cret-token\r\n"
        "Cookie: a=chocolate\r\n\r\n"
    ).encode()
    body = b'{"error": "s3cret-token hunter2 %b"}' % basic.encode()
    response = http(body, 400, ("Set-Cookie", "id=chocolate"))
    came = exchange_of(response, detail="s3cret-token", request=request)
    text = f"s3cret-token hunter2 Basic {basic}"
    failed = result(
        CASES[0], Outcome.FAIL, came, cause=kinds.WrongStatus("200", 400, text), sent=text
    )
    report = finished(tmp_path, failed, *PASSED[1:])
    (exchange,) = report.cases[0].exchanges
    masked = [bytes(exchange.request), bytes(exchange.received)]
    assert [len(data) for data in masked] == [len(request), len(response)]
    assert masked[1].index(b'"}') == response.index(b'"}')
    assert masked[1].startswith(b"HTTP/1.1 400 Any\r\nContent-Length: ")
    everything = b"".join([*masked, *(path.read_bytes() for path in tmp_path.iterdir())])
    for secret in (b"hunter2", b"s3cret-token", basic.encode(), b"chocolate"):
        assert secret not in everything


def test_no_secret_reaches_a_cause_in_words_or_in_hex(tmp_path: Path) -> None:
    secret = "s3cret-token"
    hexed, stars = secret.encode().hex(), "*" * len(secret)
    found = FirstDifference("OUT", "BYTES", 0, 4, None, "00", hexed, "b'a'", f"b'{secret[:9]}'…")
    element = kinds.WrongBytesElement(found, 1, None, 0, 1, 12, "(nothing)", f"{hexed[:18]}…")
    masked = replace(found, got=2 * stars, got_value="b'*********'…")

    def cause(word: str, found: FirstDifference, element: Cause) -> Cause:
        died = DidNotSurvive(
            kinds.WrongValue(found, 1, 1), kinds.WrongStatus(word, 500, word), element, False
        )
        return GeneratedFailure(died, 1, 0, "6", word)

    report = finished(tmp_path, result(CASES[0], Outcome.FAIL, cause=cause(secret, found, element)))
    hidden = kinds.WrongBytesElement(masked, 1, None, 0, 1, 12, "(nothing)", "*" * 18 + "…")
    assert report.cases[0].cause == cause(stars, masked, hidden)
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
        "v2_conformance.redaction.Mask.data", lambda self, data, limit: Masked(data)
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


HOLDER = """
import sys
from pathlib import Path
from v2_conformance.report.recorder import sole_run

with sole_run(Path(sys.argv[1])):
    print("has it", flush=True)
    input()
"""


def refusal(folder: Path) -> str:
    with pytest.raises(UsageError) as caught, sole_run(folder):
        pass
    return str(caught.value)


def test_a_second_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "latest").symlink_to("real")
    for folder in (tmp_path / "real", tmp_path / "latest"):
        with sole_run(folder):
            assert "is in use" in refusal(tmp_path / "real")
    with sole_run(tmp_path / "real"):
        pass
    with sole_run(tmp_path / "made"):
        assert (tmp_path / "made").is_dir()
    assert not (tmp_path / "made").exists()  # it was made for nothing


def test_a_run_of_another_process_is_in_the_way_until_it_ends(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with Popen(command, stdin=PIPE, stdout=PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert "is in use" in refusal(tmp_path)
        other.send_signal(signal.SIGKILL)
        other.wait()
        with sole_run(tmp_path):
            pass


def test_a_file_system_without_locks_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(descriptor: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    with sole_run(tmp_path):
        pass
