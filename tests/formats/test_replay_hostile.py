"""A replay of a forged report: it is written into its folder, and does nothing but send.

Ids, URLs, requests and names of folders hold shell syntax, paths, options and odd characters. The
scripts and the printed commands are really run.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from support.reports import case, exchange, report_of, saved
from support.responses import http
from support.servers import Peer, Scripted, serving
from v2_conformance.cli.main import main
from v2_conformance.formats.replay import show_command, write_replay
from v2_conformance.report.document import CaseResult, Report

RUN = "touch owned"
UTF_7 = "coding: utf-7 +AAo-import os+AAo-os.system('touch owned')+AAo-"
HOSTILE = {
    "substitution": f"P2/$({RUN})",
    "backticks": f"P2/`{RUN}`",
    "semicolon": f"P2/x; {RUN};",
    "single-quote": f"P2/'; {RUN}; '",
    "double-quote": f'P2/"; {RUN}; "',
    "line-feed": f"P2/x\n{RUN}\n",
    "line-separator": f"P2/x\u2028{RUN}\x85{RUN}",
    "nul": f"P2/x\0{RUN}",
    "heredoc-end": f"P2/x\nREPLAY\n{RUN}\n",
    "braces": "P2/${IFS}touch${IFS}owned",
    "default-end": f'P2/x}}"; {RUN}; "',
    "glob": "P2/*?[a-z]",
    "history": f"P2/!!;{RUN}!$",
    "backslash": f"P2/x\\\n{RUN}",
    "python-quotes": f"P2/\"\"\"\nimport os; os.system('{RUN}')\n'''",
    "python-encoding": f"P2/ -*- {UTF_7} -*-",
    "parents": "/".join([".."] * 40) + "/tmp/owned",
    "option": "-rf",
    "dashes": "--",
    "very-long": "P2/" + "x" * 100_000,
    "unicode": "P2/é中\u202e🙂",
    "escape": "P2/\x1b]0;x\x07\x1b[2J",
    "workflow": "P2/\n::set-output name=x::y",
    "empty": "",
}  # fmt: skip
URLS = [
    f"http://127.0.0.1:1/$({RUN})",
    f"http://$({RUN}):80",
    f'http://h"; {RUN}; "',
    f"http://h\n{RUN}",
    "http://h}" + f'"; {RUN}; "',
    "http://[::1",
    "http://h:99999",
    "http://h -o owned",
    "file:///etc/passwd",
    "http://é",
    "",
]
FIELDS = [
    f"X-A: $({RUN})",
    f"X-A: '; {RUN}; '",
    f'X-A: "; {RUN}; "',
    "X-A: @/etc/passwd",
    "X-A: \\",
    f"X-A: x\rX-B: {RUN}",
    f"X-A: x\n{RUN}",
    "@owned: x",
    f"$({RUN}): x",
    "X-A: \x1b[2J\x00\xff",
]
TARGETS = [
    f"/$({RUN})",
    f"/';{RUN};'",
    "/../../owned",
    "/{owned,x}",
    "@owned",
    "/é",
]


@pytest.fixture
def server() -> Iterator[Scripted]:
    """A server that answers everything and reads nothing of it."""

    def script(peer: Peer) -> None:
        with contextlib.suppress(ConnectionError):
            peer.send(http(b"fine"))
            peer.exactly(1 << 30)

    with serving(script) as running:
        yield running


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory beside a file that nobody may touch."""
    folder = tmp_path / "deep" / "er" / "here"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def everything(tmp_path: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(tmp_path)): path.read_bytes() if path.is_file() else b""
        for path in sorted(tmp_path.rglob("*"))
    }


def request_of(fields: Sequence[str] = (), target: str = "/v2", body: bytes = b"{}") -> bytes:
    lines = [f"POST {target} HTTP/1.1", "Host: h", *fields, f"Content-Length: {len(body)}"]
    return "\r\n".join(lines).encode("utf-8", "replace") + b"\r\n\r\n" + body


def forged(
    url: str, case_id: str = "P2/x", *, request: bytes = request_of()
) -> tuple[Report, CaseResult]:
    """A report of one case, whose suite never had it."""
    sent = case("P2/x", "fail", None, exchange(request, http(b"fine")))
    sent = msgspec.structs.replace(sent, id=case_id)
    return report_of([sent], url=url), sent


def shell(command: str, shell_program: str = "bash") -> subprocess.CompletedProcess[bytes]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    program = shutil.which(shell_program) or "sh"
    return subprocess.run(
        [program, "-c", command], env=environment, capture_output=True, timeout=30, check=False
    )


