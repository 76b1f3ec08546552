"""Servers that neither claim nor serve the extension, and those that only look like it."""

from __future__ import annotations

import time
from datetime import date
from pathlib import Path

import msgspec
import pytest

from support.reports import Document, expectation
from support.runs import CASES, cases_that_differ, changed, made, said, target_of
from v2_conformance.certifying.relations import Asked, start_relations
from v2_conformance.certifying.servers import Plan, plan_of, start
from v2_conformance.cli import exit_codes
from v2_conformance.formats.badge import endpoint
from v2_conformance.formats.github import annotation_lines
from v2_conformance.formats.text.terminal import summary_lines
from v2_conformance.judging.extension import SHOWN_BY
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Rejected, Request, Response
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.document import NOT_CONFORMANT, NOT_IMPLEMENTED, Report
from v2_conformance.report.expectation_updates import updated
from v2_conformance.report.expectations import Expectations, judge_expectations
from v2_conformance.report.verdict.judged import Gate
from v2_conformance.report.words import shown_causes
from v2_conformance.suite.cases import RequestCase
from v2_conformance.suite.causes.base import describe
from v2_conformance.suite.causes.kinds import ExtensionLeftOut
from v2_conformance.suite.models import ModelContract
from v2_mutants.servers import MutantServer, mutated

UNLISTED, REFUSED, JSON = "extension-not-listed", "header-length-refused", "outputs-always-json"
LEFT_OUT = (UNLISTED, REFUSED, JSON)
MORE = ("H6/not-a-number", "P3/", "V1/text-in-any-spelling", "R1/observed")
SHORT = [case for case in CASES().values() if case.requirement in SHOWN_BY]
SHORT += [case for case in CASES().values() if case.id.startswith(MORE)]


def report_of(
    folder: Path,
    url: str,
    *profiles: str,
    workers: int = 1,
    timeout: float = 3,
) -> Report:
    """The report of a short run, of the cases that show the extension and some others."""
    target = target_of(url, *profiles, timeout=timeout)
    begun = start(target, Plan(SHORT, SHORT), folder)
    return begun.finish(workers=workers)


def unsent(report: Report) -> set[str]:
    """The requirements of cases that were not sent for lack of the extension."""
    return {c.requirement for c in report.cases if isinstance(c.cause, ExtensionLeftOut)}


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("profiles", [(), ("raw", "bf16")], ids=str)
def test_a_server_without_the_extension_is_told_so_and_asked_no_more(
    workers: int, profiles: tuple[str, ...], tmp_path: Path
) -> None:
    with MutantServer(LEFT_OUT) as server:
        report = report_of(tmp_path, server.url, *profiles, workers=workers)
    assert report.verdict.standing == NOT_IMPLEMENTED
    assert not report.verdict.conformant
    assert not report.verdict.robust
    assert not report.verdict.warnings
    [reason] = report.verdict.reasons
    assert "GET /v2 does not list binary_tensor_data" in reason
    assert "with blobs got 415, and no response had binary data; plain JSON is served" in reason
    assert report.complete
    assert len(report.cases) == len(SHORT)
    assert unsent(report) == {"H6", "P3", "V1"}
    assert not any(c.exchanges for c in report.cases if isinstance(c.cause, ExtensionLeftOut))
    assert exit_codes.of_report(report, Gate()) == 1


def test_formats_say_it_once_instead_of_listing_failures(tmp_path: Path) -> None:
    with MutantServer(LEFT_OUT) as server:
        report = report_of(tmp_path, server.url)
    assert not shown_causes(report)
    assert '"extension not implemented", "color": "59626d"' in endpoint(report)
    printed = "\n".join(summary_lines(report, tmp_path))
    assert printed.count("reason: ") == 1
    assert "FAIL" not in printed
    assert "EXTENSION NOT IMPLEMENTED" in printed
    assert len(list(annotation_lines(report))) == 1


def of(*faults: str) -> type[Behaviour]:
    """The class of a server with these faults."""
    return type(mutated(faults))


class _OnlyFp32(of(UNLISTED)):  # type: ignore[misc]
    """Serves blobs to a single model."""

    def infer(self, model: ModelContract, request: Request) -> Response:
        if request.values(HEADER_LENGTH) and model.model != "identity_fp32":
            raise Rejected("no blobs", 415)
        return super().infer(model, request)  # type: ignore[no-any-return]


class _RefusesAll(of(*LEFT_OUT)):  # type: ignore[misc]
    def infer(self, model: ModelContract, request: Request) -> Response:
        raise Rejected("out of order", 500)


class _HangsOnBlobs(of(*LEFT_OUT)):  # type: ignore[misc]
    def infer(self, model: ModelContract, request: Request) -> Response:
        if request.values(HEADER_LENGTH) and model.model == "identity_fp64":
            time.sleep(0.6)
        return super().infer(model, request)  # type: ignore[no-any-return]


class _DiesOfBlobs(of(*LEFT_OUT)):  # type: ignore[misc]
    def infer(self, model: ModelContract, request: Request) -> Response:
        if request.values(HEADER_LENGTH) and model.model == "identity_bytes":
            self.dead = True
        if getattr(self, "dead", False):
            raise Rejected("no memory left", 500)
        return super().infer(model, request)  # type: ignore[no-any-return]


