"""report.html: whole, safe against what a server wrote, and true to report.json."""

from __future__ import annotations

import random
from urllib.parse import quote

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.pages import Page, ids_of, rows_of, shown_in
from support.reports import case, exchange, passes, report_of, row_of
from support.responses import message_with
from v2_conformance import public_address
from v2_conformance.formats.html.page import render
from v2_conformance.formats.templates import case_anchor, requirement_anchor
from v2_conformance.report.document import CitedDocument, OverallVerdict, Report, RequirementResult
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.suite.requirements import catalogue, catalogue_version
from v2_conformance.terminal_safe_text import visible
from v2_conformance.wire.response import Ending

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u202e\x00"


def with_requirements(report: Report, *requirements: RequirementResult) -> Report:
    return msgspec.structs.replace(report, requirements=requirements)


def test_a_good_report_says_what_it_is_about() -> None:
    page = Page(render(report_of(passes())))
    assert page.title == "Server 9.8.7: conformant, robust · V2 binary tensor data"
    for words in (
        "Server 9.8.7", "conformant, robust", "2025-01-02 02:04 UTC", "1 min 15 s, run complete",
        "v2-conformance 1.2.3", catalogue_version(), "http://server.example:8000",
        f"{len(passes())} cases by outcome",
    ):  # fmt: skip
        assert words in page.words
    assert "Incomplete" not in page.words
    assert "did not pass" not in page.words


def test_it_loads_nothing() -> None:
    text = render(report_of(passes()))
    page = Page(text)
    assert page.policy.startswith("default-src 'none'; ")
    assert "src" not in page.attributes
    assert "@import" not in text
    assert "url(" not in text
    assert page.tags["link"] == 1  # the empty icon, so that no browser asks for one
    outside = {link for link in page.links if not link.startswith(("#", "?level="))}
    assert all(link.startswith("https://") for link in outside)


def test_every_anchor_is_there_once_and_every_link_leads_somewhere() -> None:
    cases = passes(
        case("P5/x[a,b]", "fail", "wrong"),
        case("S2/y[1]", "not_run", "no model"),
        case("W1/raw", "unsupported", "not claimed"),
    )
    report = report_of(cases)
    text = render(report)
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    for requirement in report.requirements:
        assert f"req-{requirement.id}" in page.ids
    assert sorted(ids_of(text)) == sorted(entry.id for entry in report.cases)
    of_cases = {case_anchor(name) for name in ids_of(text)}
    inside = {link[1:] for link in page.links if link.startswith("#")}
    assert inside & of_cases
    assert inside <= set(page.ids) | of_cases


@given(st.text(max_size=20), st.text(max_size=20))
def test_anchors_differ_and_need_no_quoting(one: str, two: str) -> None:
    assert (case_anchor(one) == case_anchor(two)) == (one == two)
    assert quote(case_anchor(one), safe="/,:+=()~") == case_anchor(one)
    assert requirement_anchor("P5") == "req-P5"


def test_hostile_strings_are_text() -> None:
    body = HOSTILE.encode()
    answer = b"HTTP/1.1 500 X\r\nX: " + body + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    bad = case(
        "P5/x[<script>alert(1)</script>]", "fail", HOSTILE,
        exchange(message_with(body, name=HOSTILE), answer, HOSTILE, detail=HOSTILE),
        exchange(answer, message_with(body), HOSTILE, ending=Ending.MALFORMED),
    )  # fmt: skip
    report = report_of(
        passes(bad, case("S2/x", "not_run", HOSTILE), case("D5/x", "pass", HOSTILE)),
        server=(HOSTILE, HOSTILE),
        extensions=[HOSTILE],
        url=f"javascript:alert(1){HOSTILE}",
        absent={HOSTILE: HOSTILE},
        unsupported=(HOSTILE,),
        suite_version=HOSTILE,
        suite_catalogue=HOSTILE,
        started=HOSTILE,
        verdict=OverallVerdict(False, False, (HOSTILE, "no MUST case passed"), (HOSTILE,)),
    )
    text = render(report)
    page, plain = Page(text), Page(render(report_of(passes())))
    assert "<script>alert" not in text
    assert "\u202e" not in text
    assert "\x00" not in text
    assert page.tags["script"] == plain.tags["script"] == 2
    assert page.tags["img"] == 0
    assert not [name for name in page.attributes if name.startswith("on")]
    assert not [link for link in page.links if not link.startswith(("#", "?", "https://"))]
    assert page.text.count("<script>alert(1)</script>") > 15
    assert visible(HOSTILE) in {row["message"] for row in rows_of(text)}
    assert "alert(1)</script>\"'><img src=x onerror=alert(1)>\\u202e\\x00" in page.text


