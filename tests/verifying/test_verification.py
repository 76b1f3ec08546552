"""What `verify` says of reports: untouched ones hold, and what was changed is told apart."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from support.commands import Cli
from support.reports import LENGTH, Document, as_json, case_of, flipped, reconcluded
from support.runs import (
    BAD,
    FEW,
    GOOD,
    SECRET,
    cases_that_differ,
    changed,
    chosen,
    made,
    of_faulty,
    said,
)
from support.servers import Start
from v2_conformance.errors import ReportFileError
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Response
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.files import load_report
from v2_conformance.runs.targets.making import make_target
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.causes.base import describe
from v2_conformance.suite.causes.causes import Cause, SeveralWrong
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import catalogue_version
from v2_conformance.verifying.verification import verify
from v2_conformance.version import judging_digest


@pytest.fixture(scope="session")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a good server."""
    return of_faulty(tmp_path_factory.mktemp("clean"))


def test_a_report_of_a_good_server_holds(clean: Path, cli: Cli) -> None:
    out = cli("verify", clean, code=0).out
    assert max(map(len, out.splitlines())) <= 80
    printed = " ".join(out.split())
    assert printed.endswith("that they are this server's is the word of whoever published them")
    assert "the verdict holds: INCOMPLETE RUN" in printed  # it is of a selection
    unsent = sum(case.outcome is Outcome.UNSUPPORTED for case in load_report(clean).cases)
    assert unsent
    assert f"{len(FEW)} cases: {len(FEW) - unsent} judged again" in printed
    assert f"{unsent} not sent" in printed
    assert not any(word in printed for word in ("DIFFERS", "EDITED", "another cause", "no digest"))


def test_a_run_that_was_stopped_is_said_to_be_incomplete(clean: Path, tmp_path: Path) -> None:
    record = (clean.parent / "report.jsonl").read_text().splitlines(keepends=True)
    path = tmp_path / "report.jsonl"
    path.write_text("".join(record[:20]) + record[20][:99])
    found, text = said(path)
    assert found.exit_code == 0, text
    assert "the run is incomplete" in text
    assert "a record has no digest" in text
    assert "holds: INCOMPLETE RUN" in text


SENDS, BYTES = "the request is not what the suite sends", "the recorded bytes say fail"


def with_made_up_exchanges(report: Document) -> None:
    case_of(report, "R2/observed")["exchanges"] = case_of(report, GOOD)["exchanges"]


@pytest.mark.parametrize(
    ("change", "name", "words"),
    [
        (flipped(GOOD, "request", b"\r\n\r\n", 12), GOOD, SENDS),
        (flipped(GOOD, "request", b"Host: ", 7), GOOD, SENDS),
        (flipped(GOOD, "request", b"}]}", 9), GOOD, SENDS),
        # Masked spans are all of a request that may differ.
        (flipped(GOOD, "request", b"Authorization: ", 15), GOOD, "the first that differs is byte"),
        (flipped(GOOD, "request", b"Authorization: ", 3), GOOD, "the first that differs is byte"),
        (flipped(GOOD, "response", b"HTTP/1.1 2", 9), GOOD, BYTES),
        (flipped(GOOD, "response", *LENGTH), GOOD, "does not end as the record says: complete"),
        (flipped(GOOD, "response", b'"shape"', 3), GOOD, BYTES),
        (flipped(GOOD, "response", b"}]}", 6), GOOD, BYTES),
        (flipped(BAD, "request", b"\r\n\r\n", 12, 1), BAD, "is not what the suite sends"),
        (flipped(BAD, "response", b"\r\n\r\n", 4, 1), BAD, "did not recover"),
        (flipped(BAD, "response", b"\r\n\r\n", 4, 2), BAD, "did not recover"),
        # Only what is observed judges this, over all exchanges.
        (flipped(BAD, "response", b'{"error"', 3), "R2/observed", f"{BYTES}: wrong in 1 of "),
        (with_made_up_exchanges, "R2/observed", "exchanges are recorded of a case that is not"),
    ],
    ids=lambda value: None if callable(value) else value[:20],
)
def test_a_bit_that_is_judged_or_sent_is_noticed_by_itself(
    clean: Path, tmp_path: Path, change: Any, name: str, words: str
) -> None:
    found, text = changed(clean, tmp_path, change)
    assert found.exit_code == 1
    assert cases_that_differ(found) == [name]
    assert f"DIFFERS {name}: recorded as pass; " in text
    assert words in text
    assert "digest" not in text


