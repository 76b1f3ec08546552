"""Reports that were forged with their digest computed again: what follows from bytes is derived, no
bomb goes off, and nothing is done twice."""

from __future__ import annotations

import base64
import copy
import json
import tracemalloc
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from support.reports import Document, case_of, read_document, reconcluded
from support.runs import words_of
from support.small_suite import BAD, CUBE, GOOD, MORE, SMALL, small_run
from v2_conformance.conversations.case import requests_of
from v2_conformance.conversations.steps import Known
from v2_conformance.errors import ReportFileError
from v2_conformance.report.files import document_digest
from v2_conformance.runs.targets.making import make_target
from v2_conformance.suite.cases import RequestCase
from v2_conformance.verifying.verification import Verification, verify
from v2_conformance.wire.encode.requests import Prepared
from v2_mutants.servers import MutantServer

GENERATED = "M7/generated"
Forgery = Callable[["Reports"], Document]
RUNS: Mapping[str, tuple[str, ...]] = {
    "good": (),
    "wrong": ("request-blobs-off-by-one",),  # wrong numbers everywhere
    "deadly": ("rejection-kills-model",),
    "untyped": ("error-is-plain-text",),  # only what is observed fails
}


@dataclass(frozen=True)
class Reports:
    """The reports of RUNS as documents, of which each forgery gets fresh copies."""

    paths: Mapping[str, Path]

    def __getattr__(self, name: str) -> Document:
        return read_document(self.paths[name])


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    """Each run once, each with a seed of its own."""
    paths: dict[str, Path] = {}
    for name, faults in RUNS.items():
        with MutantServer(faults) as server:
            target = replace(make_target(server.url, timeout=2), seed=len(paths))
            paths[name] = small_run(tmp_path_factory.mktemp(name), target)
    return Reports(paths)


def verified(report: Document, folder: Path) -> Verification:
    """What verifying says of a report with its digest computed again."""
    report["integrity"] = {"algorithm": "sha256", "digest": document_digest(report)}
    path = folder / "report.json"
    path.write_text(json.dumps(report))
    return verify(path, SMALL)


def bad(report: Document) -> list[Document]:
    """The cases that do not help a forger."""
    harmless = ("pass", "unsupported", "disputed")
    return [case for case in report["cases"] if case["outcome"] not in harmless]


def without_bad(report: Document, **members: Any) -> Document:
    """The report without those cases, of which its plan says nothing either."""
    for case in bad(report):
        report["cases"].remove(case)
    report["planned"] = dict(Counter(case["requirement"] for case in report["cases"]))
    return done(report, **members)


def done(report: Document, **members: Any) -> Document:
    """The report with these members, and the verdict that its cases amount to."""
    report.update(members)
    reconcluded(report)
    return report


def each_bad(report: Document, **members: Any) -> Document:
    """Every case that failed gets these members."""
    for case in bad(report):
        case.update(message="", **members)
    return done(report)


def at_first(report: Document) -> Document:
    """The path to the server is said to have lost the answers of every case that failed."""
    lost = {"kind": "connection_closed", "received": 0, "detail": ""}
    for case in bad(report):
        case["cause"] = {"kind": "failed_at_first", "first": lost, "again": case["cause"]}
    return each_bad(report)


def excused(report: Document, cause: Document, **target: Any) -> Document:
    """What the target claims excuses every case that failed."""
    report["target"].update(target)
    return each_bad(report, outcome="unsupported", cause=cause, exchanges=[])


def of_target(report: Document, **members: Any) -> Document:
    """The target of a report has these members."""
    report["target"].update(members)
    return done(report)


def server(report: Document, **members: Any) -> Document:
    return of_target(report, server={**report["target"]["server"], **members})


def masked(report: Document) -> Document:
    """What was wrong in the answers is said to be a secret."""
    report["target"]["masked"] = True
    for case in bad(report):
        for exchange in case["exchanges"]:
            head, _, body = base64.b64decode(exchange["response"]).partition(b"\r\n\r\n")
            stars = head + b"\r\n\r\n" + b"*" * len(body)
            exchange["response"] = base64.b64encode(stars).decode()
    return each_bad(report, outcome="pass", cause=None)


def absent(report: Document, role: str, case: str) -> Document:
    """A model is said to be absent, and its case to be excused by that."""
    report["target"]["models"].pop(role)
    report["target"]["absent"][role] = "no such model"
    cause = {"kind": "role_absent", "role": role, "reason": "no such model"}
    case_of(report, case).update(outcome="unsupported", cause=cause, message="", exchanges=[])
    return done(report)


def of_another_run(reports: Reports) -> Document:
    """What failed is replaced by the same cases of a good run, with requests to this server."""
    report, good = reports.wrong, reports.good
    hosts = [r["target"]["host"].encode() for r in (good, report)]
    for number, case in enumerate(report["cases"]):
        if case in bad(report):
            other = copy.deepcopy(case_of(good, case["id"]))
            for exchange in other["exchanges"]:
                request = base64.b64decode(exchange["request"]).replace(*hosts)
                exchange["request"] = base64.b64encode(request).decode()
            report["cases"][number] = other
    return done(report)


