"""Files that are written to break their reader: one line, exit code 2, at once, in little memory.
Each file goes to every command that reads such a file."""

from __future__ import annotations

import base64
import gzip
import json
import os
import resource
import socket
import time
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from support.commands import Cli
from support.reports import as_json, case, document, exchange, report_of, saved
from v2_conformance import bounded_files
from v2_conformance.report.files import document_digest

_MOST_S = 15.0
_MOST_KB = 400 << 10  # of memory, beyond what the process had

Content = bytes | Callable[[Path], object]

DEEP = 100_000
NESTED = b"[" * DEEP + b"]" * DEEP


def bomb(start: str, use: str) -> bytes:
    """Nine levels of nine aliases each: some hundred bytes for hundreds of millions of values."""
    lines = [f"a0: &a0 {start}"]
    lines += [f"a{n}: &a{n} {use.replace('*', f'*a{n - 1}')}" for n in range(1, 10)]
    return "\n".join(lines).encode()


def later(make: Callable[[], bytes]) -> Callable[[Path], object]:
    """What takes a while to make: it is made if its row is tried, and not by who collects tests."""
    return lambda path: path.write_bytes(make())


def big(size: int) -> Callable[[Path], object]:
    def make(path: Path) -> None:
        with path.open("wb") as file:
            file.truncate(size)

    return make


def hung_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        short = Path(f"/proc/self/fd/{os.open(path.parent, os.O_RDONLY)}") / path.name
        server.bind(str(short))


# Whatever a YAML file is for, it cannot be this.
ANY_YAML: Mapping[str, Content] = {
    "aliases-of-lists": bomb("[x, x, x, x, x, x, x, x, x]", "[*, *, *, *, *, *, *, *, *]"),
    "merged-aliases": bomb("{x: y}", "{<<: [*, *, *, *, *, *, *, *, *]}"),
    "alias-of-itself": b"a: &a [*a]\n",
    "unknown-alias": b"a: *nothing\n",
    "nested-flow": NESTED,
    "nested-maps": b"{a: " * DEEP + b"1" + b"}" * DEEP,
    "nested-indents": b"".join(b" " * n + b"a:\n" for n in range(2000)),
    "nested-quietly": b"url: http://h\nx: " + b"[" * 65 + b"]" * 65,
    "many-values": b"- a\n" * 400_000,
    "many-documents": b"--- a\n" * 1000,
    "many-directives": b"".join(b"%%TAG !a%d! tag:x,2000:\n" % n for n in range(50_000)),
    "same-hashes": b"".join(b"%d: 1\n" % (n * (2**61 - 1)) for n in range(1, 60_000)),
    "python-object": b"!!python/object/apply:os.system ['touch owned']\n",
    "tag-binary": b"url: !!binary ////\n",
    "tag-own": b"url: !secret x\n",
    "key-twice": b"url: http://a\nurl: http://b\n",
    "key-is-a-list": b"? [a, b]\n: c\n",
    "sexagesimal": b"timeout: 1:30\n",
    "overflowing": b"timeout: 1.0e+999\n",
    "million-digits": b"timeout: " + b"9" * 1_000_000 + b"\n",
    "long-value": b"url: http://" + b"h" * (2 << 20) + b"\n",
    "latin-1": "url: http://é\n".encode("latin-1"),
    "utf-16": "url: http://h\n".encode("utf-16"),
    "escaped-surrogate": b'url: "http://\\ud800"\n',
    "nul": b"url: http://h\0\n",
    "controls": b"url: http://h\x1b[31m\n",
    "random": bytes(range(256)) * 50,
    "a-word": b"word\n",
    "nine-megabytes": big(9 << 20),
    "a-terabyte": big(1 << 40),
    "a-directory": Path.mkdir,
    "a-pipe": os.mkfifo,
    "a-socket": hung_socket,
    "a-loop": lambda path: path.symlink_to(path.name),
    "nowhere": lambda path: path.symlink_to("nothing-there"),
    "dev-zero": lambda path: path.symlink_to("/dev/zero"),
    "proc-mem": lambda path: path.symlink_to("/proc/self/mem"),
    "no-permission": lambda path: path.touch(mode=0),
}
if hasattr(os, "geteuid") and os.geteuid() == 0:
    ANY_YAML = {name: content for name, content in ANY_YAML.items() if name != "no-permission"}

CASE = b"family: D\ncases:\n- id: D1/made-up\n  why: It is a case of a test and nothing else.\n"
INT32 = CASE + b"  expect: {outcome: success, outputs: {0: any}}\n  model: identity/INT32\n"
IDENTITY = INT32 + b"  request: {inputs: [{shape: [1]}]}\n"
AXIS = "[" + ", ".join(map(str, range(100))) + "]"

CASES: Mapping[str, Content] = {
    "id-with-a-path": IDENTITY.replace(b"D1/made-up", b"D1/../../x"),
    "id-of-shell": IDENTITY.replace(b"D1/made-up", b"D1/$(touch owned)"),
    "id-with-lines": IDENTITY.replace(b"D1/made-up", b'"D1/a\\nb"'),
    "axes-without-end": INT32
    + f"  axes: {{a: {AXIS}, b: {AXIS}, c: {AXIS}, d: {AXIS}}}\n".encode()
    + b'  request: {inputs: [{shape: ["${a}", "${b}", "${c}", "${d}"]}]}\n',
    "text-without-end": INT32
    + b"  axes: {a: [" + b"x" * 500_000 + b"]}\n"
    + b"  request: {inputs: [{shape: [1]}], id: '" + b"${a}" * 200_000 + b"'}\n",
}  # fmt: skip
TEXT = as_json(report_of())
WHOLE = json.loads(TEXT)


