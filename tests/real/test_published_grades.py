"""What is published of a report says no more of its server than the report's own cases do.

The grades, what blocks, and what is lost are counted here from the cases and the verdict of each
report.json.gz, and looked for in every page and table about it. The pages of a report that is
outdated say nothing of what it found.
"""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from functools import cache
from typing import Any

import pytest

from publish import FRONT_PAGE, README, REPORTS
from v2_conformance.report.document import Report
from v2_conformance.report.files import PACKED_REPORT, load_report
from v2_conformance.report.verdict.summary import concluded
from v2_conformance.suite.outcomes import FAILED, Outcome
from v2_conformance.suite.requirements import GRADES

NAMES = sorted(path.parent.name for path in REPORTS.glob(f"*/{PACKED_REPORT}"))
_REASON = re.compile(r"MUST \(blocks (conformant|robust)\) (\S+) (failed|was flaky)\b")
_GRADE = r"MUST \(blocks (?:conformant|robust)\)|SHOULD|MAY|DISPUTED"
every_report = pytest.mark.parametrize("name", NAMES)


@cache
def report_of(name: str) -> Report:
    return load_report(REPORTS / name / PACKED_REPORT)


@cache
def index() -> dict[str, Any]:
    found = json.loads((REPORTS / "index.json").read_text("utf-8"))
    return {entry["id"]: entry for entry in found["reports"]}


def is_confirmed(name: str) -> bool:
    """False if the pages say nothing of what it found."""
    return bool(index()[name]["confirmed"])


def shown_grades(name: str) -> dict[str, str]:
    """What `failed_grades` returns of what the pages show."""
    return failed_grades(report_of(name)) if is_confirmed(name) else {}


def text_of(path: str) -> str:
    """The words of a page, as a reader sees them."""
    page = (REPORTS / path).read_text("utf-8").partition("<body")[2]
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


def failed_grades(report: Report) -> dict[str, str]:
    """Each requirement with a failed case, and the strictest grade of these."""
    found: dict[str, set[str]] = {}
    for case in report.of(*FAILED):
        found.setdefault(case.requirement, set()).add(case.grade)
    return {name: min(grades, key=GRADES.index) for name, grades in found.items()}


def blocked_by(report: Report, blocks: str) -> list[str]:
    """The requirements in the reasons of the verdict, as this suite gives them, that block this."""
    found = map(_REASON.match, concluded(report).verdict.reasons)
    return [match[2] for match in found if match is not None and match[1] == blocks]


def section_of(name: str) -> str:
    """What reports/README.md says of a report."""
    sections = README.read_text("utf-8").split("\n## ")
    return next(one for one in sections if f"({name}/report.html)" in one)


def graded(listing: str) -> dict[str, str]:
    """Each requirement in a listing such as "MUST (blocks robust) H6 H7, SHOULD H8", and its
    grade."""
    found = re.finditer(rf"({_GRADE})((?: [A-Z][0-9]+\b)+)", listing)
    return {key: match[1] for match in found for key in match[2].split()}


def costs(report: Report) -> Counter[str]:
    """How many MUST requirements fail, by the kind of requests that show it."""
    sent = "requests" if report.target.client is None else "responses"
    conformant, robust = (set(blocked_by(report, blocks)) for blocks in ("conformant", "robust"))
    found = {f"from correct {sent}": conformant, f"from malformed {sent}": robust - conformant}
    return Counter({kind: len(names) for kind, names in found.items() if names})


def counted_costs(words: str) -> Counter[str]:
    """The numbers in a verdict's costs, by their part."""
    parts = re.findall(r"(from \w+ \w+): ([^;|]*)", words)
    return Counter({part: sum(map(int, re.findall(r"\((\d+)\)", said))) for part, said in parts})


@every_report
def test_the_readme_names_the_grades_of_failed_cases(name: str) -> None:
    report = report_of(name)
    grades = failed_grades(report)
    rows = re.findall(r"(?m)^\| (.*?) \| ", section_of(name))
    printed = {key: grade for row in rows for key, grade in graded(row).items()}
    assert {key: grade for key, grade in printed.items() if grade != "DISPUTED"} == {
        key: grade for key, grade in grades.items() if key in printed
    }
    if report.verdict.implemented:
        assert grades.keys() <= printed.keys()