def without_canaries(report: Document) -> Document:
    """The known-good requests that show that a model died are left out."""
    for case in bad(report):
        case["exchanges"] = case["exchanges"][:1]
    return each_bad(report, outcome="pass", cause={"kind": "rejected", "status": 400})


def generated(report: Document) -> Document:
    """Of the generated requests, one is left."""
    case = case_of(report, GENERATED)
    case["exchanges"] = case["exchanges"][:1]
    return done(report)


def with_verdict(report: Document, **members: Any) -> Document:
    report["verdict"].update(members)
    return report


def other_rows(report: Document, **members: Any) -> Document:
    report["requirements"] = [{**row, **members} for row in report["requirements"]]
    return report


DATA = {"DATA": {"model": "m", "version": None, "inputs": ["I"], "outputs": ["O"], "pinned": False}}
INT32 = {"kind": "datatypes_unsupported", "datatypes": ["INT32"]}
EXACT = {"kind": "answered_exactly", "status": 200}
BINARY = {"kind": "profile_not_claimed", "profile": "binary"}
ROBUST: Document = {"conformant": True, "robust": True, "reasons": [], "warnings": []}
FORGERIES: Mapping[str, tuple[str, Forgery]] = {
    "another catalogue": (
        "cannot be confirmed here",
        lambda r: without_bad(r.wrong, suite={**r.wrong["suite"], "catalogue": "0123456789abcdef"}),
    ),
    "failures left out": ("EDITED the report plans other cases", lambda r: without_bad(r.wrong)),
    "a selection of what passed": (
        "EDITED the report plans other cases",
        lambda r: without_bad(r.wrong, selection={"patterns": ["R1"]}),
    ),
    "a passing case twice": (
        "EDITED the report has cases twice",
        lambda r: done(r.good, cases=[*r.good["cases"], case_of(r.good, BAD)]),
    ),
    "failures renamed": ("not in the plan", lambda r: each_bad(r.wrong, id="P2/other")),
    "failures are MAY": ("its level", lambda r: each_bad(r.wrong, level="MAY")),
    "failures have another content": ("its content", lambda r: each_bad(r.wrong, content="0")),
    "failures pass": ("say fail", lambda r: each_bad(r.wrong, outcome="pass", cause=None)),
    "failures failed at first alone": ("the report does NOT hold", lambda r: at_first(r.wrong)),
    "failures were read exactly": (
        "its level or what it blocks is not what its bytes show",
        lambda r: each_bad(r.wrong, level="SHOULD", blocks=None, cause=EXACT),
    ),
    "no first answers": ("no known-good request to", lambda r: done(r.good, calibration=[])),
    "what is observed passes": (
        "DIFFERS R2/observed",
        lambda r: each_bad(r.untyped, outcome="pass", cause=None),
    ),
    "failures were not sent": (
        "no exchange is recorded",
        lambda r: each_bad(r.wrong, outcome="unsupported", cause=BINARY, exchanges=[]),
    ),
    "INT32 is not claimed": ("DIFFERS", lambda r: excused(r.wrong, INT32, unsupported=["INT32"])),
    "binary is not claimed": ("no run can", lambda r: excused(r.wrong, BINARY, profiles=["raw"])),
    "the server's name": ("EDITED the server's name", lambda r: server(r.good, name="Other")),
    "the server's extensions": ("the server's ext", lambda r: server(r.good, extensions=["x"])),
    "the URL": ("EDITED the URL", lambda r: of_target(r.good, url="http://example.com")),
    "a role that no contract has": (
        "EDITED these models are not what their recorded metadata says: DATA",
        lambda r: of_target(r.good, models={**r.good["target"]["models"], **DATA}),
    ),
    "an absent model": (
        "EDITED these models are not what their recorded metadata says: cube/FP64",
        lambda r: absent(r.good, "cube/FP64", CUBE),
    ),
    "no discovery": ("EDITED the record of discovery", lambda r: done(r.good, discovery=[])),
    "no canaries": ("a fresh connection is not recorded", lambda r: without_canaries(r.deadly)),
    "another run": ("is not what the suite sends", of_another_run),
    "wrong bytes masked": ("what the report masks may be", lambda r: masked(r.wrong)),
    "one generated request": ("not all generated ones", lambda r: generated(r.good)),
    "only the verdict": ("EDITED the verdict", lambda r: with_verdict(r.wrong, **ROBUST)),
    "only its reasons": ("EDITED the verdict", lambda r: with_verdict(r.wrong, reasons=[])),
    "only the rows": ("EDITED the rows of these", lambda r: other_rows(r.wrong, outcome="pass")),
    "what is required": ("EDITED the rows of these", lambda r: other_rows(r.good, statement="x")),
    "why a case is tested": ("its why in the report", lambda r: each_bad(r.wrong, why="Because.")),
}


