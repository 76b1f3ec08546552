"""A program that sends a case's recorded request again, byte for byte, in the recorded writes.

It needs only Python's standard library. A case that the server did not survive is sent with the
requests that showed it, on the same connections.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path
from urllib.parse import urlsplit

from v2_conformance.bounded_files import write_whole
from v2_conformance.errors import ReportFileError, UsageError, unwritable
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.report.tested import ClientInfo
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.terminal_safe_text import plain
from v2_conformance.wire.exchange import Exchange

SCRIPT = "replay.py"
# A comment in the first two lines can name an encoding in which the rest means something else.
_TOP = "#!/usr/bin/env python3\n# -*- coding: ascii -*-\n"
_MASKED = re.compile(rb"\*{2,}|.*\*{6}.*")
_ORIGIN = re.compile(r"[A-Za-z0-9._~%:\[\]-]+")


@dataclass(frozen=True)
class _Step:
    """One request: where its writes end, counted from the body's start, and on which connection.

    `answers` is how many responses it gets: more than 1 if requests are pipelined after it.
    """

    head: bytes
    body: bytes
    cuts: tuple[int, ...]
    pause_s: float
    reuse: bool
    answers: int


def replay_command(report: Report, case: CaseResult) -> str:
    """Return what to paste into a POSIX shell to write what sends a case of report.json again, or
    to run a scenario again; printable ASCII. "" if nothing was sent, or the report does not say
    where to.
    """
    if report.target.client is not None:
        return _again(report.target.client, case)
    if not _steps(case) or not _origin(report):
        return ""
    return show_command("report.json", case.id)


def _again(client: ClientInfo, case: CaseResult) -> str:
    """The command that runs a client through a scenario again; "" if it cannot be said whole."""
    if not client.command or not all(map(_is_printable, (*client.command, case.id))):
        return ""
    masked = any("*" * 6 in word for word in client.command)
    words = ["v2-conformance", "client", "--scenario", case.id, "--", *client.command]
    return "" if masked else shlex.join(words)


def _is_printable(text: str) -> bool:
    """Return True if a shell and a reader take `text` for the same."""
    return text.isascii() and text.isprintable()


def show_command(path: str, case_id: str) -> str:
    """The call of `show` that writes a case's replay into a folder."""
    words = ["v2-conformance", "show", path, plain(case_id), "--replay", "replay"]
    if path.startswith("-") or case_id.startswith("-"):  # they are no options
        words = [*words[:2], "--replay", "replay", "--", *words[2:4]]
    return shlex.join(words)


def write_replay(report: Report, case: CaseResult, directory: Path) -> str:
    """Write the request and what sends it into `directory`, and return the command to run.

    Raises UsageError if another file would be overwritten, ReportFileError if nothing was sent, it
    cannot be sent again, or the report does not have all of it.
    """
    files = _files(report, case)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            if not _may_be_written(directory / name, content):
                raise UsageError(
                    f"{directory / name} already exists and is not part of this replay; choose "
                    "another folder"
                )
        for name, content in files.items():
            write_whole(directory / name, [content])
    except OSError as error:
        raise unwritable(error, f"cannot write into {directory}: {error.strerror}") from error
    path = str(directory / SCRIPT)
    return shlex.join(["python3", f"./{path}" if path.startswith("-") else path])


