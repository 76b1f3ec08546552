"""`show`: one case on the terminal, whatever a server sent, and which case is meant."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from v2_conformance.cli.main import main
from v2_conformance.formats.case_text import lines, show
from v2_conformance.protocol.message import HEADER_LENGTH
from v2_conformance.suite.requirements import digest

HOSTILE = "\x1b[2J\x00<b>\u202e\x9b31m\u2028😀"
ENTRY = {
    "name": "OUT",
    "datatype": "INT32",
    "shape": [8],
    "parameters": {"binary_data_size": 32},
}
BLOB = bytes(range(100, 132))


def message(first: str, document: Any, *blobs: bytes) -> bytes:
    part = json.dumps(document).encode()
    body = part + b"".join(blobs)
    head = f"{first}\r\n{HEADER_LENGTH}: {len(part)}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


REQUEST = message("POST /v2/models/m/infer HTTP/1.1", {"inputs": [{**ENTRY, "name": "IN"}]}, BLOB)
RESPONSE = message("HTTP/1.1 200 OK", {"outputs": [ENTRY]}, BLOB)


def exchange(request: bytes = REQUEST, response: bytes = RESPONSE, note: str = "") -> Any:
    return {
        "request": base64.b64encode(request).decode(),
        "response": base64.b64encode(response).decode(),
        "note": note,
        "ending": "complete",
        "detail": "",
        "sent": len(request),
        "reused": False,
        "open": True,
        "first_byte_ms": 1.25,
        "duration_ms": 2.5,
    }


def case(case_id: str = "D1/x[INT32]", outcome: str = "fail", **more: Any) -> dict[str, Any]:
    return {
        "id": case_id,
        "requirement": case_id.partition("/")[0],
        "level": "MUST",
        "basis": "text",
        "why": "It shows that values survive.",
        "outcome": outcome,
        "message": "OUT: element 1 is wrong",
        "duration_ms": 3.0,
        "exchanges": [exchange()],
        **more,
    }


def report(*cases: dict[str, Any]) -> dict[str, Any]:
    requirement = {
        "id": "D1",
        "level": "MUST",
        "basis": "text",
        "outcome": "fail",
        "cases": {"fail": 1},
        "title": "Values come back",
        "statement": "What goes in must come out.",
        "follows": "Because it must.",
        "cite": [{"document": "The paper", "url": "https://paper.example", "section": "4.2",
                  "paragraph": 3}],
    }  # fmt: skip
    return {
        "suite": {"name": "v2-conformance", "version": "1", "catalogue": digest()},
        "target": {
            "url": "http://h:1",
            "server": {"name": "S", "version": "1", "extensions": []},
            "profiles": ["binary"],
        },
        "started": "2026-01-01T00:00:00+00:00",
        "duration_s": 1,
        "complete": True,
        "verdict": {"conformant": False, "robust": False, "reasons": []},
        "requirements": [requirement],
        "cases": list(cases),
    }


def shown(*cases: dict[str, Any], full: bool = False) -> str:
    """What is shown of the first case, but for the last line, which has the report's path."""
    made = [line.plain for line in lines(report(*cases), cases[0], path="r.json", full=full)]
    assert all(len(line) <= 80 for line in made[:-1] if "://" not in line), made
    assert all(line.isascii() and line.isprintable() for line in made), made
    return "\n".join(made)


def saved(tmp_path: Path, *cases: dict[str, Any]) -> Path:
    path = tmp_path / "r.json"
    path.write_text(json.dumps(report(*cases)))
    return path


