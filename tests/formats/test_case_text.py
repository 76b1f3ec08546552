"""`show`: one case on the terminal, whatever a server sent, and which case is meant."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from support.commands import Cli
from support.reports import case, differing, exchange, report_of
from support.responses import answer, sized, v2
from v2_conformance.cli.main import main
from v2_conformance.formats.text.case import lines
from v2_conformance.report.document import CaseResult, CitedDocument, Report
from v2_conformance.report.files import as_json
from v2_conformance.suite.causes.base import FirstDifference
from v2_conformance.suite.causes.causes import DidNotSurvive
from v2_conformance.suite.causes.kinds import WrongStatus, WrongValue
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.wire.exchange import Exchange
from v2_conformance.wire.response import Ending

HOSTILE = "\x1b[2J\x00<b>\u202e\x9b31m\u2028😀"
BLOB = bytes(range(100, 132))
RESPONSE = v2(answer(sized(32, name="OUT", shape=[8])), BLOB)
REQUEST = RESPONSE.replace(
    b"HTTP/1.1 200 Any", b"POST /v2/models/m/infer HTTP/1.1\r\nHost: h"
).replace(b'"outputs"', b'"inputs" ')
OWN = exchange(REQUEST, RESPONSE)


def failing(case_id: str = "D1/x[INT32]", *exchanges: Exchange, **members: Any) -> CaseResult:
    words = members.pop("message", "OUT: element 1 is wrong")
    usual = {"why": "It shows that values survive."}
    return case(case_id, "fail", words, *(exchanges or (OWN,)), **{**usual, **members})


def report(*cases: CaseResult) -> Report:
    whole = report_of(cases, planned={})
    stated = msgspec.structs.replace(
        next(row for row in whole.requirements if row.id == "D1"),
        title="Values come back",
        statement="What goes in must come out.",
        follows="Because it must.",
        cite=(CitedDocument("The paper", "https://paper.example", "4.2", 3),),
    )
    return msgspec.structs.replace(whole, requirements=(stated,))


def shown(*cases: CaseResult, full: bool = False) -> str:
    """What is shown of the first case, but for the last line, which has the report's path."""
    made = [line.plain for line in lines(report(*cases), cases[0], path="r.json", full=full)]
    assert all(len(line) <= 80 for line in made[:-1] if "://" not in line), made
    assert all(line.isascii() and line.isprintable() for line in made), made
    return "\n".join(made)


def saved(tmp_path: Path, *cases: CaseResult) -> Path:
    path = tmp_path / "r.json"
    path.write_text(as_json(report(*cases)))
    return path