def check(
    tmp_path: Path, report: Report, sent: CaseResult, folder: str = "out", *, sends: bool = True
) -> None:
    """Write the replay, run every script of it and the command, and look for what changed."""
    before = everything(tmp_path)
    command = write_replay(report, sent, Path(folder))
    written = everything(tmp_path)
    new = {name for name in written if name not in before}
    place = str((Path.cwd() / folder).resolve().relative_to(tmp_path))
    allowed = {"replay.py", "body-1.bin"}
    assert all(
        name.startswith(place) and name.removeprefix(place)[1:] in {"", *allowed} for name in new
    )
    assert {name: written[name] for name in before} == before
    assert all(line.isascii() for line in written[f"{place}/replay.py"].splitlines())
    ran = shell(command)
    if sends:
        # "HTTP", as the script shows it: the request went out, and an answer came.
        assert b"48 54 54 50" in b" ".join(ran.stdout.split()), ran
    assert everything(tmp_path) == written


@pytest.mark.parametrize("name", HOSTILE)
def test_an_id_is_only_text(name: str, server: Scripted, here: Path, tmp_path: Path) -> None:
    check(tmp_path, *forged(server.url, HOSTILE[name]))


@pytest.mark.parametrize("url", URLS)
def test_a_url_is_only_where_to_send(url: str, here: Path, tmp_path: Path) -> None:
    report, sent = forged(url)
    path = saved(report, tmp_path / "report.json")
    before = everything(tmp_path)
    code = main(["show", str(path), sent.id, "--replay", "out"])
    if code == 2:
        assert everything(tmp_path) == before
        return
    shutil.rmtree("out")
    check(tmp_path, report, sent, sends=False)


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_is_only_sent(field: str, server: Scripted, here: Path, tmp_path: Path) -> None:
    check(tmp_path, *forged(server.url, request=request_of([field])))


@pytest.mark.parametrize("target", TARGETS)
def test_a_path_is_only_sent(target: str, server: Scripted, here: Path, tmp_path: Path) -> None:
    check(tmp_path, *forged(server.url, request=request_of(target=target)))


@pytest.mark.parametrize(
    "body", [f"$({RUN})".encode(), b"@owned", b"-", b"\nREPLAY\n", bytes(range(256))]
)
def test_a_body_is_only_sent(body: bytes, server: Scripted, here: Path, tmp_path: Path) -> None:
    check(tmp_path, *forged(server.url, request=request_of(body=body)))


@pytest.mark.parametrize(
    "folder",
    [
        "--",
        "a b",
        f"$({RUN})",
        f"`{RUN}`",
        f"x; {RUN}",
        "'",
        '"',
        "a\nb",
        "é中",
        "*",
        "~",
        "-o/owned",
    ],
)
def test_a_folder_has_any_name(folder: str, server: Scripted, here: Path, tmp_path: Path) -> None:
    report, sent = forged(server.url)
    if "/" in folder:
        Path(folder).parent.mkdir()
    check(tmp_path, report, sent, folder)


@pytest.mark.parametrize("name", ["replay.py", "body-1.bin"])
@pytest.mark.parametrize("kind", ["dangling", "file", "itself", "directory", "pipe"])
def test_what_is_in_the_way_is_not_written_through(
    name: str, kind: str, server: Scripted, here: Path, tmp_path: Path
) -> None:
    report, sent = forged(server.url)
    (tmp_path / "victim").write_text("precious")
    Path("out").mkdir()
    in_the_way = Path("out") / name
    if kind == "directory":
        in_the_way.mkdir()
    elif kind == "pipe":
        os.mkfifo(in_the_way)
    else:
        leads_to = {"dangling": tmp_path / "owned", "file": tmp_path / "victim"}
        in_the_way.symlink_to(leads_to.get(kind, Path(name)))
    path = saved(report, tmp_path / "report.json")
    assert main(["show", str(path), sent.id, "--replay", "out"]) == 2
    assert not (tmp_path / "owned").exists()
    assert (tmp_path / "victim").read_text() == "precious"
    assert [entry.name for entry in Path("out").iterdir()] == [name]


@pytest.mark.parametrize("name", HOSTILE)
def test_the_call_of_show_is_one_command(name: str, here: Path, tmp_path: Path) -> None:
    """With the program replaced by one that prints its arguments."""
    command = show_command("report.json", HOSTILE[name][:500])
    ran = shell(f"v2-conformance() {{ printf '%s\\0' \"$@\"; }}\n{command}")
    arguments = ran.stdout.split(b"\0")[:-1]
    assert len(arguments) == 5 + (b"--" in arguments[:4] and not HOSTILE[name].startswith("-- "))
    assert not list(here.iterdir())
