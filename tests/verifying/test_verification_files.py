"""What `verify` says of other catalogues, files that are cut off or hostile, and secrets."""

from __future__ import annotations

import base64
import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.commands import Cli
from support.reports import Document, case_of, flipped, read_document, reconcluded
from support.runs import BAD, GOOD, SECRET, cases_that_differ, changed, chosen, made, said
from support.servers import Start
from v2_conformance.cli.main import main
from v2_conformance.errors import ReportFileError
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Response
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.runs.targets.making import make_target
from v2_conformance.suite.library import suite_cases
from v2_conformance.suite.requirements import catalogue_version
from v2_conformance.verifying.verification import verify
from v2_conformance.version import judging_digest
from v2_mutants.servers import MutantServer

# Other suites, and what is no report.


def other_catalogue(report: Document) -> None:
    report["suite"].update(version="0.0.1", catalogue="0123456789abcdef", catalogue_version="1.0.0")


def test_a_rejection_without_the_last_known_good_request_differs(
    clean: Path, tmp_path: Path
) -> None:
    last = "R1/path-in-the-model-name"

    def without_fresh_canary(report: Document) -> None:
        assert case_of(report, last)["exchanges"].pop()["purpose"] == "canary_fresh_connection"

    found, _ = changed(clean, tmp_path, without_fresh_canary)
    assert (found.exit_code, cases_that_differ(found)) == (1, [last])


def another_build(report: Document) -> None:
    patched = catalogue_version().rpartition(".")[0] + ".9"
    report["suite"].update(version="0.0.1", catalogue_version=patched, judging="0123456789abcdef")


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


def other_words(report: Document) -> None:
    report["requirements"][0].update(title="Anything goes", statement="Do as you like.", note="No.")
    case_of(report, GOOD)["why"] = "Nothing goes wrong."
    report["verdict"].update(reasons=["none at all"], standing="certified", claim="everything")


def test_words_of_another_build_are_not_compared_and_not_published(
    clean: Path, tmp_path: Path
) -> None:
    def change(report: Document) -> None:
        another_build(report)
        other_words(report)

    found, text = changed(clean, tmp_path, change)
    assert found.exit_code == 0, text
    assert "certified" not in text.lower()
    assert found.report.requirements[0].title == "Anything goes"
    here = verify(clean, suite_cases()).report
    shown = found.shown
    assert (shown.requirements, shown.verdict) == (here.requirements, here.verdict)
    assert [case.why for case in shown.cases] == [case.why for case in here.cases]


@pytest.mark.parametrize("member", ["requirements", "cases", "verdict"])
def test_words_of_this_build_are_compared(clean: Path, tmp_path: Path, member: str) -> None:
    def change(report: Document) -> None:
        own = {name: report[name] for name in ("requirements", "cases", "verdict")}
        own = copy.deepcopy(own)
        other_words(report)
        report.update({name: value for name, value in own.items() if name != member})

    assert changed(clean, tmp_path, change)[0].exit_code == 1


def test_nothing_of_another_catalogue_is_judged_and_its_version_is_named(
    clean: Path, tmp_path: Path
) -> None:
    found, text = changed(clean, tmp_path, other_catalogue)
    assert (found.exit_code, found.cases) == (2, ())
    assert "cannot be confirmed here" in text
    assert "verify it with v2-conformance 0.0.1" in text
    assert "nothing is judged again" in text
    found, text = changed(clean, tmp_path, other_catalogue, seal=False)
    assert found.exit_code == 1
    assert "EDITED the report was edited" in text


def test_a_case_that_is_in_no_plan_is_an_edit(clean: Path, tmp_path: Path) -> None:
    def change(report: Document) -> None:
        made_up = copy.deepcopy(case_of(report, GOOD))
        report["cases"].append({**made_up, "id": "M7/unknown"})
        reconcluded(report)

    found, text = changed(clean, tmp_path, change)
    assert found.exit_code == 1
    assert cases_that_differ(found) == ["M7/unknown"]
    assert "it is not in the plan of a run with this selection" in text


@pytest.mark.parametrize("cut", [0.3, 0.999])
def test_a_file_that_was_cut_off_is_one_line(
    clean: Path, tmp_path: Path, cli: Cli, cut: float
) -> None:
    text = clean.read_text()
    path = tmp_path / "report.json"
    path.write_text(text[: int(len(text) * cut)])
    assert cli("verify", path, code=2).err.count("\n") == 1
    assert main(["verify", str(tmp_path)]) == 2