@every_report
def test_the_front_page_names_what_the_verdict_says_blocks_conformant(name: str) -> None:
    report = report_of(name)
    if report.target.client is not None:
        return
    (row,) = re.findall(
        rf"(?m)^\| \[.*\]\(reports/{name}/report.html\) \| (.*)$", FRONT_PAGE.read_text()
    )
    assert row.split(" | ")[1].removesuffix("|").split() == blocked_by(report, "conformant")


@every_report
def test_every_verdict_counts_every_failed_must(name: str) -> None:
    report, site = report_of(name), index()[name]
    wanted = costs(report) if report.verdict.implemented else Counter()
    heading = section_of(name).splitlines()[0]
    assert counted_costs(heading) == wanted
    if not is_confirmed(name):
        wanted = Counter()
    told = {
        "badge.json": json.loads((REPORTS / name / "badge.json").read_text())["message"],
        "badge.svg": (REPORTS / name / "badge.svg").read_text("utf-8").rpartition("<text")[2],
        "report.html": text_of(f"{name}/report.html").partition("What it costs:")[2][:400],
    }
    for where, words in told.items():
        words = words.partition("; of ")[0].partition(" MUST")[0]
        assert counted_costs(words) == wanted, where
    cards = ["index.html" if site["kind"] == "server" else "clients.html"]
    products = json.loads((REPORTS / "index.json").read_text("utf-8"))["products"]
    cards += [one["page"] for one in products if name in one["reports"]]
    costs_told = f"Costs {heading.partition('; ')[2]} MUST"
    for card in cards if wanted else ():
        assert costs_told in text_of(card), card


@every_report
def test_index_json_has_the_grades_of_failed_cases(name: str) -> None:
    report, site = report_of(name), index()[name]
    grades = shown_grades(name)
    rows = {row.id for row in report.requirements}
    assert site.get("grades", {}) == {key: grade for key, grade in grades.items() if key in rows}
    for key, outcome in site["requirements"].items():
        assert (outcome in FAILED) == (key in grades), key
    by_level: dict[str, set[str]] = {}
    for case in report.of(*FAILED) if grades else ():
        by_level.setdefault(case.level, set()).add(case.requirement)
    for level, count in site["levels"].items():
        assert set(count["failed"]) == by_level.get(level, set()), level


@every_report
def test_the_page_shows_requirements_with_the_grades_of_failed_cases(name: str) -> None:
    grades = shown_grades(name)
    page = (REPORTS / name / "report.html").read_text("utf-8")
    rows = re.findall(
        r'<tr role="row" id="req-(\w+)" data-outcome="(\w+)".*?<span class="level">([^<]*)<',
        page,
        re.DOTALL,
    )
    assert {key: grade for key, outcome, grade in rows if outcome in FAILED} == grades
    assert {key for key, outcome, _ in rows if outcome == Outcome.PASS}.isdisjoint(grades)


@every_report
def test_the_page_shows_causes_by_what_they_block(name: str) -> None:
    page = (REPORTS / name / "report.html").read_text("utf-8")
    causes = page.partition('<h2 id="causes">')[2].partition("</section>")[0]
    found = re.findall(r'<span class="level">([^<]*)</span>', causes)
    assert found == sorted(found, key=GRADES.index)
    if report_of(name).verdict.implemented:
        assert found[:1] == sorted(set(shown_grades(name).values()), key=GRADES.index)[:1]


@every_report
def test_the_matrix_shows_requirements_at_the_levels_of_failed_cases(name: str) -> None:
    report, site = report_of(name), index()[name]
    if not report.verdict.implemented:
        return
    matrix = REPORTS / ("index.html" if site["kind"] == "server" else "clients.html")
    cells = re.findall(
        rf'<a href="{name}/report.html#req-(\w+)"><span class="mark o-(\w+) m-(\w+)">.*?</td>',
        matrix.read_text("utf-8"),
        re.DOTALL,
    )
    failed = {key: level for key, outcome, level in cells if outcome in FAILED}
    assert failed == {key: grade.split()[0] for key, grade in shown_grades(name).items()}


@every_report
def test_ages_of_a_report_agree_between_pages(name: str) -> None:
    products = json.loads((REPORTS / "index.json").read_text("utf-8"))["products"]
    pages = [one["page"] for one in products if name in one["reports"]]
    ages = re.compile(r'data-age="([^"]*)"')
    (day,) = ages.findall((REPORTS / name / "report.html").read_text("utf-8"))
    for page in (*pages, "index.html" if index()[name]["kind"] == "server" else "clients.html"):
        assert day in ages.findall((REPORTS / page).read_text("utf-8")), page
