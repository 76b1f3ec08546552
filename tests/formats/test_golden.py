"""Every format, word by word, of a handful of reports: tests/snapshots/formats.txt and others.
`pytest tests/formats/test_golden.py --rewrite-snapshots` writes the files anew."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import msgspec
import pytest
import xmlschema
from msgspec.structs import replace

from support.reports import TODAY, case, differing, exchange, expectation, passes, report_of
from support.responses import message_with, v2
from support.snapshots import Texts
from v2_conformance.formats import badge, github, junit
from v2_conformance.formats.html.page import render
from v2_conformance.formats.text.case import lines
from v2_conformance.formats.text.diff import as_markdown, as_text
from v2_conformance.formats.text.terminal import expectation_lines, gate_lines, summary_lines
from v2_conformance.pytest_plugin.html import verdict_html
from v2_conformance.report.diff import diff_reports
from v2_conformance.report.document import CaseResult, CitedDocument, ExpectedFailure, Report
from v2_conformance.report.expectations import Expectations, judge_expectations
from v2_conformance.report.tested import ClientInfo, Model, Relations, Selection
from v2_conformance.report.verdict.judged import Gate
from v2_conformance.report.verdict.summary import concluded
from v2_conformance.suite.causes import kinds
from v2_conformance.suite.causes.base import FirstDifference
from v2_conformance.suite.causes.causes import DidNotSurvive, NotKept
from v2_conformance.suite.client_lines import ClientResult, Line
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.wire.response import Ending
from v2_publishing.matrix.columns import column_of
from v2_publishing.matrix.page import render as render_matrix

JUNIT = Path(__file__).parent / "schemas" / "junit-10.xsd"
NOT_JSON = kinds.HeaderLengthNotJson(157, "not JSON", 158)
REFUSED = kinds.WrongStatus("200", 400, "no")
CRASHED = kinds.WrongStatus("4xx", 500, "no such thing")
PAPER = CitedDocument("The paper", "https://paper.example", "4.2", 3)
REQUEST = message_with(b"\x01\x02\x03\x04")
RESPONSE = v2({"outputs": []}, bytes(40), length=16)
STRAY = RESPONSE + b"more"


def few(*cases: CaseResult, **more: Any) -> Report:
    """A report on requirements with cases alone, whose words are not those of any catalogue."""
    whole = report_of(cases, suite_catalogue="0123456789abcdef", **more)
    names = {one.requirement for one in cases}
    said = {"statement": "It must.", "note": "A note.", "follows": "Because.", "cite": (PAPER,)}
    rows = (replace(r, title=f"Title of {r.id}", **said) for r in whole.requirements)
    return replace(whole, requirements=tuple(row for row in rows if row.id in names))


def of_relations(report: Report) -> Report:
    """A report of a run that asked any model, and what it could show."""
    verdict = replace(report.verdict, shown=("P2",), needs_identity=("D4", "E1"))
    return replace(report, relations=Relations(models=(), rtol=0, atol=0), verdict=verdict)


def failing(name: str, cause: Any, number: int = 1, **members: Any) -> Iterator[CaseResult]:
    return (case(f"{name}/x[{n}]", "fail", cause=cause, **members) for n in range(number))


DIED = case("R3/died", "fail", cause=DidNotSurvive(None, REFUSED, REFUSED, False))
GOOD = [case(f"{name}/x[0]") for name in ("P2", "P4", "P5", "H6", "R3", "S4")]
REPORTS = {
    "good": few(*GOOD),
    "troubled": few(
        case("P2/x[0]"),
        *failing("D1", NOT_JSON, 2),
        *failing("P5", NOT_JSON, 2),
        *failing("P4", REFUSED, level="SHOULD", blocks=None),
        *failing("H6", kinds.AcceptedInvalidRequest(200, "")),
        *failing(
            "B1",
            kinds.BodyNotJson(12, "at byte 3"),
            expected=ExpectedFailure("a known bug", "https://h.example/1"),
        ),
        *failing("R4", NotKept(63, 180, ("J4/a", "J4/b"), 54, CRASHED)),
        DIED,
        case("O1/x", "not_run", cause=kinds.KilledBy(DIED.id, "identity/INT32")),
        case("M1/x", "not_run", cause=kinds.RoleAbsent("trio", "404")),
        case("M2/x", "not_run", cause=kinds.RoleAbsent("mixed", "404")),
        case("D3/x", "not_run", cause=kinds.NoKnownGoodAnswer("identity/FP32", "500")),
        case("D8/x", "unsupported", cause=kinds.DatatypesUnsupported(("FP16",))),
        case("P8/x", "flaky"),
        case("P9/x", "error"),
        case("P3/x", "inconclusive"),
        case("O6/x", "disputed", "one reading"),
        absent={"trio": "status 404", "mixed": "status 404"},
        models={"identity/INT32": Model("mine", (), ())},
        unsupported=("FP16",),
        server=("Server", "10"),
    ),
    "lenient": few(
        *GOOD,
        case("H6/y", "fail", level="SHOULD", blocks=None),
        case("P2/y", "not_run", cause=kinds.RoleAbsent("mixed", "404")),
        case("P1/x", level="MUST"),
        profiles=("binary", "raw"),
        server=("Server", "9.9"),
    ),
    "warned": few(
        *GOOD[:-1], *failing("S4", kinds.WrongStatus("4xx", 200, ""), level="SHOULD", blocks=None)
    ),
    "stopped": few(*GOOD, complete=False, planned={"P2": 1, "P4": 9}),
    "partial": few(*GOOD, *failing("H7", CRASHED), left_out=["P3"]),
    "by relations": of_relations(few(*GOOD, models={"identity/INT32": Model("mine", (), ())})),
    "of a client": few(
        case(
            "K1/x",
            "fail",
            reported=ClientResult(lines=(Line(error="no", status=503),), ended="timeout"),
        ),
        *(case("K4/x"), case("K26/x", "fail"), case("K34/x", "unsupported")),
        profiles=("client",),
        client=ClientInfo(("client", "{url}"), 10.0),
    ),
}


def forms(name: str, report: Report) -> Iterator[tuple[str, str]]:
    """What each format makes of a report."""
    yield "terminal", "\n".join(summary_lines(report, Path("reports")))
    yield "summary.md", github.markdown(report, Path("reports"))
    yield "annotations", "\n".join(github.annotation_lines(report))
    yield "badge.json", badge.endpoint(report)
    gates = (Gate(), Gate("robust"), Gate(strict=True))
    yield "gates", "\n".join(line for gate in gates for line in gate_lines(report, gate))
    if name in ("troubled", "of a client"):
        yield "badge.svg", badge.svg(report)
        yield "junit.xml", junit.render(report).decode()
        yield "page", body_of(render(report))


def body_of(page: str) -> str:
    """What a page has without its scripts and blank lines."""
    body = re.sub(r"(?s)(<script[^>]*>).*?</script>", r"\1", page.partition("</head>")[2])
    return "\n".join(line.strip() for line in body.splitlines() if line.strip())


def test_each_format_of_a_report(texts: Texts) -> None:
    texts(
        "formats", {f"{form}, {n}": text for n, r in REPORTS.items() for form, text in forms(n, r)}
    )


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_jenkins_takes_junit_xml(report: Report) -> None:
    xmlschema.XMLSchema(JUNIT).validate(junit.render(report).decode())


def test_each_matrix_of_reports(texts: Texts) -> None:
    columns = {name: column_of(r, f"{name}.html") for name, r in REPORTS.items()}
    pages = (("good", "troubled", "lenient", "partial"), ("of a client",), ("good", "of a client"))
    made = {", ".join(names): render_matrix([(n, columns[n]) for n in names]) for names in pages}
    texts("matrix", {names: body_of(page) for names, page in made.items()})


def test_the_differences_of_reports(texts: Texts) -> None:
    good, troubled = REPORTS["good"], REPORTS["troubled"]
    stricter = tuple(replace(one, level="MUST") for one in troubled.requirements)
    elsewhere = replace(good, target=replace(good.target, url="http://proxy.example"))
    changed = replace(case("P2/x[0]", "fail", level="SHOULD"), content="ffff")
    suite = replace(good.suite, version="1.3.0", catalogue="bbbb")
    found = {
        "good, troubled": diff_reports(good, troubled),
        "troubled, good at another URL": diff_reports(troubled, elsewhere),
        "good, lenient": diff_reports(good, REPORTS["lenient"]),
        "good, stopped": diff_reports(good, REPORTS["stopped"]),
        "good, good of another suite": diff_reports(good, replace(good, suite=suite)),
        "good, changed": diff_reports(good, replace(good, cases=(changed, *good.cases[1:]))),
        "troubled, only MUSTs": diff_reports(troubled, replace(troubled, requirements=stricter)),
    }
    shown = {f"text: {name}": "\n".join(as_text(diff)) for name, diff in found.items()}
    shown |= {f"Markdown: {name}": "\n".join(as_markdown(diff)) for name, diff in found.items()}
    texts("diffs", shown)


def canaries(*wrong: Purpose) -> CaseResult:
    """A case whose known-good requests with these purposes were answered wrongly."""
    after = (Purpose.CANARY_SAME, Purpose.CANARY_FRESH)
    same, fresh = (REFUSED if one in wrong else None for one in after)
    cause = DidNotSurvive(same, fresh, None, case_passed=True)
    exchanges = [exchange(b"GET /", b"HTTP/1.1 200 OK", "known-good", one) for one in after]
    own = exchange(REQUEST, b"", ending=Ending.CLOSED, detail="reset", sent=10, reused=True)
    return case("R3/x", "fail", None, own, *exchanges, cause=cause if wrong else REFUSED)


AT = FirstDifference("OUT", "INT32", 4, 18, None, "74750077", "74757677", "1", "2")
SHOWN = {
    "wrong byte": differing(18, 32),
    "wrong byte of many": differing(2005),
    "nowhere": case(
        "D1/y", "fail", None, exchange(REQUEST, RESPONSE), cause=kinds.WrongValue(AT, 8, 1)
    ),
    "survived": canaries(),
    "died": canaries(Purpose.CANARY_FRESH),
    "lost its place": canaries(Purpose.CANARY_SAME, Purpose.CANARY_FRESH),
    "allowed": case("V2/x", "pass", "", exchange(REQUEST, STRAY, "note"), cite=(PAPER,)),
    "not run": case("D1/z", "not_run", "needs what D1/y killed"),
    "client": REPORTS["of a client"].cases[0],
    "client that died": case(
        "K1/y", "fail", reported=ClientResult(exit=-9, stderr="no", garbage="x: no JSON")
    ),
    "client that failed": case(
        "K1/z", "fail", reported=ClientResult(lines=(Line(outputs=()),), exit=3)
    ),
    "silent client": case("K2/x", "fail", reported=ClientResult(ended="unsaid")),
    "loud client": case("K2/y", "fail", reported=ClientResult(ended="flood")),
    "client that cannot": case(
        "K2/z", "pass", reported=ClientResult(lines=(Line(unsupported="raw"),), exit=0)
    ),
}


def test_each_kind_of_case(texts: Texts) -> None:
    report = few(*SHOWN.values())
    shown = {
        name: "\n".join(line.plain for line in lines(report, one, path="r.json"))
        for name, one in SHOWN.items()
    }
    texts("shown", shown)


def test_what_does_not_hold_of_expectations(texts: Texts) -> None:
    entries = (
        expectation("P5", cause={"kind": "header_length_not_json", "object_end": 1}),
        expectation("H6/x[0]", reason="TODO: write"),
        expectation("D1/x[9]", line=3),
        expectation("S4", line=4),
    )
    cases = REPORTS["troubled"].cases
    ids = {one.id: one.requirement for one in cases} | {"S4/x": "S4"}
    found = judge_expectations(Expectations("expect.yaml", entries), cases, ids, TODAY, Gate())
    said = expectation_lines("expect.yaml", found, words="not conformant")
    texts("expectations", {"expect.yaml": "\n".join(said)})


ROBUST, NOT_ROBUST = "conformant, robust", "conformant, not robust"
FAILED, INCOMPLETE = "not conformant", "incomplete run"
MODELS = "consistent, robust", "consistent, not robust", "not consistent"
STANDINGS = {ROBUST, NOT_ROBUST, FAILED, INCOMPLETE, *MODELS}
USUAL = "binary; without BF16"
SELECTED = [case("P2/x"), case("P5/x")]
PLAN = {"P2": 1, "P5": 1, "P8": 3}
LACKING = report_of(
    [
        *passes(case("D8/x", "unsupported", cause=kinds.DatatypesUnsupported(("FP16",)))),
        case("M1/plain"),
        case("M1/x", "unsupported", cause=kinds.RoleAbsent("trio", "absent")),
        *(case(f"W{n}/x") for n in range(1, 11)),
    ],
    profiles=("binary", "raw"),
    unsupported=("FP16",),
)
CHOSEN_AND_STOPPED = msgspec.structs.replace(
    report_of(outcomes={"P2": "fail"}, complete=False), selection=Selection(patterns=("P*",))
)
LACKS = "binary, raw; without FP16, BF16, the model trio; 1 requirement untested"


def of_models(**outcomes: str) -> Report:
    report = report_of(outcomes=outcomes)
    return concluded(msgspec.structs.replace(report, relations=Relations(())))


NEED = "relations between the answers of"
VERDICTS: dict[str, tuple[str, str, Report]] = {
    "whole": (ROBUST, USUAL, report_of()),
    "lacking": (ROBUST, LACKS, LACKING),
    "derived": (NOT_ROBUST, USUAL, report_of(outcomes={"H6": "fail"})),
    "failed": (FAILED, USUAL, report_of(outcomes={"P2": "fail"})),
    "stopped, failed": (FAILED, USUAL, report_of(outcomes={"P2": "fail"}, complete=False)),
    "stopped, not robust": (INCOMPLETE, USUAL, report_of(outcomes={"H6": "fail"}, complete=False)),
    "stopped, error": (INCOMPLETE, USUAL, report_of(outcomes={"P2": "error"}, complete=False)),
    "selection": (INCOMPLETE, USUAL, report_of([*SELECTED, case("P8/x", "fail")], planned=PLAN)),
    "models": (MODELS[0], NEED, of_models()),
    "models, derived": (MODELS[1], NEED, of_models(H6="fail", P4="fail")),
    "models, failed": (MODELS[2], NEED, of_models(P2="fail")),
    "failed selection, stopped": (INCOMPLETE, USUAL, concluded(CHOSEN_AND_STOPPED)),
}


def flat(text: str) -> str:
    return " ".join(unescape(re.sub("<[^>]*>", " ", text)).split())


@pytest.mark.parametrize("name", VERDICTS)
def test_all_name_the_verdict_and_its_claim_alike(name: str) -> None:
    words, claim, report = VERDICTS[name]
    older = msgspec.structs.replace(report.verdict, words="", claim="")  # as others wrote it
    properties = junit.suite_properties(report)
    for text in (
        f"{report.verdict.words} {report.verdict.claim}",
        f"{properties['v2_verdict']} {properties['v2_claim']}",
        flat(" ".join(summary_lines(report, Path("reports")))),
        flat(render(report)),
        flat(verdict_html(report)),
        flat(github.markdown(msgspec.structs.replace(report, verdict=older))),
        flat(render_matrix([("r", column_of(report, ""))])),
    ):
        assert words in text.lower()
        assert claim.lower() in text.lower()
        assert not {one for one in STANDINGS if one in text.lower()} - {words}
    message = json.loads(badge.endpoint(report))["message"]
    assert message.startswith(words)
    assert (claim in message) is report.verdict.good