def test_lone_surrogates_do_not_break_the_file() -> None:
    # No report.json can have them, but reports are made before they are written.
    whole = report_of(passes(case("P5/x", "fail", "m")))
    bad = msgspec.structs.replace(whole.cases[-1], id="P5/x\ud800", message="\udfff")
    report = msgspec.structs.replace(whole, cases=(*whole.cases[:-1], bad), started="\ud800")
    render(report).encode("utf-8")


def test_a_case_that_cites_links_its_sources_safely() -> None:
    paper = CitedDocument("The paper", "https://paper.example/#:~:text=a,b", "4.2", 3)
    unsafe = CitedDocument("Elsewhere", "javascript:alert(1)", "Here", None)
    cases = [
        case("V2/x", "fail", "m", cite=(paper, unsafe)),
        case("V2/y", "fail", "m", cite=(paper,)),
    ]
    rows = rows_of(render(report_of(passes(*cases))))
    assert {row["id"]: row["cite"] for row in rows if row["cite"]} == {
        "V2/x": [["The paper", paper.url, "4.2, paragraph 3"], ["Elsewhere", "", "Here"]],
        "V2/y": [["The paper", paper.url, "4.2, paragraph 3"]],
    }


def test_requirements_are_shown_as_their_report_states_them() -> None:
    whole = report_of(passes())
    rfc = "https://www.rfc-editor.org/rfc/rfc9112.html#section-6.1"
    row = msgspec.structs.replace(
        whole.requirements[0],
        title="A title of then",
        statement="What it stated.",
        note="A note.",
        follows="As it follows.",
        cite=(
            CitedDocument("RFC 9112: HTTP/1.1", rfc, "6.1", 3),
            CitedDocument("Elsewhere", "javascript:alert(1)", "Here", None),
        ),
    )
    page = Page(render(with_requirements(whole, row, *whole.requirements[1:])))
    for words in ("A title of then", "What it stated.", "Note: A note.", "As it follows.",
                  "RFC 9112: HTTP/1.1, section 6.1, paragraph 3", "Elsewhere, Here"):  # fmt: skip
        assert words in page.words
    assert rfc in page.links
    assert not [link for link in page.links if link.startswith("javascript")]


def test_requirements_that_this_catalogue_lacks_are_shown() -> None:
    whole = report_of(passes())
    unknown = row_of(id="Q1", outcome=Outcome.NOT_RUN)
    page = Page(render(with_requirements(whole, *whole.requirements, unknown)))
    assert "req-Q1" in page.ids
    assert "Q · Other" in page.words


def test_cases_that_did_not_run_are_grouped_by_reason() -> None:
    cases = [case(f"P5/x[{n}]", "not_run", "the role identity/bf16 is absent") for n in range(40)]
    page = Page(render(report_of(passes(*cases))))
    assert page.words.count("the role identity/bf16 is absent") == 1
    assert "40 cases: the role identity/bf16 is absent" in page.words


def test_a_huge_report_stays_below_two_megabytes_and_names_every_case() -> None:
    noise = random.Random(1).randbytes
    ids = [r.id for r in catalogue().values() if r.profile == "binary"]
    cases = [
        case(
            f"{ids[n % len(ids)]}/a-rather-long-name-{n}[FP32]", "fail", '"<' * 1500,
            *(exchange(message_with(noise(1000)), message_with(noise(1000))) for _ in range(2)),
        )
        for n in range(2500)
    ]  # fmt: skip
    text = render(report_of(cases))
    assert 1_500_000 < len(text.encode()) < 2_000_000
    assert set(ids_of(text)) == {each.id for each in cases}
    records = shown_in(text)
    assert 300 < len(records) < 2500
    assert list(records) == ids_of(text)[: len(records)]
    assert all(record.exchanges for record in records.values())


def test_without_its_script_the_page_says_what_to_do_and_what_is_wrong() -> None:
    text = render(report_of(passes(case("P5/x", "fail", "an unusual word"))))
    words = Page(text).words
    assert "v2-conformance show report.json CASE" in words
    assert "an unusual word" in words  # the case to look at first
    assert 'id="filter" role="search" aria-label="Requirements and cases" hidden' in text


def test_a_requirement_leads_to_its_page_on_the_site_if_that_is_public(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(public_address, "REPOSITORY", "OWNER/NAME")
    assert "/standard/" not in render(report_of(passes()))
    monkeypatch.setattr(public_address, "REPOSITORY", "someone/v2")
    monkeypatch.setattr(public_address, "SITE", "https://someone.github.io/v2/")
    assert 'href="https://someone.github.io/v2/standard/P5.html"' in render(report_of(passes()))
    assert public_address.requirement_page('"><script>') == ""
    assert public_address.requirement_page("../x") == ""
