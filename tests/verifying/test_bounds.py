"""What a forged report costs whoever verifies it: no bomb goes off, and nothing is done twice."""

from __future__ import annotations

import base64
import json
import tracemalloc
import zlib
from pathlib import Path

import pytest

from support.reports import Document, case_of, read_document
from support.small_suite import BAD, GOOD, MORE, SMALL, small_run
from v2_conformance.conversations.case import requests_of
from v2_conformance.conversations.steps import Known
from v2_conformance.errors import ReportFileError
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.files import document_digest
from v2_conformance.runs.targets.making import make_target
from v2_conformance.suite.cases import RequestCase
from v2_conformance.verifying.verification import Verification, verify
from v2_conformance.wire.encode.requests import Prepared

_MIB = 1 << 20


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a good server."""
    with ReferenceServer() as server:
        return small_run(tmp_path_factory.mktemp("good"), make_target(server.url, timeout=5))


def verified(report: Document, folder: Path) -> Verification:
    report["integrity"] = {"algorithm": "sha256", "digest": document_digest(report)}
    path = folder / "report.json"
    path.write_text(json.dumps(report))
    return verify(path, SMALL)


def bomb(coding: str) -> str:
    """A response that decodes to 72 MiB, less than the longest of all responses."""
    wbits = {"gzip": 31, "deflate": 15}[coding]
    packer = zlib.compressobj(9, zlib.DEFLATED, wbits)
    body = b"".join(packer.compress(b" " * _MIB) for _ in range(72)) + packer.flush()
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n\r\n"
    return base64.b64encode(head.encode() + body).decode()


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
@pytest.mark.long
def test_a_bomb_in_every_answer_takes_little_memory(
    coding: str, good: Path, tmp_path: Path
) -> None:
    report = read_document(good)
    response = bomb(coding)
    exchanges = [e for case in report["cases"] for e in case["exchanges"]]
    exchanges += [e for one in report["calibration"] for e in one["exchanges"]]
    for exchange in [*exchanges, *report["discovery"]]:
        exchange["response"] = response
    tracemalloc.start()
    try:
        found = verified(report, tmp_path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.exit_code == 1
    assert peak < 48 * _MIB + 8 * (tmp_path / "report.json").stat().st_size


def test_a_bomb_is_called_one(good: Path, tmp_path: Path) -> None:
    report = read_document(good)
    case_of(report, GOOD)["exchanges"][0]["response"] = bomb("gzip")
    found = verified(report, tmp_path)
    problems = {case.id: case.problem for case in found.cases if case.problem}
    assert "it decodes to more than 10" in str(problems[GOOD])


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of the cases whose requests are made again, as they are."""
    made: list[str] = []

    def noted(case: RequestCase, known: Known) -> list[Prepared]:
        made.append(case.id)
        return requests_of(case, known)

    monkeypatch.setattr("v2_conformance.conversations.case.requests_of", noted)
    return made


def test_cases_that_are_in_no_plan_are_not_made_again(
    good: Path, tmp_path: Path, made: list[str]
) -> None:
    report = read_document(good)
    for number, case in enumerate(report["cases"]):
        case["id"] = f"L1/sixty-four-mebibytes[{number}]"
    assert verified(report, tmp_path).exit_code == 1
    assert made == []


@pytest.mark.parametrize(
    "members",
    [
        {"headers": [["A", "b"]] * 2000},
        {"headers": [["A", "b" * (2 << 20)]]},
        {"host": "a" * (2 << 20)},
    ],
    ids=["many fields", "a long field", "a long host"],
)
def test_what_each_request_would_have_again_is_bounded(
    members: Document, good: Path, tmp_path: Path, made: list[str]
) -> None:
    report = read_document(good)
    report["target"].update(members)
    with pytest.raises(ReportFileError, match="so much in their head"):
        verified(report, tmp_path)
    assert made == []


def test_a_case_that_is_there_again_is_not_judged_again(
    good: Path, tmp_path: Path, made: list[str]
) -> None:
    report = json.loads(good.read_text())
    report["cases"] = [case_of(report, BAD), *[case_of(report, MORE)] * 2000]
    assert verified(report, tmp_path).exit_code == 1
    assert made == [BAD, MORE]