@pytest.mark.parametrize("name", RUNS)
def test_what_is_forged_here_holds_before(name: str, reports: Reports, tmp_path: Path) -> None:
    found = verified(getattr(reports, name), tmp_path)
    assert found.exit_code == 0, words_of(found)
    assert found.verdict.conformant is (name == "good")


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_refused(name: str, reports: Reports, tmp_path: Path) -> None:
    words, forge = FORGERIES[name]
    found = verified(forge(reports), tmp_path)
    assert words in words_of(found)
    unsure = ("cannot be confirmed here", "what the report masks may be")
    assert found.exit_code == (2 if words in unsure else 1)


@pytest.mark.parametrize("how", ["cut", "withheld"])
def test_a_cut_or_withheld_body_leaves_its_case_unconfirmed(
    how: str, reports: Reports, tmp_path: Path
) -> None:
    report = reports.good
    exchange = case_of(report, GOOD)["exchanges"][0]
    if how == "withheld":
        exchange["note"] = "(body withheld: it may have a secret in another form)"
    else:
        start = base64.b64decode(exchange["response"])[:99]
        report["bodies"] = [base64.b64encode(zlib.compress(start)).decode()]
        exchange["response"] = [0, 0, 99, 10**4, "0" * 64]
    found = verified(report, tmp_path)
    assert found.exit_code == 2, words_of(found)
    assert GOOD in [case.id for case in found.cases if case.unjudged]


def test_a_server_is_unconfirmed_if_its_name_is_withheld(reports: Reports, tmp_path: Path) -> None:
    report = reports.good
    report["discovery"][0]["note"] = "(body withheld: it may have a secret in another form)"
    found = verified(report, tmp_path)
    assert (found.exit_code, len(found.unconfirmed)) == (2, 1)
    assert "not judged again: the report: the record of discovery" in words_of(found)


@pytest.mark.parametrize(
    ("member", "hidden"),
    [("started", '"x"'), ("conformant", "true"), ("outcome", '"pass"'), ("response", '""')],
)
def test_a_member_that_is_there_twice_is_refused(
    member: str, hidden: str, reports: Reports, tmp_path: Path
) -> None:
    text = json.dumps(reports.good)
    key = f'"{member}": '
    path = tmp_path / "report.json"
    path.write_text(text.replace(key, f"{key}{hidden}, {key}", 1))
    with pytest.raises(ReportFileError, match=f"has a member twice: {member}") as refused:
        verify(path, SMALL)
    assert "\n" not in str(refused.value)


_MIB = 1 << 20


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
    coding: str, reports: Reports, tmp_path: Path
) -> None:
    report = reports.good
    response = bomb(coding)
    several = [case["exchanges"] for case in (*report["cases"], *report["calibration"])]
    for exchanges in (*several, report["discovery"]):
        for exchange in exchanges:
            exchange["response"] = response
    tracemalloc.start()
    try:
        found = verified(report, tmp_path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.exit_code == 1
    assert peak < 48 * _MIB + 8 * (tmp_path / "report.json").stat().st_size


def test_a_bomb_is_called_one(reports: Reports, tmp_path: Path) -> None:
    report = reports.good
    case_of(report, GOOD)["exchanges"][0]["response"] = bomb("gzip")
    found = verified(report, tmp_path)
    problems = {case.id: case.problem for case in found.cases if case.problem}
    assert "it decodes to more than 42" in str(problems[GOOD])


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of the cases whose requests are made again, as they are."""
    made: list[str] = []

    def noted(case: RequestCase, known: Known) -> list[Prepared]:
        made.append(case.id)
        return requests_of(case, known)

    monkeypatch.setattr("v2_conformance.conversations.case.requests_of", noted)
    return made


def test_cases_in_no_plan_are_not_made_again_and_others_once(
    reports: Reports, tmp_path: Path, made: list[str]
) -> None:
    report = json.loads(reports.paths["good"].read_text())
    unknown = [{**case, "id": f"L1/large[{n}]"} for n, case in enumerate(report["cases"])]
    report["cases"] = [*unknown, case_of(report, BAD), *[case_of(report, MORE)] * 2000]
    assert verified(report, tmp_path).exit_code == 1
    assert made == [BAD, MORE]


LONG = "b" * (2 << 20)


@pytest.mark.parametrize(
    "members",
    [{"headers": [["A", "b"]] * 2000}, {"headers": [["A", LONG]]}, {"host": LONG}],
    ids=["many fields", "a long field", "a long host"],
)
def test_what_each_request_would_have_again_is_bounded(
    members: Document, reports: Reports, tmp_path: Path, made: list[str]
) -> None:
    report = json.loads(reports.paths["good"].read_text())
    report["target"].update(members)
    with pytest.raises(ReportFileError, match="so much in their head"):
        verified(report, tmp_path)
    assert made == []
