"""What `verify` says of other catalogues, files that are cut off or hostile, and secrets."""

from __future__ import annotations

import base64
import copy
import json
from pathlib import Path
from typing import Any

import pytest

from support.reports_edited import (
    BAD,
    CASES,
    GOOD,
    LENGTH,
    SECRET,
    Report,
    Start,
    case_of,
    changed,
    differing,
    flipped,
    made,
    of_faulty,
    said,
)
from support.runs import chosen
from v2_conformance.cli.main import main
from v2_conformance.engine.target import make_target
from v2_conformance.errors import ReportFileError
from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.exchange import Request, Response
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.recorder import concluded
from v2_conformance.suite.models import ModelContract
from v2_conformance.verifying.verification import verify


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a good server."""
    return of_faulty(tmp_path_factory.mktemp("clean"))


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


class _Silent(Behaviour):
    """It answers no inference request."""

    def serialise(
        self, response: Response, *, keep_open: bool, with_body: bool = True
    ) -> list[Buffer]:
        if response.status == 500:
            return []
        return super().serialise(response, keep_open=keep_open, with_body=with_body)

    def infer(self, model: ModelContract, request: Request) -> Response:
        return Response(500, (), ())


class _Raw(Behaviour):
    """It has only models for raw requests."""

    def handle(self, request: Request) -> Response:
        if "/models/" in request.target and "/models/raw_" not in request.target:
            return self.error(404, "no such model")
        return super().handle(request)


class _Dies(Behaviour):
    """A request with the id x kills its model."""

    dead = ""

    def infer(self, model: ModelContract, request: Request) -> Response:
        if b'"id":"x"' in bytes(request.body):
            type(self).dead = model.role
        if model.role == self.dead:
            return self.error(500, "dead")
        return super().infer(model, request)


@pytest.mark.parametrize(
    ("server", "outcome", "believed"),
    [
        (_Silent, "inconclusive", "answered no known-good request"),
        (_Raw, "not_run", "discovery found their model absent"),
        (_Dies, "not_run", "what another case killed stayed dead"),
    ],
)
def test_generated_requests_that_were_not_sent_are_believed_and_leave_no_counterexample(
    server: type[Behaviour], outcome: str, believed: str, tmp_path: Path, start: Start
) -> None:
    names = ["M7/generated", "H1/honoured[short,INT32]", *(["W1/*"] if server is _Raw else [])]
    chosen = [argument for name in names for argument in ("--case", name)]
    timeout = "0.3" if server is _Silent else "10"
    options = ["--profile", "raw", "--timeout", timeout, "--report-dir", str(tmp_path)]
    main(["run", start(server).url, *chosen, *options])
    found, text = said(tmp_path / "report.json")
    assert found.exit_code == 0, text
    assert believed in text
    report = json.loads((tmp_path / "report.json").read_text())
    assert case_of(report, "M7/generated")["outcome"] == outcome
    assert not (tmp_path / "counterexample.yaml").exists()


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
