"""What `verify` says of reports: untouched ones hold, and whatever was changed is told apart."""

from __future__ import annotations

import base64
import copy
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from running import chosen

from conformance.campaign import suite_cases
from conformance.cli import main
from conformance.discovery import discover
from conformance.errors import ReportFileError
from conformance.plan import Case
from conformance.reference.behaviour import Behaviour
from conformance.reference.exchange import Request, Response
from conformance.reference.server import ReferenceServer
from conformance.results import Record, concluded
from conformance.runner import Engine, run
from conformance.seal import sealed
from conformance.target import Target, make_target
from conformance.verify import Verification, lines, verify

Report = dict[str, Any]
Start = Callable[[type[Behaviour]], ReferenceServer]

GOOD = "P2/blob-follows-json[INT32]"
BAD = "H6/not-a-number[letters]"  # rejected, and followed by two canaries
FEW = chosen(GOOD, BAD, "P4/", "R1/", "R3/", "C6/", "O18/", "W1/fixed-shape", "P1/")
CASES = suite_cases()
LENGTH = (b"\r\nContent-Length: ", 20)  # the last of three digits
SECRET = "s3cret-token-of-the-tests"


def made(folder: Path, target: Target, cases: Sequence[Case] = FEW) -> Path:
    """The report of a run of `cases`."""
    server = discover(target)
    record = Record(folder, target, server, CASES)
    for event in run(Engine(target, server), cases):
        record.add(event.result)
    record.finish()
    return folder / "report.json"


def of_faulty(folder: Path, *faults: str, cases: Sequence[Case] = FEW) -> Path:
    with ReferenceServer(faults) as server:
        target = make_target(server.url, timeout=1, headers=(f"Authorization: Bearer {SECRET}",))
        return made(folder, target, cases)


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a good server."""
    return of_faulty(tmp_path_factory.mktemp("clean"))


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a server whose request blobs are off by one."""
    return of_faulty(tmp_path_factory.mktemp("faulty"), "request-blobs-off-by-one")