def problem(path: Path, wanted: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["show", str(path), wanted]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = printed.err.splitlines()
    return line


# What is shown.


def test_a_case_shows_what_it_is_about_and_how_it_ended() -> None:
    text = shown(case())
    assert text.startswith("FAIL  MUST  D1/x[INT32]\n")
    for words in (
        "Requirement D1: Values come back\n  What goes in must come out.",
        "The paper, 4.2, paragraph 3\n  https://paper.example",
        "It follows: Because it must.",
        "It shows that values survive.",
        "OUT: element 1 is wrong",
        "complete response, first byte after 1.2 ms, 2.5 ms in all, on a new\n  connection",
        "v2-conformance show r.json 'D1/x[INT32]' --replay replay",
    ):
        assert words in text


def test_messages_are_shown_in_labelled_parts_with_their_byte_ranges() -> None:
    text = shown(case())
    assert "POST /v2/models/m/infer HTTP/1.1\n" in text
    assert re.search(r"JSON, (\d+) bytes: 0 to \d+ of the body\n    \{\"inputs\"", text)
    assert re.search(r"    IN INT32 \[8\], 32 bytes: \d+ to \d+ of the body\n", text)
    row = "64 65 66 67 68 69 6a 6b 6c 6d 6e 6f 70 71 72 73  defghijklmnopqrs"
    assert len(re.findall(rf"(?m)^    [0-9a-f]{{6}}  {re.escape(row)}$", text)) == 2


def difference(body_offset: int | None) -> dict[str, Any]:
    return {
        "output": "OUT",
        "datatype": "INT32",
        "element": 4,
        "offset": 18,
        "body_offset": body_offset,
        "wanted": "74750077",
        "got": "74757677",
        "wanted_value": "1",
        "got_value": "2",
    }


def test_the_first_wrong_byte_is_pointed_at() -> None:
    in_body = len(RESPONSE.partition(b"\r\n\r\n")[2]) - 32 + 18
    text = shown(case(difference=difference(in_body)))
    assert "output OUT INT32, element 4, byte 18 of its blob\n  wanted: 74750077 (1)" in text
    rows = text.splitlines()
    (at,) = (n for n, row in enumerate(rows) if row.strip() == "^^")
    start = rows[at].index("^^")
    assert rows[at - 1][start : start + 2] == "76"
    assert int(rows[at - 1][4:10], 16) + (start - 12) // 3 == in_body
    assert "first differing byte: element 4 of OUT" in rows[at + 1]


def test_a_wrong_byte_far_into_a_blob_is_not_folded_away() -> None:
    entry = {**ENTRY, "parameters": {"binary_data_size": 8000}}
    response = message("HTTP/1.1 200 OK", {"outputs": [entry]}, bytes(8000))
    far = case(exchanges=[exchange(response=response)], difference=difference(4000))
    text = shown(far)
    assert "    000f" in text.partition("^^")[0].splitlines()[-2]
    assert "--full" in text


@pytest.mark.parametrize("body_offset", [None, 10**9, 0])
def test_a_difference_without_a_byte_in_a_blob_is_told_in_words_alone(
    body_offset: int | None,
) -> None:
    text = shown(case(difference=difference(body_offset)))
    assert "wanted: 74750077" in text
    assert "^^" not in text


def test_long_parts_are_folded_with_their_hash_and_full_shows_all() -> None:
    blob = bytes(n % 251 for n in range(5000))
    entry = {**ENTRY, "parameters": {"binary_data_size": 5000}}
    response = message("HTTP/1.1 200 OK", {"outputs": [entry]}, blob)
    long = case(exchanges=[exchange(response=response)])
    text, whole = shown(long), shown(long, full=True)
    assert "... 4680 bytes more; --full shows them" in text
    assert hashlib.sha256(blob).hexdigest() in text
    assert "--full" not in whole

    def hexadecimal(rows: str) -> str:
        return "".join(re.findall(r"(?m)^    [0-9a-f]{6}  (.{47})", rows)).replace(" ", "")

    assert blob.hex() in hexadecimal(whole)
    assert blob[-64:].hex() in hexadecimal(text)


@pytest.mark.parametrize("known", ["on the same connection", "on a fresh connection"])
def test_the_canary_that_failed_is_named(known: str) -> None:
    notes = ["", "canary on the same connection", "canary on a fresh connection"]
    exchanges = [exchange(note=note) for note in notes]
    fine = shown(case(exchanges=exchanges))
    assert "on the same connection: right; on a fresh connection: right" in fine
    words = f"did not survive: a known-good request got a wrong answer {known}: status 500"
    text = shown(case(exchanges=exchanges, message=words))
    assert f"{known}: WRONG" in text
    assert text.count(": right") == 1


def test_nothing_that_a_server_or_a_forged_report_says_reaches_the_terminal_raw() -> None:
    response = f"HTTP/1.1 200 {HOSTILE}\r\nX: {HOSTILE}\r\n\r\n".encode() + HOSTILE.encode()
    entry = {**ENTRY, "name": HOSTILE}
    blobs = message(f"HTTP/1.1 200 {HOSTILE}", {"outputs": [entry], HOSTILE: HOSTILE}, BLOB)
    bad = case(
        f"D1/{HOSTILE}",
        message=HOSTILE * 40,
        why=HOSTILE,
        difference=dict.fromkeys(difference(None), HOSTILE) | {"body_offset": 150},
        exchanges=[
            exchange(response=response, note=HOSTILE) | {"detail": HOSTILE, "ending": "malformed"},
            exchange(response=blobs, request=HOSTILE.encode(), note=f"canary {HOSTILE}"),
            exchange() | {"request": "%%%", "response": "A"},
        ],
    )
    assert "\\x1b[2J\\x00" in shown(bad)


def test_a_case_that_did_not_run_has_no_replay() -> None:
    text = shown(case(outcome="not_run", exchanges=[], message="needs what D1/y killed"))
    assert text.startswith("NOT RUN  MUST")
    assert "--replay" not in text


def test_an_older_report_without_statements_and_reasons_is_shown() -> None:
    old = case("Z9/y")
    del old["why"]
    assert "Requirement Z9\n" in shown(old)


def test_colour_is_for_terminals_that_want_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(tmp_path, case())
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    show(path, "D1")
    plain = capsys.readouterr().out
    assert "\x1b" not in plain
    made = list(lines(report(case()), case(), path=str(path)))
    console = Console(file=io.StringIO(), force_terminal=True, color_system="standard")
    for line in made:
        console.print(line, soft_wrap=True)
    assert "\x1b[1;31mFAIL\x1b[0m" in console.file.getvalue()  # type: ignore[attr-defined]
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    show(path, "D1")
    assert "\x1b[" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    show(path, "D1")
    assert capsys.readouterr().out == plain


# Which case.


@pytest.mark.parametrize("wanted", ["D1/x[INT32]", "D1/x*", "D1/*[INT32]", "D1"])
def test_an_id_a_pattern_or_a_requirement_names_the_one_case(
    wanted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", str(saved(tmp_path, case(), case("D2/x[INT32]"))), wanted]) == 0
    assert capsys.readouterr().out.startswith("FAIL  MUST  D1/x[INT32]")


def test_an_id_wins_over_what_else_it_matches_as_a_pattern(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(tmp_path, case("D1/*"), case("D1/x"))
    assert main(["show", str(path), "D1/*"]) == 0
    assert "D1/*" in capsys.readouterr().out


def test_several_matches_are_named_failures_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = [case(f"D1/{n}", "pass") for n in range(20)]
    cases.append(case(f"D1/bad{HOSTILE}", "fail"))
    line = problem(saved(tmp_path, *cases), "D1/*", capsys)
    assert "D1/* matches 21 cases: D1/bad\\x1b[2J" in line
    assert line.endswith("D1/8 (pass), and 11 more")
    assert line.isascii()


def test_no_match_names_what_is_close(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(tmp_path, case("D1/values[INT32]"), case("H6/other"))
    assert "close to it: D1/values[INT32]" in problem(path, "D1/value[INT32]", capsys)
    assert "close to it: D1/values[INT32]" in problem(path, "int32", capsys)
    line = problem(path, f"zzzz{HOSTILE}", capsys)
    assert line.startswith("v2-conformance: the report has no case zzzz\\x1b[2J")
    assert "close" not in line


# Replay.


def test_replay_writes_into_the_folder_and_prints_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "r"
    arguments = ["show", str(saved(tmp_path, case())), "D1", "--replay", str(folder)]
    assert main(arguments) == 0
    assert capsys.readouterr().out == f"python3 {folder / 'replay.py'}\n"
    assert (folder / "body-1.bin").read_bytes().endswith(BLOB)
    (folder / "replay.py").write_text("mine")
    assert main(arguments) == 2
    assert "is there already" in capsys.readouterr().err
