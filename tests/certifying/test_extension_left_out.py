"""Servers that neither claim nor serve the extension, and those that only look like it."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest

from support.reports import Document
from support.runs import CASES, cases_that_differ, changed, made, said, target_of
from v2_conformance.certifying.relations import Asked, learned_plan
from v2_conformance.certifying.servers import Plan, plan_of, start
from v2_conformance.cli.reporting import exit_code_of
from v2_conformance.formats.badge import endpoint
from v2_conformance.formats.github import annotation_lines
from v2_conformance.formats.text.terminal import summary_lines
from v2_conformance.judging.extension import SHOWN_BY
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Rejected, Request, Response
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.document import NOT_CONFORMANT, NOT_IMPLEMENTED, Report
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
    folder: Path, url: str, *profiles: str, workers: int = 1, timeout: float = 3
) -> Report:
    """The report of a short run, of the cases that show the extension and some others."""
    begun = start(target_of(url, *profiles, timeout=timeout), Plan(SHORT, SHORT), folder)
    return begun.finish(workers=workers)


def unsent(report: Report) -> set[str]:
    """The requirements of cases that were not sent for lack of the extension."""
    return {c.requirement for c in report.cases if isinstance(c.cause, ExtensionLeftOut)}


@pytest.mark.parametrize(("workers", "profiles"), [(1, ()), (3, ("raw", "bf16"))])
def test_a_server_without_the_extension_is_told_so_once_and_asked_no_more(
    workers: int, profiles: tuple[str, ...], tmp_path: Path
) -> None:
    with MutantServer(LEFT_OUT) as server:
        report = report_of(tmp_path, server.url, *profiles, workers=workers)
    verdict = report.verdict
    assert verdict.words == NOT_IMPLEMENTED
    assert (verdict.conformant, verdict.robust, verdict.warnings) == (False, False, ())
    [reason] = verdict.reasons
    assert "GET /v2 does not list binary_tensor_data" in reason
    assert "with blobs got 415, and no response had binary data; plain JSON is served" in reason
    assert report.complete
    assert len(report.cases) == len(SHORT)
    assert unsent(report) == {"H6", "P3", "V1"}
    assert not any(c.exchanges for c in report.cases if isinstance(c.cause, ExtensionLeftOut))
    assert exit_code_of(report, Gate()) == 1
    assert not shown_causes(report)
    assert '"extension not implemented", "color": "59626d"' in endpoint(report)
    printed = "\n".join(summary_lines(report, tmp_path))
    assert printed.count("reason: ") == 1
    assert "FAIL" not in printed
    assert "EXTENSION NOT IMPLEMENTED" in printed
    assert len(list(annotation_lines(report))) == 1


def of(*faults: str) -> type[Behavior]:
    """The class of a server with these faults."""
    return type(mutated(faults))


class _HangsOnBlobs(of(*LEFT_OUT)):  # type: ignore[misc]
    """Hangs on the blobs of one model, or answers nothing more."""

    model, then = "identity_fp64", "hangs"

    def infer(self, model: ModelContract, request: Request) -> Response:
        if request.values(HEADER_LENGTH) and model.model == self.model:
            self.dead = self.then == "dies"
            time.sleep(0.6 if self.then == "hangs" else 0)
        if getattr(self, "dead", False):
            raise Rejected("no memory left", 500)
        return super().infer(model, request)  # type: ignore[no-any-return]


class _DiesOfBlobs(_HangsOnBlobs):
    model, then = "identity_bytes", "dies"


class _OnlyFp32(of(UNLISTED)):  # type: ignore[misc]
    """Serves blobs to a single model."""

    def infer(self, model: ModelContract, request: Request) -> Response:
        if request.values(HEADER_LENGTH) and model.model != "identity_fp32":
            raise Rejected("no blobs", 415)
        return super().infer(model, request)  # type: ignore[no-any-return]


class _RefusesAll(of(*LEFT_OUT)):  # type: ignore[misc]
    def infer(self, model: ModelContract, request: Request) -> Response:
        raise Rejected("out of order", 500)


class _OnlyRaw(of(UNLISTED, JSON)):  # type: ignore[misc]
    def infer(self, model: ModelContract, request: Request) -> Response:
        if request.values(HEADER_LENGTH) not in ([], ["0"]):
            raise Rejected("no blobs", 415)
        return super().infer(model, request)  # type: ignore[no-any-return]


class _BytesWithoutLength(of(UNLISTED, REFUSED)):  # type: ignore[misc]
    """Answers with blobs, but never says where they begin."""

    def response_header_length(self, text: bytes, blobs: list[bytes]) -> str | None:
        return None


JUDGED_BY_ALL_CASES = [
    of(REFUSED, JSON),  # it claims the extension
    of(UNLISTED, REFUSED),  # with JSON inputs outputs are binary
    of(UNLISTED, JSON),  # blobs are read
    of(UNLISTED, JSON, "blobs-read-as-zeros"),
    of(*LEFT_OUT, "errors-with-status-200"),
    *(of(UNLISTED, fault) for fault in ("fp16-takes-four-bytes", "octet-stream-refused")),
    of(*LEFT_OUT, "rejection-without-response"),
    *(_OnlyFp32, _RefusesAll, _HangsOnBlobs, _DiesOfBlobs, _OnlyRaw, _BytesWithoutLength),
]


@pytest.mark.parametrize("server", JUDGED_BY_ALL_CASES)
def test_a_server_that_does_any_of_it_meets_all_cases(
    server: type[Behavior], tmp_path: Path
) -> None:
    with ReferenceServer(lambda own: server(own)) as running:
        report = report_of(tmp_path, running.url, "raw", timeout=0.4)
    assert report.verdict.words == NOT_CONFORMANT
    assert report.verdict.implemented
    assert not unsent(report)


def test_a_report_holds_and_one_that_hides_an_accepted_blob_does_not(tmp_path: Path) -> None:
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
def test_a_case_left_out_without_need_is_found(faults: tuple[str, ...], tmp_path: Path) -> None:
    with MutantServer(faults) as server:
        path = made(tmp_path, target_of(server.url), SHORT)
    cause = ExtensionLeftOut()
    unsent = {"cause": msgspec.to_builtins(cause), "message": describe(cause), "exchanges": []}

    def forged(report: Document) -> None:
        for case in report["cases"]:
            if case["requirement"] not in SHOWN_BY and case["exchanges"]:
                case |= {"outcome": "not_run", **unsent}
        report["verdict"] |= {"implemented": False}

    found, text = changed(path, tmp_path, forged)
    assert found.exit_code == 1, text
    assert found.verdict.implemented
    assert "the report does not show that the server leaves the extension out" in text
    hidden = [case for case in SHORT if case.requirement not in SHOWN_BY]
    assert len(cases_that_differ(found)) == sum(isinstance(case, RequestCase) for case in hidden)


def test_a_run_about_any_model_says_so_too(tmp_path: Path) -> None:
    with MutantServer(LEFT_OUT) as server:
        target = target_of(server.url)
        plan = learned_plan(target, Asked(["identity_fp32"]))
        report = start(target, plan, tmp_path).finish()
    assert report.verdict.words == NOT_IMPLEMENTED
    assert report.verdict.consistent is False
    assert "H6" in unsent(report)
    found, text = said(tmp_path / "report.json")
    assert found.exit_code == 0, text