def in_a_stream(count: int, size: int) -> bytes:
    """A report with one stream of so many bytes, and in it the messages of so many exchanges, each
    nearly as long and at another place."""
    stream = base64.b64encode(zlib.compress(bytes(size))).decode()
    (one,) = document(report_of([case("P2/x", "pass", None, *[exchange(b"")] * count)]))["cases"]
    for number, placed in enumerate(one["exchanges"]):
        placed["request"] = [0, 2 * number, size - 2 * number]
        placed["response"] = [0, 2 * number + 1, size - 2 * number - 1]
    return sealed(cases=[one], bodies=[stream])


def sealed(**members: object) -> bytes:
    """A report with other members, and a digest that fits."""
    found: dict[str, Any] = {**WHOLE, **members}
    found.pop("integrity", None)
    found["integrity"] = {"algorithm": "sha256", "digest": document_digest(found)}
    return json.dumps(found).encode()


def with_member(member: str, value: bytes) -> bytes:
    """A report with `value` in the place of a member's, as text: JSON libraries do not write it."""
    text = json.dumps({**WHOLE, member: "@"}).encode()
    return text.replace(b'"@"', value)


REPORTS: Mapping[str, Content] = {
    "empty": b"",
    "cut-off": TEXT[:-9].encode(),
    "nested-list": NESTED,
    "duration-nan": with_member("duration_s", b"NaN"),
    "duration-of-digits": with_member("duration_s", b"9" * 1_000_000),
    "duration-negative": sealed(duration_s=-1),
    "duration-true": sealed(duration_s=True),
    "planned-huge": with_member("planned", b'{"P1": 1' + b"0" * 5000 + b"}"),
    "planned-without-end": later(
        lambda: with_member("planned", b"{%b}" % b",".join(b'"X%d":1' % n for n in range(2**20)))
    ),
    "words-without-end": later(lambda: with_member("started", b'"%b"' % (b" " * (17 << 20)))),
    "version-of-controls": b'{"suite":{"version":"\\u001b[31m","report":3}}',
    "messages-that-overlap": later(lambda: in_a_stream(1000, 4 << 20)),
    "a-stream-that-is-a-bomb": later(lambda: in_a_stream(1, 300 << 20)),
    "mark": b"\xef\xbb\xbf" + TEXT.encode(),
    "utf-16": TEXT.encode("utf-16"),
    "gzip-cut-off": gzip.compress(TEXT.encode())[:-20],
    "gzip-bomb": later(lambda: gzip.compress(b" " * (300 << 20), 9)),
    "gzip-in-gzip": gzip.compress(gzip.compress(TEXT.encode())),
    "a-terabyte": big(1 << 40),
    "a-directory": Path.mkdir,
    "a-pipe": os.mkfifo,
    "a-loop": lambda path: path.symlink_to(path.name),
}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_files, "_PATIENCE_S", 0.2)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Content], Path]:
    """Puts a file into the working directory, which is empty otherwise."""
    monkeypatch.chdir(tmp_path)

    def put(name: str, content: Content) -> Path:
        path = tmp_path / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            content(path)
        return path

    return put


def check(cli: Cli, *arguments: object) -> str:
    """The one line that the command prints, at once and in little memory, with exit code 2."""
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    printed = cli(*arguments)
    took = time.monotonic() - began
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert printed.code == 2, (printed.code, printed.err[-2000:])
    line = printed.line
    assert line.startswith("v2-conformance: ")
    assert line.isprintable()
    assert len(line) < 1000
    assert printed.out == ""
    assert took < _MOST_S
    assert used < _MOST_KB
    assert not Path("owned").exists()
    return line


@pytest.mark.parametrize("name", ANY_YAML)
def test_a_target_file(name: str, place: Callable[[str, Content], Path], cli: Cli) -> None:
    path = place("target.yaml", ANY_YAML[name])
    check(cli, "run", "--target", path)
    assert not Path("reports").exists()


@pytest.mark.parametrize("name", [*ANY_YAML, *CASES])
def test_a_case_file(name: str, place: Callable[[str, Content], Path], cli: Cli) -> None:
    path = place("own-cases.yaml", {**ANY_YAML, **CASES}[name])
    check(cli, "run", "--cases", path)
    assert not Path("reports").exists()


@pytest.mark.parametrize("name", ANY_YAML)
def test_an_expectation_file(
    name: str, place: Callable[[str, Content], Path], cli: Cli, tmp_path: Path
) -> None:
    path = place("expect.yaml", ANY_YAML[name])
    check(cli, "run", "--expect", path)
    assert not Path("reports").exists()
    report = saved(report_of(), tmp_path / "r" / "report.json")
    check(cli, "expect", report, path)
    if path.exists():  # else it is written
        check(cli, "expect", report, path, "--write")


@pytest.mark.parametrize("name", REPORTS)
def test_a_report(
    name: str, place: Callable[[str, Content], Path], cli: Cli, tmp_path: Path
) -> None:
    path = place("hostile.json", REPORTS[name])
    good = saved(report_of(), tmp_path / "r" / "report.json")
    for command in ("verify", "report", "expect"):
        check(cli, command, path)
    for command, more in (("show", "P2"), ("badge", tmp_path / "badges"), ("diff", good)):
        check(cli, command, path, more)
    check(cli, "diff", good, path)
    check(cli, "expect", path, "--write")
    made = {entry.name for entry in tmp_path.iterdir()}
    assert made <= {"hostile.json", "r"}