@pytest.fixture(scope="module")
def deadly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a server one of whose models a rejection kills."""
    return of_faulty(tmp_path_factory.mktemp("deadly"), "rejection-kills-model")


def said(path: Path) -> tuple[Verification, str]:
    """What verifying finds, and what it prints in one line."""
    found = verify(path, CASES)
    return found, " ".join(" ".join(lines(path, found)).split())


def changed(
    original: Path, folder: Path, change: Callable[[Report], object], *, seal: bool = True
) -> tuple[Verification, str]:
    """What verifying says of a report after a change, with its digest computed again or not."""
    report = json.loads(original.read_text())
    change(report)
    path = folder / "report.json"
    path.write_text(json.dumps(sealed(report) if seal else report))
    return said(path)


def case_of(report: Mapping[str, Any], name: str) -> Report:
    found: Report = next(case for case in report["cases"] if case["id"] == name)
    return found


def flipped(name: str, side: str, seam: bytes, after: int, number: int = 0) -> Any:
    """A change: one bit of the byte `after` the start of `seam`, in one side of an exchange."""

    def change(report: Report) -> None:
        exchange = case_of(report, name)["exchanges"][number]
        data = bytearray(base64.b64decode(exchange[side]))
        data[data.index(seam) + after] ^= 1
        exchange[side] = base64.b64encode(data).decode()

    return change


def differing(found: Verification) -> list[str]:
    return [case.id for case in found.cases if case.problem]


# Reports that nobody touched.


def test_a_report_of_a_good_server_holds(clean: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(clean)]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    printed = " ".join(out.split())
    assert "the verdict holds: NOT CONFORMANT" in printed  # it is of a selection
    assert f"{len(FEW)} cases: {len(FEW) - 1} judged again" in printed
    assert "1 without any, which were not sent" in printed
    assert "only one in a number is recorded" in printed
    assert not any(word in printed for word in ("DIFFERS", "EDITED", "other words", "no digest"))


@pytest.mark.parametrize(
    "faults",
    [
        ["rejection-without-response"],
        ["error-is-plain-text", "content-length-too-large"],
        ["concurrent-requests-mixed", "binary-response-typed-json"],
        ["stray-bytes-after-binary-response"],
        ["rejection-stops-listening"],
    ],
    ids="+".join,
)
def test_a_report_of_a_broken_server_holds(tmp_path: Path, faults: list[str]) -> None:
    found, text = said(of_faulty(tmp_path, *faults))
    assert "fail" in {case.recorded for case in found.cases}
    assert found.exit_code == 0, text
    assert not any(case.other_words for case in found.cases)


def test_cases_that_a_killed_model_left_are_believed_by_name(deadly: Path) -> None:
    found, text = said(deadly)
    assert "not_run" in {case.recorded for case in found.cases}
    assert found.exit_code == 0, text
    assert "what another case killed stayed dead" in text


def test_time_outs_and_silent_models_are_believed_and_said_to_be(
    tmp_path: Path, start: Start
) -> None:
    release = threading.Event()

    class Silent(Behaviour):
        def handle(self, request: Request) -> Response:
            if request.target.endswith("identity_int32/infer"):
                release.wait(20)
            return super().handle(request)

        def parse_length(self, text: str) -> int:
            if text == "abc":
                release.wait(20)
            return super().parse_length(text)

    target = make_target(start(Silent).url, timeout=0.3)
    path = made(tmp_path, target, chosen("R3/", BAD))
    release.set()
    found, text = said(path)
    assert found.exit_code == 0, text
    assert "answered no known-good request" in text
    assert "nothing more came before the time-out" in text


def test_a_server_that_answers_no_canary_exactly_is_held_to_its_first_answer(
    tmp_path: Path, start: Start
) -> None:
    class Refuses(Behaviour):
        def handle(self, request: Request) -> Response:
            if request.target.endswith("/infer"):
                return self.error(503, "no")
            return super().handle(request)

    path = made(tmp_path, make_target(start(Refuses).url, timeout=1), chosen("R3/", "R1/"))
    found, text = said(path)
    assert found.exit_code == 0, text
    assert "answered known-good requests no better at first" in text

    def other(report: Report) -> None:
        case_of(report, "R1/unknown-model")["exchanges"][-1]["wanted"] = "status 200"

    found, text = changed(path, tmp_path, other)
    assert differing(found) == ["R1/unknown-model"]
    assert "status 200 as before wanted, status 503 came" in text


def test_a_run_that_was_stopped_is_said_to_be_incomplete(clean: Path, tmp_path: Path) -> None:
    record = (clean.parent / "report.jsonl").read_text().splitlines(keepends=True)
    path = tmp_path / "report.jsonl"
    path.write_text("".join(record[:20]) + record[20][:99])
    found, text = said(path)
    assert found.exit_code == 0, text
    assert "the run is incomplete" in text
    assert "a record has no digest" in text
    assert "holds: NOT CONFORMANT" in text


# What was changed.


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (flipped(GOOD, "request", b"\r\n\r\n", 12), "the request is not what the suite sends"),
        (flipped(GOOD, "request", b"Host: ", 7), "the request is not what the suite sends"),
        (flipped(GOOD, "request", b"}]}", 9), "the request is not what the suite sends"),
        (flipped(GOOD, "response", b"HTTP/1.1 2", 9), "say fail: "),
        (flipped(GOOD, "response", b"HTTP/1.1 2", 7), "is said to be left open"),
        (flipped(GOOD, "response", *LENGTH), "does not end as it is said to: complete"),
        (flipped(GOOD, "response", b'"shape"', 3), "the recorded bytes say fail"),
        (flipped(GOOD, "response", b"}]}", 6), "the recorded bytes say fail: "),
        (flipped(BAD, "response", b'{"error"', 3), "say fail: "),
        (flipped(BAD, "request", b"\r\n\r\n", 12, 1), "a canary's request is not"),
        (flipped(BAD, "response", b"\r\n\r\n", 4, 1), "did not survive"),
        (flipped(BAD, "response", b"\r\n\r\n", 4, 2), "did not survive"),
    ],
    ids=lambda value: None if callable(value) else value[:20],
)
def test_a_bit_that_is_judged_or_sent_is_noticed_by_itself(
    clean: Path, tmp_path: Path, change: Any, words: str
) -> None:
    found, text = changed(clean, tmp_path, change)
    assert found.exit_code == 1
    (name,) = differing(found)
    assert name in (GOOD, BAD)
    assert f"DIFFERS {name}: recorded as pass; " in text
    assert words in text
    assert "digest" not in text
    assert "EDITED" not in changed(clean, tmp_path, lambda report: None)[1]


def test_a_bit_that_nothing_judges_is_noticed_by_the_digest_alone(
    clean: Path, tmp_path: Path
) -> None:
    change = flipped(GOOD, "response", b"HTTP/1.1 200 O", 14)
    found, text = changed(clean, tmp_path, change, seal=False)
    assert found.exit_code == 1
    assert "EDITED the report was edited: its digest is not that of its content" in text
    assert changed(clean, tmp_path, change)[0].exit_code == 0  # no signature: docs/reports.md


def test_a_status_that_changes_no_outcome_shows_in_the_words(clean: Path, tmp_path: Path) -> None:
    def change(report: Report) -> None:
        exchange = case_of(report, "R1/unknown-model")["exchanges"][0]
        data = base64.b64decode(exchange["response"]).replace(b"HTTP/1.1 40", b"HTTP/1.1 41", 1)
        exchange["response"] = base64.b64encode(data).decode()

    found, text = changed(clean, tmp_path, change)
    assert found.exit_code == 0
    assert "in other words: R1/unknown-model: rejected with status 41" in text


def test_a_failure_that_is_made_a_pass_is_named_however_well_the_rest_fits(
    faulty: Path, tmp_path: Path
) -> None:
    def change(report: Report) -> None:
        case = case_of(report, GOOD)
        assert case["outcome"] == "fail"
        case.update(outcome="pass", message="", exchanges=case["exchanges"][:1])
        report.update(concluded(report))

    found, text = changed(faulty, tmp_path, change)
    assert found.exit_code == 1
    assert differing(found) == [GOOD]
    assert "recorded as pass" in text
    assert "EDITED" in text  # the table follows from what the bytes say


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda report: report["cases"].pop(), "the rows of these requirements do not follow"),
        (lambda report: report["verdict"].update(conformant=True), "the verdict with its reasons"),
        (lambda report: report["verdict"]["reasons"].pop(), "the verdict with its reasons"),
        (lambda report: report["requirements"].pop(), "do not follow from the cases"),
        (lambda report: report["requirements"][0].update(statement="x"), "do not follow"),
        (lambda report: report["planned"].update(P2=0), "fewer cases are said to be planned"),
        (lambda report: case_of(report, GOOD).update(level="MAY"), "its level in the report"),
        (lambda report: case_of(report, GOOD).update(why="Because."), "its why in the report"),
        (lambda report: case_of(report, GOOD).update(content="0"), "its content in the report"),
        (lambda report: case_of(report, GOOD).update(exchanges=[]), "no exchange is recorded"),
        (lambda report: case_of(report, BAD)["exchanges"].pop(), "(where it is open) and"),
        (lambda report: case_of(report, GOOD)["exchanges"][0].pop("ending"), "lacks 'ending'"),
        (lambda report: report["target"]["models"].pop("mixed"), "DIFFERS"),
    ],
    ids=lambda value: None if callable(value) else value[:30],
)
def test_an_edit_of_the_document_is_noticed_with_its_digest_computed_again(
    clean: Path, tmp_path: Path, change: Any, words: str
) -> None:
    cases = chosen("M3/")[:1]
    path = of_faulty(tmp_path / "mixed", cases=cases) if words == "DIFFERS" else clean
    found, text = changed(path, tmp_path, change)
    assert found.exit_code == 1
    assert words in text
    assert "NOT hold" in text


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"ending": "closed"}, "does not end as it is said to: closed"),
        ({"ending": "timeout", "open": False}, "does not end as it is said to: timeout"),
        ({"ending": "too-large"}, "does not end as it is said to: too-large"),
        ({"ending": "malformed"}, "does not end as it is said to: malformed"),
        ({"ending": "refused"}, "said to be refused"),
        ({"response": ""}, "does not end as it is said to: complete"),
        ({"open": False}, "said to be closed"),
        ({"sent": 10**9}, "are said to be sent"),
        ({"sent": 3}, "said to be left open"),
        ({"response": "é"}, "is not one"),
        ({"duration_ms": 10**4000}, "is not one"),
        ({"note": "x"}, "not marked as its own"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_a_record_that_no_exchange_can_leave_is_noticed(
    clean: Path, tmp_path: Path, entry: Report, words: str
) -> None:
    found, text = changed(
        clean, tmp_path, lambda report: case_of(report, GOOD)["exchanges"][0].update(entry)
    )
    assert differing(found) == [GOOD]
    assert words in text


def test_a_case_that_is_said_to_be_killed_needs_a_killer_that_shows_it(
    deadly: Path, tmp_path: Path
) -> None:
    report = json.loads(deadly.read_text())
    victim = next(case for case in report["cases"] if case["outcome"] == "not_run")

    def blames(name: str) -> Callable[[Report], None]:
        message = f"needs what {name} killed (identity/INT32)"
        return lambda report: case_of(report, victim["id"]).update(message=message)

    for name in ("no/such-case", GOOD):
        found, _ = changed(deadly, tmp_path, blames(name))
        assert differing(found) == [victim["id"]]


# Other suites, and what is no report.


def other_catalogue(report: Report) -> None:
    report["suite"].update(version="0.0.1", catalogue="0123456789abcdef")


def test_the_cases_of_another_catalogue_that_are_the_same_are_judged(
    clean: Path, tmp_path: Path
) -> None:
    found, text = changed(clean, tmp_path, other_catalogue)
    assert found.exit_code == 0, text
    assert "another suite made it" in text
    assert "v2-conformance 0.0.1, catalogue 0123456789abcdef" in text


def test_a_case_that_another_catalogue_has_otherwise_is_not_judged_and_named(
    clean: Path, tmp_path: Path
) -> None:
    def change(report: Report) -> None:
        other_catalogue(report)
        case_of(report, GOOD).update(content="0")
        case_of(report, BAD).update(id="H6/gone")

    found, text = changed(clean, tmp_path, change)
    assert found.exit_code == 2
    assert "cannot be confirmed here" in text
    assert "verify it with v2-conformance 0.0.1" in text
    assert f"{GOOD}: its content differ" in text
    assert "H6/gone: this installation has no such case" in text

    def worse(report: Report) -> None:
        change(report)
        flipped(GOOD, "response", *LENGTH)(report)

    found, text = changed(clean, tmp_path, worse)
    assert found.exit_code == 1  # its bytes cannot have ended as it says, whatever was tested
    assert differing(found) == [GOOD]


def test_a_case_that_cannot_be_planned_again_is_named_and_nothing_confirmed(
    clean: Path, tmp_path: Path
) -> None:
    def change(report: Report) -> None:
        made_up = copy.deepcopy(case_of(report, GOOD))
        report["cases"].append({**made_up, "id": "M7/unknown"})
        report.update(concluded(report))

    found, text = changed(clean, tmp_path, change)
    assert found.exit_code == 2
    assert "not judged again: M7/unknown: this installation has no such case" in text


@pytest.mark.parametrize("faults", [[], ["request-blobs-in-model-order"]])
def test_generated_requests_are_judged_again_from_their_entries(
    tmp_path: Path, faults: list[str]
) -> None:
    options = [word for fault in faults for word in ("--fault", fault)]
    main(["run", *options, "--case", "M7/generated", "--report-dir", str(tmp_path)])
    assert not differing(verify(tmp_path / "report.json", CASES))

    def change(report: Report) -> None:
        own = case_of(report, "M7/generated")["exchanges"][0]
        own["entry"]["request"]["id"] = "another"

    found, _ = changed(tmp_path / "report.json", tmp_path, change)
    assert differing(found) == ["M7/generated"]


@pytest.mark.parametrize("cut", [0.3, 0.999])
def test_a_file_that_was_cut_off_is_one_line(
    clean: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], cut: float
) -> None:
    text = clean.read_text()
    path = tmp_path / "report.json"
    path.write_text(text[: int(len(text) * cut)])
    assert main(["verify", str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["verify", str(tmp_path)]) == 2


@pytest.mark.parametrize(
    ("member", "value"), [("headers", None), ("url", "http://["), ("models", None)]
)
def test_a_report_that_lacks_what_every_request_has_is_refused(
    clean: Path, tmp_path: Path, member: str, value: object
) -> None:
    def change(report: Report) -> None:
        report["target"].pop(member)
        if value is not None:
            report["target"][member] = value

    with pytest.raises(ReportFileError, match="cannot be judged again"):
        changed(clean, tmp_path, change)


def test_nothing_of_a_hostile_report_reaches_the_terminal_raw(clean: Path, tmp_path: Path) -> None:
    evil = "\x1b[31m\ud800\u202e" * 200

    def change(report: Report) -> None:
        other_catalogue(report)
        report["suite"]["version"] = report["started"] = evil
        report["target"]["url"] = f"http://h/{evil}"
        report["target"]["models"]["identity/INT32"]["inputs"] = [evil]
        case_of(report, BAD).update(id=evil, message=evil)

    _, text = changed(clean, tmp_path, change)
    assert text.replace("…", "").isascii()
    assert text.isprintable()


# Masked secrets.


def test_masked_spans_are_all_of_a_request_that_may_differ(clean: Path, tmp_path: Path) -> None:
    report = json.loads(clean.read_text())
    request = base64.b64decode(case_of(report, GOOD)["exchanges"][0]["request"])
    stars = b"*" * (len("Bearer ") + len(SECRET))
    assert b"Authorization: " + stars + b"\r\n" in request
    found, text = changed(
        clean, tmp_path, flipped(GOOD, "request", b"Authorization: ", len("Authorization: "))
    )
    assert differing(found) == [GOOD]
    assert "the first that differs is byte" in text
    found, _ = changed(clean, tmp_path, flipped(GOOD, "request", b"Authorization: ", 3))
    assert differing(found) == [GOOD]


def test_a_secret_that_a_server_sends_back_leaves_the_verdict_judgeable(
    tmp_path: Path, start: Start
) -> None:
    class Echoes(Behaviour):
        def error(self, status: int, message: str, *more: Any) -> Response:
            return super().error(status, f"{message} {SECRET}", *more)

    target = make_target(start(Echoes).url, headers=(f"X-Api-Key: {SECRET}",), timeout=1)
    path = made(tmp_path, target, chosen("R", "P4/"))
    assert SECRET not in path.read_text()
    found, text = said(path)
    assert found.exit_code == 0, text


def test_a_secret_that_stands_in_judged_bytes_leaves_them_unjudged(tmp_path: Path) -> None:
    with ReferenceServer() as server:
        target = make_target(server.url, headers=("X-Api-Key: element-1-",), timeout=1)
        path = made(tmp_path, target, chosen("P2/blob-follows-json[BYTES]", GOOD))
    found, text = said(path)
    assert found.exit_code == 2
    assert [case.id for case in found.cases if case.unjudged] == ["P2/blob-follows-json[BYTES]"]
    assert "masks" in text


# The page.


def test_a_page_of_an_edited_report_is_made_with_one_line_of_warning(
    clean: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "report.json"
    path.write_text(clean.read_text())
    assert main(["report", str(path)]) == 0
    assert capsys.readouterr().err == ""
    path.write_text(clean.read_text().replace('"message": ""', '"message": "x"', 1))
    assert main(["report", str(path)]) == 0
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    assert "was edited" in printed.err
    assert (tmp_path / "report.html").exists()