def _may_be_written(path: Path, content: bytes) -> bool:
    """Return True if nothing is there, or the same. A link is neither, wherever it leads."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        return False
    return not path.exists() or path.read_bytes() == content


def _files(report: Report, case: CaseResult) -> dict[str, bytes]:
    if report.target.client is not None:
        raise UsageError(
            "a scenario is run again with its client: v2-conformance client --scenario "
            f"{shlex.quote(plain(case.id))} -- COMMAND"
        )
    steps, origin = _steps(case), _origin(report)
    if not steps:
        raise ReportFileError(f"nothing was sent for {plain(case.id)}")
    if not origin:
        raise ReportFileError("the report has no URL to send the request to")
    for entry in _to_send(case):
        lacking = entry.request.size - len(entry.request)
        if lacking:
            raise ReportFileError(
                f"the report lacks {lacking} bytes of what was sent for "
                f"{plain(case.id)}: `v2-conformance replay` makes and sends all of it"
            )
    names = [f"body-{number}.bin" if step.body else "" for number, step in enumerate(steps, 1)]
    files = {name: step.body for name, step in zip(names, steps, strict=True) if name}
    comments = [
        f"Replays {plain(case.id).replace('…', '...')} from a report of v2-conformance.",
        "Give another URL (scheme, host, port) as the argument to send it there instead.",
        *_comments(case, steps, origin),
    ]
    top = "".join(f"# {line}\n" for line in comments)
    bodies = [f"beside({name!r})" if name else 'b""' for name in names]
    files[SCRIPT] = f"{_TOP}{top}{_program(steps, bodies, origin)}".encode("ascii")
    return files


def _to_send(case: CaseResult) -> Sequence[Exchange]:
    """Return its own request with what went before it, or all, if the server did not survive."""
    if case.died:
        return case.exchanges
    own = (n for n, exchange in enumerate(case.exchanges, 1) if exchange.purpose.own)
    return case.exchanges[: next(own, 1)]


def _steps(case: CaseResult) -> list[_Step]:
    return [
        _step(entry, first=not n) for n, entry in enumerate(_to_send(case)) if len(entry.request)
    ]


def _step(exchange: Exchange, *, first: bool) -> _Step:
    request = bytes(exchange.request)
    end = request.find(b"\r\n\r\n") + 4
    start = end if end > 3 else 0
    pieces = exchange.pieces if sum(exchange.pieces) == len(request) else ()
    cuts = tuple(at - start for at in accumulate(pieces))[:-1]
    reuse = exchange.reused and not first
    return _Step(
        request[:start], request[start:], cuts, exchange.pause_ms / 1000, reuse, exchange.answers
    )


def _origin(report: Report) -> str:
    """Scheme, host and port of the target; "" if the report has no such URL."""
    try:
        parts = urlsplit(report.target.url)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc}" if good and _ORIGIN.fullmatch(parts.netloc) else ""


def _comments(case: CaseResult, steps: Sequence[_Step], origin: str) -> Iterator[str]:
    """Yield what to know before running it."""
    hidden = list(dict.fromkeys(name for step in steps for name in _hidden(step.head)))
    if hidden:
        yield f"The report hides {', '.join(hidden)}: replace the asterisks with the real text."
    if case.exchanges[0].purpose is Purpose.SAMPLE:
        yield "The case sends many such requests at a time; this sends one of them."
    if case.died and len(steps) == 1:
        yield "Known-good requests followed, which showed that the server did not survive."
    if origin.startswith("https:"):
        yield "If the certificate is not trusted here, set SSL_CERT_FILE to that of its issuer."


def _hidden(head: bytes) -> Iterator[str]:
    """The parts of a head that the report masks."""
    line, *fields = head.split(b"\r\n")
    if b"*" * 6 in line:
        yield "a part of the path"
    for field in fields:
        name, _, value = field.partition(b":")
        if _MASKED.fullmatch(value.strip()):
            yield f"the value of {_unquoted(name)}"


def _unquoted(name: bytes) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "?", name.decode("latin-1"))[:60]


def _program(steps: Sequence[_Step], bodies: Sequence[str], origin: str) -> str:
    """The script: the sender's own text, and the requests."""
    calls = []
    for step, body in zip(steps, bodies, strict=True):
        lines = "\n".join(f"        {line!r}" for line in step.head.splitlines(True))
        head = f"(\n{lines}\n    )" if step.head else 'b""'
        arguments = f"{head}, {body}, {step.cuts!r}, {step.pause_s!r}, {step.reuse!r}"
        if step.answers > 1:
            arguments += f", {step.answers!r}"
        calls.append(f"    Request({arguments}),\n")
    return f"{_sender()}\n\nreplay({origin!r}, [\n{''.join(calls)}])\n"


@cache
def _sender() -> str:
    return Path(__file__).with_name("replay_sender.py").read_text(encoding="ascii")
