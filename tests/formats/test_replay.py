"""A replay sends the recorded request again: what the pasted command sends is compared with it."""

from __future__ import annotations

import os
import re
import shlex
import ssl
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trustme

from support.cases import prepared
from support.reports import case, exchange, report_of
from support.responses import http
from support.runs import CASES, results, target_of
from support.servers import Peer, Script, serving, steps
from v2_conformance.errors import ReportFileError, UsageError
from v2_conformance.formats.replay import replay_command, write_replay
from v2_conformance.redaction import Mask
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.bodies import Streams
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.report.recorder import case_result
from v2_conformance.suite.cases import GetCase, RequestCase
from v2_conformance.suite.causes.causes import DidNotSurvive
from v2_conformance.suite.causes.kinds import WrongStatus
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.wire.encode.deployment import Address
from v2_conformance.wire.transport import Request

NORMAL = "P2/blob-follows-json[INT32]"
FIELDS = (("User-Agent", "v2-conformance"), ("Accept", "*/*"))
HEAD = b"POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\n"


def record(
    *pieces: Any,
    name: str = NORMAL,
    pause_s: float = 0.0,
    mask: Mask | None = None,
    died: bool = False,
    more: Sequence[tuple[bytes, bool]] = (),
) -> CaseResult:
    """A failed case as recorded; `more` are the requests after its own, and whether they were sent
    on the same connection. Every one of those got a wrong answer if the server `died`."""
    request = b"".join(pieces)
    own = exchange(
        (mask or Mask()).data(request).data,
        pieces=tuple(len(piece) for piece in pieces) if len(pieces) > 1 else (),
        pause_ms=1000 * pause_s,
    )
    canaries = [
        exchange(
            data,
            b"",
            "canary",
            Purpose.CANARY_SAME if reused else Purpose.CANARY_FRESH,
            reused=reused,
        )
        for data, reused in more
    ]
    wrong = WrongStatus("200", 500, "")
    cause = DidNotSurvive(wrong, wrong, None, case_passed=True) if died else wrong
    return case(name, "fail", None, own, *canaries, cause=cause)


def of_suite(name: str) -> CaseResult:
    """A case of the suite as recorded, as it is sent."""
    request = request_to_send(name)
    return record(*request.http1, name=name, pause_s=request.pause_s)


def request_to_send(name: str) -> Request:
    """The request of a case of the suite."""
    chosen = CASES()[name]
    assert isinstance(chosen, GetCase | RequestCase)
    return prepared(chosen, Address("server.example:80", "", FIELDS)).request


def posted(body: bytes, *fields: bytes, path: bytes = b"/v2/models/m/infer") -> bytes:
    lines = [b"POST " + path + b" HTTP/1.1", b"Host: h", *fields]
    lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join([*lines, b"", body])


def report(url: str) -> Report:
    return report_of([], url=url)


def request_of(sent: CaseResult) -> bytes:
    return bytes(sent.exchanges[0].request)


def taking(*sizes: int) -> Script:
    """A script: read exactly so many bytes and answer, for each size; nothing more may come."""

    def script(peer: Peer) -> None:
        for size in sizes:
            peer.requests.append(peer.exactly(size))
            peer.send(http(b"fine"))
        with pytest.raises(ConnectionError):
            peer.exactly(1)

    return script