class _OnlyRaw(of(UNLISTED, JSON)):  # type: ignore[misc]
    def infer(self, model: ModelContract, request: Request) -> Response:
        if request.values(HEADER_LENGTH) not in ([], ["0"]):
            raise Rejected("no blobs", 415)
        return super().infer(model, request)  # type: ignore[no-any-return]


class _BytesWithoutLength(of(UNLISTED, REFUSED)):  # type: ignore[misc]
    """Answers with blobs, but never says where they begin."""

    def response_header_length(self, text: bytes, blobs: list[bytes]) -> str | None:
        return None


@pytest.mark.parametrize(
    "server",
    [
        of(REFUSED, JSON),  # it claims the extension
        of(UNLISTED, REFUSED),  # with JSON inputs outputs are binary
        of(UNLISTED, JSON),  # blobs are read
        of(UNLISTED, JSON, "blobs-read-as-zeros"),
        of(*LEFT_OUT, "errors-with-status-200"),
        of(UNLISTED, "fp16-takes-four-bytes"),
        of(UNLISTED, "octet-stream-refused"),
        _OnlyFp32,
        _RefusesAll,
        _HangsOnBlobs,
        _DiesOfBlobs,
        _OnlyRaw,
        _BytesWithoutLength,
        of(*LEFT_OUT, "rejection-without-response"),
    ],
)
def test_a_server_that_claims_or_does_anything_of_it_is_judged_by_all_cases(
    server: type[Behaviour], tmp_path: Path
) -> None:
    with ReferenceServer(lambda own: server(own)) as running:
        report = report_of(tmp_path, running.url, "raw", timeout=0.4)
    assert report.verdict.standing == NOT_CONFORMANT
    assert report.verdict.implemented
    assert not unsent(report)


def test_only_a_choice_of_cases_is_sent_as_chosen(tmp_path: Path) -> None:
    chosen = [case for case in SHORT if case.requirement in ("P2", "H6")]
    with MutantServer(LEFT_OUT) as server:
        report = start(target_of(server.url), Plan(SHORT, chosen), tmp_path).finish()
    assert report.verdict.implemented
    assert not unsent(report)


class TestVerifying:
    def test_a_report_holds_and_one_that_hides_an_accepted_blob_does_not(
        self, tmp_path: Path
    ) -> None:
        with MutantServer(LEFT_OUT) as server:
            start(target_of(server.url), plan_of(), tmp_path / "own").finish()
        found, text = said(tmp_path / "own" / "report.json")
        assert found.exit_code == 0, text
        assert "the verdict holds: EXTENSION NOT IMPLEMENTED" in text
        assert found.verdict.reasons == found.report.verdict.reasons

        def implemented(report: Document) -> None:
            report["verdict"] |= {"implemented": True, "standing": NOT_CONFORMANT}

        found, text = changed(tmp_path / "own" / "report.json", tmp_path, implemented)
        assert found.exit_code == 1, text
        assert "EDITED the verdict" in text

    @pytest.mark.parametrize("faults", [(UNLISTED,), (UNLISTED, JSON), (UNLISTED, REFUSED)])
    def test_a_case_that_was_left_out_without_need_is_found(
        self, faults: tuple[str, ...], tmp_path: Path
    ) -> None:
        with MutantServer(faults) as server:
            path = made(tmp_path, target_of(server.url), SHORT)

        def forged(report: Document) -> None:
            for case in report["cases"]:
                if case["requirement"] not in SHOWN_BY and case["exchanges"]:
                    cause = ExtensionLeftOut()
                    case |= {
                        "outcome": "not_run",
                        "cause": msgspec.to_builtins(cause),
                        "message": describe(cause),
                        "exchanges": [],
                    }
            report["verdict"] |= {"implemented": False}

        found, text = changed(path, tmp_path, forged)
        assert found.exit_code == 1, text
        assert found.verdict.implemented
        assert "the report does not show that the server leaves the extension out" in text
        assert len(cases_that_differ(found)) == sum(
            case.requirement not in SHOWN_BY and isinstance(case, RequestCase) for case in SHORT
        )


def test_a_run_about_any_model_says_so_too(tmp_path: Path) -> None:
    asked = Asked(["identity_fp32"])
    with MutantServer(LEFT_OUT) as server:
        report = start_relations(target_of(server.url), asked, tmp_path).finish()
    assert report.verdict.standing == NOT_IMPLEMENTED
    assert report.verdict.consistent is False
    assert "H6" in unsent(report)
    found, text = said(tmp_path / "report.json")
    assert found.exit_code == 0, text


def test_known_failures_are_those_of_the_cases_that_were_sent(tmp_path: Path) -> None:
    with MutantServer(LEFT_OUT) as server:
        report = report_of(tmp_path, server.url)
    ids = {case.id: case.requirement for case in SHORT}
    new = updated(Expectations(""), report.cases, ids)
    for entry in new.added:
        assert {*entry.requirements, *entry.case.split("/")[:1]} - {""} <= SHOWN_BY
    known = Expectations("known", new.added)
    assert judge_expectations(known, report.cases, ids, date.min, Gate()).good
    entry = expectation("H6", reason="It was known.")
    judged = judge_expectations(Expectations("old", (entry,)), report.cases, ids, date.min, Gate())
    assert judged.untried == (entry,)
