"""report.html: it loads nothing, has every case, and stays below two megabytes."""

from __future__ import annotations

import random
from urllib.parse import quote

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.pages import Page, ids_of, rows_of, shown_in, unpacked
from support.reports import case, exchange, passes, report_of, row_of
from support.responses import message_with
from v2_conformance import public_address
from v2_conformance.formats.html.cases import listed, packed
from v2_conformance.formats.html.page import render
from v2_conformance.formats.shown import Shown
from v2_conformance.formats.templates import case_anchor, requirement_anchor
from v2_conformance.report.document import CitedDocument
from v2_conformance.suite.outcomes import Outcome, Purpose
from v2_conformance.suite.requirements import catalogue
from v2_conformance.wire.exchange import Body, Exchange


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
    unknown = row_of(id="Q1", outcome=Outcome.NOT_RUN)  # which this catalogue lacks
    report = msgspec.structs.replace(report, requirements=(*report.requirements, unknown))
    text = render(report)
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    assert {f"req-{requirement.id}" for requirement in report.requirements} <= set(page.ids)
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


def test_a_case_that_cites_links_its_sources_safely() -> None:
    paper = CitedDocument("The paper", "https://paper.example/#:~:text=a,b", "4.2", 3)
    unsafe = CitedDocument("Elsewhere", "javascript:alert(1)", "Here", None)
    failed = case("P5/x", "fail", "m", cite=(paper, unsafe))
    page = render(report_of(passes(failed)))
    (found,) = (r["cite"] for r in rows_of(page) if r["cite"])
    assert found == [["The paper", paper.url, "4.2, paragraph 3"], ["Elsewhere", "", "Here"]]
    assert page.count("The rule: <q>") == page.count("<q>") == 1, "its cause quotes the sentence"


def test_a_requirement_leads_to_its_page_on_the_site_if_that_is_public(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(public_address, "REPOSITORY", "OWNER/NAME")
    assert "/standard/" not in render(report_of(passes()))
    monkeypatch.setattr(public_address, "REPOSITORY", "someone/v2")
    monkeypatch.setattr(public_address, "SITE", "https://someone.github.io/v2/")
    assert 'href="https://someone.github.io/v2/standard/P5.html"' in render(report_of(passes()))
    for hostile in ('"><script>', "../x"):
        assert public_address.requirement_page(hostile) == ""


def noisy(size: int, noise: random.Random) -> Exchange:
    return exchange(message_with(noise.randbytes(size)), message_with(noise.randbytes(size)))


def test_a_huge_report_stays_below_two_megabytes_and_names_every_case() -> None:
    noise = random.Random(1)
    ids = [r.id for r in catalogue().values() if r.profile == "binary"]
    cases = [
        case(
            f"{ids[n % len(ids)]}/a-rather-long-name-{n}[FP32]",
            *("fail", '"<' * 1500, noisy(1000, noise), noisy(1000, noise)),
        )
        for n in range(2500)
    ]
    text = render(report_of(cases))
    assert 1_500_000 < len(text.encode()) < 2_000_000
    assert set(ids_of(text)) == {each.id for each in cases}
    records = shown_in(text)
    assert 300 < len(records) < 2500
    assert list(records) == ids_of(text)[: len(records)]
    assert all(record.exchanges for record in records.values())


def test_what_passed_is_packed_without_known_good_requests() -> None:
    long = msgspec.structs.replace(exchange(b"GET", b"a"), received=Body(bytes(51_200)))
    canary = exchange(b"known good", b"", "canary", Purpose.CANARY_SAME)
    passing = [
        case("D1/x", "pass", "", exchange(b"GET", b"b", "first"), canary),
        case("D2/z", "pass", ""),
        case("D2/y", "pass", "", long, exchange(b"c", b"d", "second \u202e")),
    ]
    records = shown_in(render(report_of(passing)))
    assert list(records) == ["D1/x", "D2/z", "D2/y"]
    assert records["D2/z"] == Shown()
    assert [one.title for one in records["D1/x"].exchanges] == ["first"]
    first, second = records["D2/y"].exchanges
    assert (first.messages[1].size, first.messages[1].parts) == (51_200, ())
    assert "`v2-conformance show` prints them" in first.messages[1].notes[0]
    assert second.title == "second \\u202e"


@given(st.lists(st.integers(0, 3000), max_size=60), st.integers(0, 200_000), st.booleans())
def test_packed_records_stay_in_room(sizes: list[int], room: int, noisy: bool) -> None:
    noise = random.Random(1)
    failing = [
        case(f"D1/{n}", "fail", "", exchange(noise.randbytes(size) if noisy else bytes(size)))
        for n, size in enumerate(sizes)
    ]
    report = report_of(failing)
    stream = packed(report, listed(report), room)
    assert len(stream) <= room
    rows, shown = unpacked(stream)
    assert [row["id"] for row in rows] == [each.id for each in failing[: len(rows)]]
    assert len(rows) == len(failing) or not shown


def test_failures_get_the_room_before_what_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("v2_conformance.formats.html.page._PAGE_BYTES", 500_000)
    noise = random.Random(1)
    many = [case(f"D1/p{n}", "pass", "", noisy(2000, noise)) for n in range(300)]
    text = render(report_of([*many, case("D1/late", "fail", "m", noisy(2000, noise))]))
    assert len(text) < 500_000
    records = shown_in(text)
    assert next(iter(records)) == "D1/late"
    late, early = (
        sum(len(run.lines) for run in records[name].exchanges[0].messages[0].parts[-1].runs)
        for name in ("D1/late", "D1/p0")
    )
    assert late > 3 * early