def test_a_bit_that_nothing_judges_is_noticed_by_the_digest_alone(
    clean: Path, tmp_path: Path
) -> None:
    change = flipped(GOOD, "response", b"HTTP/1.1 200 O", 14)
    found, text = changed(clean, tmp_path, change, seal=False)
    assert found.exit_code == 1
    assert "EDITED the report was edited: its digest is not that of its content" in text
    assert changed(clean, tmp_path, change)[0].exit_code == 0  # no signature: docs/reports.md


UNSENT: list[tuple[str, Cause | None, str | None]] = [
    ("inconclusive", kinds.NoKnownGoodAnswer("identity/INT32", "in time"), None),
    ("error", kinds.SuiteError("ValueError()", "judge.py:1"), None),
    ("inconclusive", kinds.TimedOut(1.0, 0, "in time"), "no exchange is recorded"),
    ("fail", kinds.WrongStatus("200", 500, ""), "no exchange is recorded"),
    ("unsupported", kinds.ProfileNotClaimed("binary"), "no exchange is recorded"),
    ("not_run", kinds.KilledBy("no/such-case", "identity/INT32"), "is not recorded as failed"),
    ("not_run", kinds.ExtensionLeftOut(), "does not show that the server leaves the extension out"),
]


@pytest.mark.parametrize(("outcome", "cause", "problem"), UNSENT)
def test_a_case_without_exchanges_must_say_why_it_was_not_sent(
    clean: Path, tmp_path: Path, outcome: str, cause: Cause | None, problem: str | None
) -> None:
    members = {"outcome": outcome, "cause": cause and json.loads(as_json(cause))}

    def change(report: Document) -> None:
        case_of(report, GOOD).update(members, message=describe(cause), exchanges=[])
        reconcluded(report)

    found, text = changed(clean, tmp_path, change)
    (case,) = [case for case in found.cases if case.id == GOOD]
    assert (case.problem is None) is (problem is None), text
    assert (problem or "") in (case.problem or "")
    assert found.exit_code == (0 if problem is None else 1)


@pytest.mark.parametrize(
    "members",
    [
        {"cause": {"kind": "accepted"}, "message": "accepted"},
        {"cause": {"kind": "rejected", "status": 418}},
        {"cause": None, "message": ""},
        {"message": "rejected with status 418"},
    ],
    ids=str,
)
def test_a_cause_or_a_message_that_the_bytes_do_not_show_is_named(
    clean: Path, tmp_path: Path, members: Document
) -> None:
    found, text = changed(clean, tmp_path, lambda report: case_of(report, BAD).update(members))
    (other,) = [case for case in found.cases if case.other_cause is not None]
    assert (other.id, other.other_cause) == (BAD, "rejected with status 400")
    assert found.exit_code == 0  # the verdict holds
    assert f"same outcome, but for another cause: {BAD}: rejected with status 400" in text
    assert "EDITED" not in text


def give_cause(case: Document, cause: Document) -> None:
    """Give `case` another cause, and a message that says it, with the same odd and sent parts."""
    words = [describe(msgspec.convert(one, Cause)) for one in (case["cause"], cause)]
    assert words[0] in case["message"]
    case.update(cause=cause, message=case["message"].replace(*words))


def test_how_many_of_several_answers_were_wrong_cannot_be_shown_but_the_rest_is(
    tmp_path: Path,
) -> None:
    path = of_faulty(tmp_path / "mixed", "concurrent-requests-mixed")
    name = next(c.id for c in load_report(path).cases if isinstance(c.cause, SeveralWrong))

    def with_members(**members: object) -> Any:
        return lambda report: give_cause(
            case_of(report, name), {**case_of(report, name)["cause"], **members}
        )

    found, _ = changed(path, tmp_path, with_members(wrong=1))
    assert found.exit_code == 0
    assert not [case for case in found.cases if case.other_cause]
    found, _ = changed(path, tmp_path, with_members(first={"kind": "header_length_missing"}))
    assert name in cases_that_differ(found) or any(case.other_cause for case in found.cases)


def another_build(report: Document) -> None:
    patched = catalogue_version().rpartition(".")[0] + ".9"
    report["suite"].update(version="0.0.1", catalogue_version=patched, judging="0123456789abcdef")


def other_catalogue(report: Document) -> None:
    report["suite"].update(version="0.0.1", catalogue="0123456789abcdef", catalogue_version="1.0.0")