def paste(command: str, **environment: str) -> str:
    """What the command prints, run by a POSIX shell."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        ["sh", "-c", command],
        env={**os.environ, **environment, "PATH": path},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert ran.stderr == ""
    return ran.stdout


def answers(printed: str) -> list[bytes]:
    """The bytes of the answers that the script printed."""
    blocks = re.split(r"(?m)^request .*$", printed)
    return [
        bytes.fromhex("".join(re.findall(r"(?m)^[0-9a-f]{6}  (.{47})", block)))
        for block in blocks[1:]
    ]


@pytest.mark.parametrize(
    "name",
    [
        NORMAL,
        "P1/metadata-lists-extension",
        "W10/empty-body",
        "H6/not-a-number[empty]",
        "H13/optional-white-space[trailing]",
        "B10/cut-inside-a-prefix[chunks_2]",
        "B10/cut-inside-a-prefix[slices_2]",
    ],
)
def test_what_was_recorded_is_sent_byte_for_byte(name: str, tmp_path: Path) -> None:
    sent = of_suite(name)
    with serving(taking(len(request_of(sent)))) as server:
        printed = paste(write_replay(report(server.url), sent, tmp_path))
    assert answers(printed) == [http(b"fine")]
    assert server.requests == [request_of(sent)]


@pytest.mark.parametrize(
    "request_",
    [
        b"\x00\xff no head, 'REPLAY'\nREPLAY\n!1",
        HEAD + b"Content-Length: 9\r\n\r\nabc",
        HEAD + b"\xffname: \x00\x1b[31m\r\nno colon\r\n!!: !$\r\n\r\n",
        HEAD + b"Content-Length: 1\r\ncontent-length: 1\r\n\r\nx",
    ],
)
def test_a_request_that_is_hardly_http_is_sent_byte_for_byte(
    request_: bytes, tmp_path: Path
) -> None:
    with serving(taking(len(request_))) as server:
        paste(write_replay(report(server.url), record(request_), tmp_path))
    assert server.requests == [request_]
    assert (tmp_path / "replay.py").read_bytes().isascii()


@pytest.mark.parametrize(
    "name", ["B10/cut-inside-a-prefix[chunks_of_seven]", "C4/segmented-writes[bytes,in_element]"]
)
def test_the_script_has_the_recorded_writes_and_pauses(name: str, tmp_path: Path) -> None:
    sent = of_suite(name)
    pieces = request_to_send(name).http1
    write_replay(report("http://h"), sent, tmp_path)
    script = (tmp_path / "replay.py").read_text()
    names: dict[str, Any] = {"__file__": str(tmp_path / "replay.py")}
    exec(script.replace("\nreplay(", "\nmade = ("), names)  # its call, as data
    _, (request,) = names["made"]
    assert request.writes == [bytes(piece) for piece in pieces]
    assert request.pause_s == (0 if "chunks" in name else 0.005)


def test_a_page_and_a_terminal_say_how_to_write_the_script() -> None:
    assert replay_command(report("http://h"), record(posted(b"x"))) == (
        f"v2-conformance show report.json '{NORMAL}' --replay replay"
    )


def test_a_huge_body_goes_into_a_file_from_which_it_is_sent(tmp_path: Path) -> None:
    request = posted(os.urandom(1 << 20) * 5)
    where = tmp_path / "a folder's name"
    with serving(taking(len(request))) as server:
        command = write_replay(report(server.url), record(request), where)
        assert command == shlex.join(["python3", str(where / "replay.py")])
        assert answers(paste(command)) == [http(b"fine")]
    assert server.requests == [request]
    assert sorted(path.name for path in where.iterdir()) == ["body-1.bin", "replay.py"]


@pytest.mark.parametrize("name", [NORMAL, "C1/chunked-is-the-same[INT32,chunks_of_100]"])
def test_replay_is_answered_like_the_case(name: str, tmp_path: Path) -> None:
    with ReferenceServer() as server:
        (result,) = results(target_of(server.url), [CASES()[name]]).values()
        sent = case_result(result, ("binary",), Mask())
        recorded = bytes(sent.exchanges[0].received)
        printed = paste(f"{write_replay(report('http://elsewhere'), sent, tmp_path)} {server.url}")
    assert answers(printed) == [recorded]


def test_a_request_that_the_report_has_only_the_start_of_is_not_sent(tmp_path: Path) -> None:
    sent = record(posted(bytes(20_000)))
    (first,) = sent.exchanges
    start = Streams().cut(bytes(first.request), 512)
    cut = msgspec.structs.replace(first, request=start)
    with pytest.raises(ReportFileError, match=r"lacks \d+ bytes of what was sent"):
        write_replay(report("http://h"), msgspec.structs.replace(sent, exchanges=(cut,)), tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_request_before_the_case_is_sent_before_its_own(tmp_path: Path) -> None:
    before, own, after = (posted(body) for body in (b"before", b"own", b"after"))
    purposes = (Purpose.BEFORE, Purpose.CASE, Purpose.CANARY_SAME)
    sent = case(
        NORMAL,
        "fail",
        None,
        *(
            exchange(data, b"", "", purpose, reused=purpose is not Purpose.BEFORE)
            for data, purpose in zip((before, own, after), purposes, strict=True)
        ),
    )
    with serving(taking(len(before), len(own))) as server:
        printed = paste(write_replay(report(server.url), sent, tmp_path))
    assert [peer.requests for peer in server.peers] == [[before, own]]
    assert answers(printed) == [http(b"fine")] * 2


def test_requests_after_a_death_are_replayed_as_they_were_sent(
    tmp_path: Path,
) -> None:
    first, same, fresh = (posted(body) for body in (b"killer", b"same", b"fresh"))
    sent = record(first, died=True, more=[(same, True), (fresh, False)])
    scripts = taking(len(first), len(same)), taking(len(fresh))
    with serving(*scripts) as server:
        printed = paste(write_replay(report(server.url), sent, tmp_path))
    assert [peer.requests for peer in server.peers] == [[first, same], [fresh]]
    assert answers(printed) == [http(b"fine")] * 3


def test_over_tls_it_trusts_what_the_environment_says(tmp_path: Path) -> None:
    authority = trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    sent = record(b"odd\r\n\r\n")
    with serving(taking(len(request_of(sent))), tls=context) as server:
        command = write_replay(report(f"https://localhost:{server.port}"), sent, tmp_path)
        assert "SSL_CERT_FILE" in (tmp_path / "replay.py").read_text()
        printed = paste(command, SSL_CERT_FILE=str(tmp_path / "ca.pem"))
    assert server.requests == [request_of(sent)]
    assert answers(printed) == [http(b"fine")]


@pytest.mark.parametrize(
    "reply",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab\x1b",
        b"\x1b[31m\n",
        b"",
    ],
)
def test_whatever_comes_back_is_shown(reply: bytes, tmp_path: Path) -> None:
    with serving(steps(lambda peer: peer.exactly(3), reply)) as server:
        printed = paste(write_replay(report(server.url), record(b"odd"), tmp_path))
    assert answers(printed) == [reply]
    assert "\x1b" not in printed


INTERIM = steps(lambda peer: peer.forever(b"HTTP/1.1 100 Continue\r\n\r\n" * 100))
TIME, SIZE = ("TIMEOUT_S = 30", "TIMEOUT_S = 0.3"), ("MOST = 64 * 1024 * 1024", "MOST = 4097")


@pytest.mark.parametrize(
    ("script", "limit", "words"),
    [
        (Peer.until_closed, TIME, "no response: timed out"),
        (INTERIM, SIZE, "more bytes"),
    ],
)
def test_what_never_ends_is_ended(
    script: Script, limit: tuple[str, str], words: str, tmp_path: Path
) -> None:
    with serving(script) as server:
        command = write_replay(report(server.url), record(b"odd"), tmp_path)
        program = tmp_path / "replay.py"
        program.write_text(program.read_text().replace(*limit))
        assert words in paste(command)


# What it says.


def test_a_masked_field_has_to_be_filled_in(tmp_path: Path) -> None:
    secret = posted(b"x", b"Authorization: Bearer hunter2000", b"X-Key: k", b"Accept: */*")
    mask = Mask(("Bearer hunter2000",), ("Authorization", "X-Key"))
    write_replay(report("http://h"), record(secret, mask=mask), tmp_path)
    script = (tmp_path / "replay.py").read_text()
    assert "hunter" not in script
    assert "# The report hides a part of the head: replace" in script
    assert "Authorization: *****************" in script
    write_replay(report("http://h"), record(posted(b"x")), tmp_path / "other")
    assert "hides" not in (tmp_path / "other" / "replay.py").read_text()


def test_nothing_sent_is_nothing_to_replay(tmp_path: Path) -> None:
    sent = case(NORMAL, "not_run")
    assert replay_command(report("http://h"), sent) == ""
    with pytest.raises(ReportFileError, match="nothing was sent"):
        write_replay(report("http://h"), sent, tmp_path)


@pytest.mark.parametrize(
    "url", ["", "ftp://h", "http://", "http://h:x", "http://[", "http://a b", "http://$(id)", "h"]
)
def test_a_report_whose_url_is_none_has_no_replay(url: str, tmp_path: Path) -> None:
    assert replay_command(report(url), record(posted(b"x"))) == ""
    with pytest.raises(ReportFileError, match="no URL"):
        write_replay(report(url), record(posted(b"x")), tmp_path)


def test_another_file_is_never_overwritten(tmp_path: Path) -> None:
    sent = record(posted(b"x"))
    (tmp_path / "body-1.bin").write_bytes(b"mine")
    with pytest.raises(UsageError, match=r"body-1\.bin already exists"):
        write_replay(report("http://h"), sent, tmp_path)
    assert (tmp_path / "body-1.bin").read_bytes() == b"mine"
    assert not (tmp_path / "replay.py").exists()


def test_the_script_needs_nothing_but_python(tmp_path: Path) -> None:
    write_replay(report("http://h"), record(b"odd"), tmp_path)
    script = (tmp_path / "replay.py").read_text()
    imported = re.findall(r"(?m)^(?:import|from) (\w+)", script)
    assert set(imported) <= set(sys.stdlib_module_names)
    assert "conformance" not in imported