@pytest.mark.parametrize("member", ["headers", "url", "models", "host", "profiles"])
def test_a_report_that_lacks_what_every_request_has_is_no_report(
    clean: Path, tmp_path: Path, member: str
) -> None:
    with pytest.raises(ReportFileError, match=f"missing required field `{member}`"):
        changed(clean, tmp_path, lambda report: report["target"].pop(member))


def test_a_report_without_the_url_of_a_server_cannot_be_judged_again(
    clean: Path, tmp_path: Path
) -> None:
    with pytest.raises(ReportFileError, match="cannot be judged again: its target has no URL"):
        changed(clean, tmp_path, lambda report: report["target"].update(url="http://["))


def test_nothing_of_a_hostile_report_reaches_the_terminal_raw(clean: Path, tmp_path: Path) -> None:
    evil = "\x1b[31m\u202e" * 200

    def change(report: Document) -> None:
        other_catalogue(report)
        report["suite"]["version"] = report["started"] = evil
        report["target"]["url"] = f"http://h/{evil}"
        report["target"]["models"]["identity/INT32"]["inputs"] = [evil]
        cause = {"kind": "invalid_case", "problem": evil}
        case_of(report, BAD).update(id=evil, message=evil, cause=cause)
        case_of(report, "P1/metadata-lists-extension").update(message=evil, cause=cause)

    _, text = changed(clean, tmp_path, change)
    assert text.replace("…", "").isascii()
    assert text.isprintable()


def test_half_of_a_surrogate_pair_makes_it_no_report(clean: Path, tmp_path: Path) -> None:
    with pytest.raises(ReportFileError) as error:
        changed(clean, tmp_path, lambda report: report.update(started="\ud800"))
    assert str(error.value).isprintable()


# Masked secrets.


def test_masked_spans_are_all_of_a_request_that_may_differ(clean: Path, tmp_path: Path) -> None:
    report = read_document(clean)
    request = base64.b64decode(case_of(report, GOOD)["exchanges"][0]["request"])
    stars = b"*" * (len("Bearer ") + len(SECRET))
    assert b"Authorization: " + stars + b"\r\n" in request
    found, text = changed(
        clean, tmp_path, flipped(GOOD, "request", b"Authorization: ", len("Authorization: "))
    )
    assert cases_that_differ(found) == [GOOD]
    assert "the first that differs is byte" in text
    found, _ = changed(clean, tmp_path, flipped(GOOD, "request", b"Authorization: ", 3))
    assert cases_that_differ(found) == [GOOD]


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
    assert not any(case.other_cause for case in found.cases)


def test_a_secret_that_stands_in_judged_bytes_leaves_them_unjudged(tmp_path: Path) -> None:
    with ReferenceServer() as server:
        target = make_target(server.url, headers=("X-Api-Key: element-1-xxx",), timeout=1)
        path = made(tmp_path, target, chosen("P2/blob-follows-json[BYTES]", GOOD))
    found, text = said(path)
    assert found.exit_code == 2
    assert [case.id for case in found.cases if case.unjudged] == ["P2/blob-follows-json[BYTES]"]
    assert "masks" in text


# The page.


def test_a_page_of_an_edited_report_is_made_with_one_line_of_warning(
    clean: Path, tmp_path: Path, cli: Cli
) -> None:
    path = tmp_path / "report.json"
    path.write_text(clean.read_text())
    assert cli("report", path, code=0).err == ""
    path.write_text(clean.read_text().replace('"message":""', '"message":"x"', 1))
    printed = cli("report", path, code=0)
    assert printed.err.count("\n") == 1
    assert "was edited" in printed.err
    assert (tmp_path / "report.html").exists()


def test_a_report_with_other_draws_is_refused(tmp_path: Path) -> None:
    name = "O4/nothing-asked[FP64,json]"
    with MutantServer() as server:
        target = replace(make_target(server.url, timeout=5), seed=7)
        path = made(tmp_path / "old", target, [case for case in suite_cases() if case.id == name])
    assert not cases_that_differ(said(path)[0])
    with pytest.raises(ReportFileError, match="another version drew its values"):
        changed(path, tmp_path, lambda report: report.update(draws=1))
