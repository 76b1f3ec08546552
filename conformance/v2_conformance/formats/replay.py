"""A program that sends a case's recorded request again, byte for byte, in the recorded writes.

It is replay_sender.py with the requests behind it, so it needs only Python's standard library. A
case that the server did not survive is sent with the requests that showed it, on the same
connections.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from urllib.parse import urlsplit

from v2_conformance.bounded_files import write_whole
from v2_conformance.errors import ReportFileError, UsageError, unwritable
from v2_conformance.formats.replay_sender import Request
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.terminal_safe_text import plain
from v2_conformance.wire.exchange import Exchange

SCRIPT = "replay.py"
# A comment in the first two lines can name an encoding in which the rest means something else.
_TOP = "#!/usr/bin/env python3\n# -*- coding: ascii -*-\n"
_HIDDEN = b"**"
_ORIGIN = re.compile(r"[A-Za-z0-9._~%:\[\]-]+")


def replay_command(report: Report, case: CaseResult) -> str:
    """Return what to paste into a POSIX shell to write what sends a case of report.json again, or
    to run a scenario again; printable ASCII. "" if nothing was sent, or the report does not say
    where to.
    """
    client = report.target.client
    if client is None:
        return show_command("report.json", case.id) if _requests(case) and _origin(report) else ""
    words = ["v2-conformance", "client", "--scenario", case.id, "--", *client.command]
    whole = all(word.isascii() and word.isprintable() and "*" * 6 not in word for word in words)
    return shlex.join(words) if client.command and whole else ""


def show_command(path: str, case_id: str) -> str:
    """The call of `show` that writes a case's replay into a folder."""
    words, option = [path, plain(case_id)], ["--replay", "replay"]
    is_option = path.startswith("-") or case_id.startswith("-")
    words = [*option, "--", *words] if is_option else [*words, *option]
    return shlex.join(["v2-conformance", "show", *words])


def write_replay(report: Report, case: CaseResult, directory: Path) -> str:
    """Write the request and what sends it into `directory`, and return the command to run.

    Raises UsageError if another file would be overwritten, ReportFileError if nothing was sent, it
    cannot be sent again, or the report does not have all of it.
    """
    files = _files(report, case)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name in files:
            if os.path.lexists(directory / name):
                raise UsageError(f"{directory / name} already exists; choose another folder")
        for name, content in files.items():
            write_whole(directory / name, [content])
    except OSError as error:
        raise unwritable(error, f"cannot write into {directory}: {error.strerror}") from error
    return shlex.join(["python3", str(directory / SCRIPT)])


def _files(report: Report, case: CaseResult) -> dict[str, bytes]:
    if report.target.client is not None:
        raise UsageError(
            "a scenario is run again with its client: v2-conformance client --scenario "
            f"{shlex.quote(plain(case.id))} -- COMMAND"
        )
    requests, origin = _requests(case), _origin(report)
    if not requests:
        raise ReportFileError(f"nothing was sent for {plain(case.id)}")
    if not origin:
        raise ReportFileError("the report has no URL to send the request to")
    lacking = sum(entry.request.size - len(entry.request) for entry in _to_send(case))
    if lacking:
        raise ReportFileError(
            f"the report lacks {lacking} bytes of what was sent for "
            f"{plain(case.id)}: `v2-conformance replay` makes and sends all of it"
        )
    files: dict[str, bytes] = {}
    calls = []
    for number, request in enumerate(requests, 1):
        body = 'b""'
        if request.body:
            files[f"body-{number}.bin"] = request.body
            body = f"file('body-{number}.bin')"
        lines = "\n".join(f"        {line!r}" for line in request.head.splitlines(True)) or 'b""'
        calls.append(
            f"    Request(\n        (\n{lines}\n        ),\n        {body},\n"
            f"        cuts={request.cuts!r},\n        pause_s={request.pause_s!r},\n"
            f"        reuse={request.reuse!r},\n    ),\n"
        )
    comments = "".join(f"# {line}\n" for line in _comments(case, requests, origin))
    sender = Path(__file__).with_name("replay_sender.py").read_text(encoding="ascii")
    program = f"{_TOP}{comments}{sender}\n\nreplay({origin!r}, [\n{''.join(calls)}])\n"
    return {SCRIPT: program.encode("ascii"), **files}


def _to_send(case: CaseResult) -> Sequence[Exchange]:
    """Return its own request with what went before it, or all, if the server did not survive."""
    if case.died:
        return case.exchanges
    own = (n for n, exchange in enumerate(case.exchanges, 1) if exchange.purpose.own)
    return case.exchanges[: next(own, 1)]


def _requests(case: CaseResult) -> list[Request]:
    requests = []
    for number, exchange in enumerate(_to_send(case)):
        data = bytes(exchange.request)
        end = data.find(b"\r\n\r\n") + 4
        start = end if end > 3 else 0
        pieces = exchange.pieces if sum(exchange.pieces) == len(data) else ()
        cuts = tuple(at - start for at in accumulate(pieces))[:-1]
        reuse = exchange.reused and number > 0
        pause_s = exchange.pause_ms / 1000
        made = Request(data[:start], data[start:], cuts, pause_s, reuse)
        requests += [made] if data else []
    return requests


def _origin(report: Report) -> str:
    """Scheme, host and port of the target; "" if the report has no such URL."""
    try:
        parts = urlsplit(report.target.url)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc}" if good and _ORIGIN.fullmatch(parts.netloc) else ""


def _comments(case: CaseResult, requests: Sequence[Request], origin: str) -> Iterator[str]:
    yield f"Replays {plain(case.id).replace('…', '...')} from a report of v2-conformance."
    yield "Give another URL (scheme, host, port) as the argument to send it there instead."
    if any(_HIDDEN in request.head for request in requests):
        yield "The report hides a part of the head: replace the asterisks with the real text."
    if case.exchanges[0].purpose is Purpose.SAMPLE:
        yield "The case sends many such requests at a time; this sends one of them."
    if origin.startswith("https:"):
        yield "If the certificate is not trusted here, set SSL_CERT_FILE to that of its issuer."