def problem(path: Path, wanted: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["show", str(path), wanted]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = printed.err.splitlines()
    return line


# What is shown.


def test_a_case_shows_what_it_is_about_and_how_it_ended() -> None:
    text = shown(failing())
    assert text.startswith("FAIL  MUST (blocks conformant)  D1/x[INT32]\n")
    for words in (
        "Requirement D1: Values come back\n  What goes in must come out.",
        "The paper, 4.2, paragraph 3\n  https://paper.example",
        "Why it follows: Because it must.",
        "It shows that values survive.",
        "OUT: element 1 is wrong",
        "complete response, first byte after 1.2 ms, 2.5 ms in all, on a new\n  connection",
        "v2-conformance replay r.json --case 'D1/x[INT32]'",
    ):
        assert words in text


def test_a_case_shows_what_allows_the_way_in_which_it_was_sent() -> None:
    paper = CitedDocument("The other paper", "https://other.example", "1", 2)
    allowed = "Allowed by\n  The other paper, 1, paragraph 2\n  https://other.example\n"
    assert allowed in shown(failing(cite=(paper,)))
    assert "Allowed by" not in shown(failing())


def test_messages_are_shown_in_labelled_parts_with_their_byte_ranges() -> None:
    text = shown(failing())
    assert "POST /v2/models/m/infer HTTP/1.1\n" in text
    assert re.search(r"JSON, (\d+) bytes, bytes 0-\d+ of the body\n    \{", text)
    assert len(re.findall(r"    OUT INT32 \[8\], 32 bytes, bytes \d+-\d+ of the body\n", text)) == 2
    row = "64 65 66 67 68 69 6a 6b 6c 6d 6e 6f 70 71 72 73  defghijklmnopqrs"
    assert len(re.findall(rf"(?m)^    [0-9a-f]{{6}}  {re.escape(row)}$", text)) == 2


def test_the_first_wrong_byte_is_pointed_at() -> None:
    wrong = differing(18, 32)
    text = shown(wrong)
    assert "output OUTPUT0 INT32, element 4, byte 18 of its blob, byte " in text
    assert "of the body\n  expected: 00000000 (0)" in text
    assert "  got: 00007f00 (8323072)" in text
    rows = text.splitlines()
    (at,) = (n for n, row in enumerate(rows) if "^^" in row)
    assert "first differing byte: element 4 of OUTPUT0" in rows[at]
    start = rows[at].index("^^")
    assert rows[at - 1][start : start + 2] == "7f"
    assert wrong.difference is not None
    assert int(rows[at - 1][4:10], 16) + (start - 12) // 3 == wrong.difference.body_offset


@pytest.mark.parametrize("body_offset", [None, 10**9, 0])
def test_difference_without_a_byte_is_told_in_words(body_offset: int | None) -> None:
    found = FirstDifference("OUT", "INT32", 4, 18, body_offset, "74750077", "74757677", "1", "2")
    text = shown(failing(cause=WrongValue(found, 8, 1)))
    assert "expected: 74750077 (1)" in text
    assert "^^" not in text


def test_long_parts_are_folded_with_their_hash_and_full_shows_all() -> None:
    blob = bytes(n % 251 for n in range(5000))
    long = failing("D1/x", exchange(REQUEST, v2(answer(sized(5000)), blob)))
    text, whole = shown(long), shown(long, full=True)
    assert "... 4,680 bytes left out; --full shows them" in text
    assert "--full" not in whole

    def hexadecimal(rows: str) -> str:
        return "".join(re.findall(r"(?m)^    [0-9a-f]{6}  (.{47})", rows)).replace(" ", "")

    assert blob.hex() in hexadecimal(whole)
    assert blob[-64:].hex() in hexadecimal(text)


@pytest.mark.parametrize("known", ["on the same connection", "on a fresh connection"])
def test_the_canary_that_failed_is_named(known: str) -> None:
    canaries = [
        exchange(REQUEST, RESPONSE, "canary", purpose)
        for purpose in (Purpose.CANARY_SAME, Purpose.CANARY_FRESH)
    ]
    fine = " ".join(shown(failing("D1/x", OWN, *canaries)).split())
    assert (
        "survived: after this case, a known-good request got the same answer as before on" in fine
    )
    wrong = WrongStatus("200", 500, "")
    same = wrong if "same" in known else None
    fresh = wrong if "fresh" in known else None
    cause = DidNotSurvive(same, fresh, None, case_passed=True)
    text = " ".join(shown(failing("D1/x", OWN, *canaries, cause=cause)).split())
    assert f"got a wrong answer {known}." in text


def test_nothing_that_a_server_or_a_forged_report_says_reaches_the_terminal_raw() -> None:
    response = f"HTTP/1.1 200 {HOSTILE}\r\nX: {HOSTILE}\r\n\r\n".encode() + HOSTILE.encode()
    blobs = v2({"outputs": [sized(32, name=HOSTILE)], HOSTILE: HOSTILE}, BLOB)
    found = FirstDifference(HOSTILE, HOSTILE, 1, 1, 150, HOSTILE, HOSTILE, HOSTILE, HOSTILE)
    bad = failing(
        f"D1/{HOSTILE}",
        exchange(REQUEST, response, HOSTILE, detail=HOSTILE, ending=Ending.MALFORMED),
        exchange(HOSTILE.encode(), blobs, f"canary {HOSTILE}", Purpose.CANARY_SAME),
        message=HOSTILE * 40,
        why=HOSTILE,
        cause=WrongValue(found, 8, 1),
    )
    assert "\\x1b[2J\\x00" in shown(bad)


def test_a_case_that_did_not_run_has_no_replay() -> None:
    text = shown(case("D1/x", "not_run", "needs what D1/y killed"))
    assert text.startswith("NOT RUN  MUST")
    assert "v2-conformance replay" not in text


def test_color_where_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    path = saved(tmp_path, failing())
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    plain = cli("show", path, "D1", code=0).out
    assert "\x1b" not in plain
    made = list(lines(report(failing()), failing(), path=str(path)))
    console = Console(file=io.StringIO(), force_terminal=True, color_system="standard")
    for line in made:
        console.print(line, soft_wrap=True)
    assert "\x1b[1;31mFAIL\x1b[0m" in console.file.getvalue()  # type: ignore[attr-defined]
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[" in cli("show", path, "D1", code=0).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert cli("show", path, "D1", code=0).out == plain


# Which case.


@pytest.mark.parametrize("wanted", ["D1/x[INT32]", "D1/x*", "D1/*[INT32]", "D1"])
def test_id_pattern_or_requirement_names_case(wanted: str, tmp_path: Path, cli: Cli) -> None:
    ended = cli("show", saved(tmp_path, failing(), failing("D2/x[INT32]")), wanted, code=0)
    assert ended.out.startswith("FAIL  MUST (blocks conformant)  D1/x[INT32]")


def test_several_matches_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = [case(f"D1/{n}", "pass") for n in range(20)]
    cases.append(case(f"D1/bad{HOSTILE}", "fail"))
    line = problem(saved(tmp_path, *cases), "D1/*", capsys)
    assert "D1/* matches 21 cases: D1/bad\\x1b[2J" in line
    assert line.endswith("D1/8 (pass), and 11 more")
    assert line.isascii()


def test_no_match_names_what_is_close(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(tmp_path, case("D1/values[INT32]"), case("H6/other"))
    assert "did you mean D1/values[INT32]?" in problem(path, "D1/value[INT32]", capsys)
    line = problem(path, f"zzzz{HOSTILE}", capsys)
    assert line.startswith("v2-conformance: the report has no case zzzz\\x1b[2J")
    assert "mean" not in line
