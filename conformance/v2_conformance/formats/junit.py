"""JUnit XML of a report, for CI services: a test for each case, in a class for each family."""

from __future__ import annotations

from collections import Counter
from xml.etree import ElementTree

from v2_conformance.formats.outcomes_shown import SKIPPED
from v2_conformance.report.document import CaseResult, Report
from v2_conformance.report.verdict.standing import claim, server_name, standing
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import families
from v2_conformance.terminal_safe_text import visible

_ERRORS = (Outcome.ERROR, Outcome.INCONCLUSIVE)
_FAILURES = (Outcome.FAIL, Outcome.FLAKY)


def render(report: Report) -> bytes:
    """Return the document. A failure at MAY, which never counts, and an expected one are skipped
    tests. Characters that XML cannot have are written as escapes."""
    cases = report.cases
    kinds = Counter(map(_kind, cases))
    counts = {
        "name": "v2-conformance",
        "tests": str(len(cases)),
        "failures": str(kinds["failure"]),
        "errors": str(kinds["error"]),
        "time": f"{report.duration_s:.3f}",
    }
    root = ElementTree.Element("testsuites", counts)
    # Only a suite may have the number of skipped tests, says Jenkins.
    own = {**counts, "skipped": str(kinds["skipped"]), "timestamp": visible(report.started)}
    suite = ElementTree.SubElement(root, "testsuite", own)
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in suite_properties(report).items():
        ElementTree.SubElement(properties, "property", {"name": name, "value": value})
    for case in cases:
        _add(suite, case)
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def suite_properties(report: Report) -> dict[str, str]:
    """Return the run's verdict and what it is about, which pytest's JUnit XML has too."""
    values = {
        "v2_verdict": standing(report).words,
        "v2_server": server_name(report),
        "v2_url": report.target.url,
        "v2_profiles": ", ".join(report.target.profiles),
        "v2_claim": claim(report),
        "v2_suite": f"{report.suite.name} {report.suite.version}",
        "v2_catalogue": report.suite.catalogue,
    }
    return {name: visible(value) for name, value in values.items()}


def _add(suite: ElementTree.Element, case: CaseResult) -> None:
    letter = case.requirement[:1]
    attributes = {
        # What CI services group tests by.
        "classname": visible(f"v2-conformance.{letter} {families().get(letter, '')}".rstrip()),
        "name": visible(case.id),
        "time": f"{case.duration_ms / 1000:.3f}",
    }
    test = ElementTree.SubElement(suite, "testcase", attributes)
    kind = _kind(case)
    if kind is not None:
        words = f"{case.grade} {case.outcome.words}: {case.message}"
        if case.expected is not None:
            words = f"expected: {case.expected.reason}; {words}"
        attributes = {"message": visible(words), "type": case.outcome.value}
        ElementTree.SubElement(test, kind, attributes)


def _kind(case: CaseResult) -> str | None:
    tolerated = case.expected is not None or case.level == "MAY"
    if case.outcome in SKIPPED or (case.outcome in _FAILURES and tolerated):
        return "skipped"
    if case.outcome in _ERRORS:
        return "error"
    return "failure" if case.outcome in _FAILURES else None