OTHER_WORDS: dict[str, Any] = {
    "requirements": lambda report: report["requirements"][0].update(title="Any", note="No."),
    "cases": lambda report: case_of(report, GOOD).update(why="Nothing goes wrong."),
    "verdict": lambda report: report["verdict"].update(standing="certified", claim="everything"),
}


def test_another_build_is_noted_and_its_report_is_judged_again_in_full(
    clean: Path, tmp_path: Path
) -> None:
    found, text = changed(clean, tmp_path, another_build)
    assert found.exit_code == 0, text
    assert "another build made it" in text
    assert f"its judging code is 0123456789abcdef, this one's is {judging_digest()}" in text
    assert "another build" not in changed(clean, tmp_path, lambda report: None)[1]

    def worse(report: Document) -> None:
        another_build(report)
        report["verdict"]["robust"] = not report["verdict"]["robust"]

    found, text = changed(clean, tmp_path, worse)
    assert found.exit_code == 1
    assert "another build made it, so compare with what v2-conformance 0.0.1, catalogue" in text


def test_words_of_another_build_are_not_compared_and_not_published(
    clean: Path, tmp_path: Path
) -> None:
    def change(report: Document) -> None:
        another_build(report)
        for reword in OTHER_WORDS.values():
            reword(report)

    found, text = changed(clean, tmp_path, change)
    assert found.exit_code == 0, text
    assert "certified" not in text.lower()
    assert found.report.requirements[0].title == "Any"
    here, shown = verify(clean, suite_cases()).report, found.shown
    assert (shown.requirements, shown.verdict) == (here.requirements, here.verdict)
    assert [case.why for case in shown.cases] == [case.why for case in here.cases]


@pytest.mark.parametrize("member", OTHER_WORDS)
def test_words_of_this_build_are_compared(clean: Path, tmp_path: Path, member: str) -> None:
    assert changed(clean, tmp_path, OTHER_WORDS[member])[0].exit_code == 1


def test_nothing_of_another_catalogue_is_judged_and_its_version_is_named(
    clean: Path, tmp_path: Path
) -> None:
    found, text = changed(clean, tmp_path, other_catalogue)
    assert (found.exit_code, found.cases) == (2, ())
    for words in ("cannot be confirmed here", "verify it with v2-conformance 0.0.1"):
        assert words in text
    assert "nothing is judged again" in text
    found, text = changed(clean, tmp_path, other_catalogue, seal=False)
    assert found.exit_code == 1
    assert "EDITED the report was edited" in text


def test_a_report_with_other_draws_is_refused(tmp_path: Path, server: ReferenceServer) -> None:
    target = replace(make_target(server.url, timeout=5), seed=7)
    path = made(tmp_path / "old", target, chosen("O4/nothing-asked[FP64,json]"))
    assert not cases_that_differ(said(path)[0])
    with pytest.raises(ReportFileError, match="another version drew its values"):
        changed(path, tmp_path, lambda report: report.update(draws=1))


def test_a_target_without_a_url_is_refused_in_one_line(clean: Path, tmp_path: Path) -> None:
    words = "cannot be judged again: its target has no URL"
    with pytest.raises(ReportFileError, match=words) as error:
        changed(clean, tmp_path, lambda report: report["target"].update(url="http://["))
    assert str(error.value).isprintable()


def test_a_secret_that_a_server_sends_back_leaves_the_verdict_judgeable(
    tmp_path: Path, start: Start
) -> None:
    class Echoes(Behavior):
        def error(self, status: int, message: str, *more: Any) -> Response:
            return super().error(status, f"{message} {SECRET}", *more)

    target = make_target(start(Echoes).url, headers=(f"X-Api-Key: {SECRET}",), timeout=1)
    path = made(tmp_path, target, chosen("R", "P4/"))
    assert SECRET not in path.read_text()
    found, text = said(path)
    assert found.exit_code == 0, text
    assert not any(case.other_cause for case in found.cases)


def test_a_secret_that_stands_in_judged_bytes_leaves_them_unjudged(
    tmp_path: Path, server: ReferenceServer
) -> None:
    target = make_target(server.url, headers=("X-Api-Key: element-1-xxx",), timeout=1)
    path = made(tmp_path, target, chosen("P2/blob-follows-json[BYTES]", GOOD))
    found, text = said(path)
    assert found.exit_code == 2
    assert [case.id for case in found.cases if case.unjudged] == ["P2/blob-follows-json[BYTES]"]
    assert "masks" in text
