"""Generated requests are judged again from their recorded entries, and forged ones are noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.reports import Document, case_of, read_document
from support.runs import CASES, cases_that_differ, changed, made, of_faulty, said, target_of
from support.servers import Start
from v2_conformance.cli.main import main
from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.suite.library import generated_case, suite_cases
from v2_conformance.suite.models import ModelContract
from v2_conformance.verifying.verification import verify

KILLED = "all_types"


@pytest.mark.parametrize("faults", [[], ["request-blobs-in-model-order"]])
def test_generated_requests_are_judged_again_from_their_entries(
    tmp_path: Path, faults: list[str]
) -> None:
    options = [word for fault in faults for word in ("--fault", fault)]
    main(["run", *options, "--case", "M7/generated", "--report-dir", str(tmp_path)])
    assert not cases_that_differ(verify(tmp_path / "report.json", suite_cases()))

    def change(report: Document) -> None:
        own = case_of(report, "M7/generated")["exchanges"][0]
        own["entry"]["request"]["id"] = "another"

    found, _ = changed(tmp_path / "report.json", tmp_path, change)
    assert cases_that_differ(found) == ["M7/generated"]


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run of nothing but generated requests."""
    folder = tmp_path_factory.mktemp("generated")
    return of_faulty(folder, cases=[generated_case()])


@pytest.mark.parametrize(
    "entry",
    [
        None,
        {},
        {"id": 5},
        {"id": "M7/generated", "why": 3, "model": "mixed", "request": {}, "expect": {}},
        {"axes": {"n": [1, 2]}},
        {"id": "P2/blob-follows-json[INT32]"},
        {"level": "MAY"},
        {"expect": {"outcome": "reject"}},
        {"model": "no/such-role"},
        {"request": {"inputs": [{"shape": ["${n}"]}]}},
    ],
    ids=str,
)
def test_what_is_no_entry_of_a_generated_request_is_noticed(
    generated: Path, tmp_path: Path, entry: Document | None
) -> None:
    def change(report: Document) -> None:
        own = case_of(report, "M7/generated")["exchanges"][0]
        own["entry"] = {**own["entry"], **entry} if entry else entry

    found, text = changed(generated, tmp_path, change)
    assert cases_that_differ(found) == ["M7/generated"]
    assert "the entry of a generated request is not one" in text


class _Silent(Behaviour):
    """It answers no inference request."""

    def serialize(
        self, response: Response, *, keep_open: bool, with_body: bool = True
    ) -> list[Buffer]:
        if response.status == 500:
            return []
        return super().serialize(response, keep_open=keep_open, with_body=with_body)

    def infer(self, model: ModelContract, request: Request) -> Response:
        return Response(500, (), ())


class _Raw(Behaviour):
    """It has only models for raw requests."""

    def handle(self, request: Request) -> Response:
        if "/models/" in request.target and "/models/raw_" not in request.target:
            return self.error(404, "no such model")
        return super().handle(request)


class _Dies(Behaviour):
    """A request with much white space kills its model."""

    dead = ""

    def infer(self, model: ModelContract, request: Request) -> Response:
        if b" " * 60 in bytes(request.body):
            type(self).dead = model.role
        if model.role == self.dead:
            return self.error(500, "dead")
        return super().infer(model, request)


@pytest.mark.parametrize(
    ("server", "outcome"), [(_Silent, "inconclusive"), (_Raw, "not_run"), (_Dies, "not_run")]
)
def test_generated_requests_that_were_not_sent_are_taken_as_recorded(
    server: type[Behaviour], outcome: str, tmp_path: Path, start: Start
) -> None:
    names = ["M7/generated", "H1/honoured[long,INT32]", *(["W1/*"] if server is _Raw else [])]
    chosen = [argument for name in names for argument in ("--case", name)]
    timeout = "0.3" if server is _Silent else "10"
    options = ["--profile", "raw", "--timeout", timeout, "--report-dir", str(tmp_path)]
    main(["run", start(server).url, *chosen, *options])
    found, text = said(tmp_path / "report.json")
    assert found.exit_code == 0, text
    report = read_document(tmp_path / "report.json")
    assert case_of(report, "M7/generated")["outcome"] == outcome


class _DiesOfGenerated(Behaviour):
    """A generated request kills its model, after a smaller one that was only answered badly."""

    asked = 0

    def infer(self, model: ModelContract, request: Request) -> Response:
        if model.role == "identity/INT8" and b'"outputs"' in bytes(request.body):
            return self.error(500, "not today")
        _DiesOfGenerated.asked += model.role == KILLED
        if model.role == KILLED and self.asked > 3:
            return self.error(500, "dead")
        return super().infer(model, request)


@pytest.mark.parametrize("workers", [1, 4])
def test_cases_hold_whose_model_a_generated_request_killed(
    workers: int, tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_DiesOfGenerated, "asked", 0)
    victim = CASES()["B6/prefix-into-the-next-tensor"]
    target = target_of(start(_DiesOfGenerated).url)
    path = made(tmp_path, target, [generated_case(), victim], workers=workers)
    found, text = said(path)
    assert found.exit_code == 0, text
    case = case_of(read_document(path), victim.id)
    assert case["cause"] == {"kind": "killed_by", "case": "M7/generated", "role": KILLED}
