"""report.html in a real browser: filters, links, keys, cases once they are opened, hostile text,
narrow screens, paper, and axe-core, which finds nothing."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest

from support.axe import violations
from support.browser import Browser, choose, in_view, opened, shown, until, until_in_view
from support.pages import element_of, page_of_cases, written_page
from support.reports import case, differing, exchange, passes, report_of
from support.responses import message_with, v2
from v2_conformance.formats.templates import case_anchor
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.suite.requirements import catalogue
from v2_conformance.wire.response import Ending

HOSTILE = (
    "</script></style><img src=x onerror=\"document.title='owned'\"><svg onload=alert(1)>"
    "\x1b[31m\u202eevil\u202c\u200b ]]> --> {{ 7*7 }}"
)
OWN = exchange(message_with(b"\x01\x02\x03\x04", name=HOSTILE), HOSTILE.encode(), HOSTILE)
ODD = (
    "P8/a b[x,y]", "P8/a(b)[~5b]", "P8/ü-€-😀[1]", "P8/%41[1]", "P8/<b>\"'&[1]", "P8/#?[1]",
    "P8/__proto__",
)  # fmt: skip


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a page in which P5 and D1 fail, a role is absent and a profile not claimed."""
    report = report_of(
        passes(
            case("P5/wrong[FP32]", "fail", HOSTILE, OWN),
            *(case(f"D1/off[{n}]", "fail", "an unusual word: zyzzyva", OWN) for n in range(40)),
            case("S2/gone[1]", "not_run", HOSTILE),
            case("W1/raw[1]", "unsupported", "not claimed"),
        ),
        server=(HOSTILE, "1"),
        absent={"identity/" + "x" * 300: HOSTILE},
    )
    return written_page(tmp_path_factory.mktemp("page"), report)


def check_calm(browser: Browser, seen: str) -> None:
    """Raise unless hostile text was seen as text, and nothing was made of it."""
    assert "</script></style><img src=x onerror=" in seen
    assert "\\x1b[31m\\u202eevil\\u202c\\u200b" in seen
    assert not set(seen) & set("\x1b\u202e\u202c\u200b")
    assert browser.evaluate("document.querySelectorAll('img, iframe, svg[onload]').length") == 0
    assert browser.complaints == []


def test_hostile_text_stays_text(browser: Browser, page: str) -> None:
    opened(browser, page)
    check_calm(browser, browser.evaluate("document.body.textContent"))
    assert browser.evaluate("document.title").startswith("</script></style><img")


def test_filters_show_what_they_say(browser: Browser, page: str) -> None:
    opened(browser, page)
    choose(browser, "outcome", "fail")
    assert shown(browser, "tr[data-outcome]") == {"req-P5", "req-D1"}
    assert len(shown(browser, ".case")) == 41
    choose(browser, "family", "P")
    assert shown(browser, "tr[data-outcome]") == {"req-P5"}
    assert shown(browser, ".case") == {case_anchor("P5/wrong[FP32]")}
    assert browser.evaluate("document.getElementById('found').value") == "1 requirement, 1 case"
    choose(browser, "level", "MAY")
    assert shown(browser, "[data-outcome]") == set()
    assert browser.evaluate("document.getElementById('nothing').checkVisibility()")
    browser.evaluate("document.getElementById('clear').click()")
    assert len(shown(browser, "tr[data-outcome]")) > 100
    assert not browser.evaluate("document.getElementById('nothing').checkVisibility()")


def test_filters_and_search_live_in_the_url(browser: Browser, page: str) -> None:
    opened(browser, page)
    choose(browser, "outcome", "fail")
    browser.evaluate("document.getElementById('find').focus()")
    browser.type("off[7] & more")
    browser.wait(lambda: "find=" in browser.evaluate("location.search"))
    url = browser.evaluate("location.href")
    assert browser.evaluate("location.search") == "?find=off%5B7%5D+%26+more&outcome=fail"
    opened(browser, url.replace("+%26+more", ""))
    assert shown(browser, ".case") == {case_anchor("D1/off[7]")}
    assert browser.evaluate("document.getElementById('outcome').value") == "fail"
    browser.evaluate("document.getElementById('clear').click()")
    assert browser.evaluate("location.search") == ""


@pytest.mark.parametrize("coded", [False, True])
def test_a_deep_link_takes_any_id(browser: Browser, tmp_path: Path, coded: bool) -> None:
    outcomes = ("fail", "pass", "not_run")
    cases = [case(name, outcomes[n % 3], "m") for n, name in enumerate(ODD)]
    url = page_of_cases(tmp_path, *cases)
    opened(browser, url, case_anchor(ODD[0]))
    until_in_view(browser, case_anchor(ODD[0]))
    opened(browser, url)
    for name in ODD:
        choose(browser, "outcome", "disputed")  # hides it
        link = f"'case-' + encodeURIComponent({name!r})" if coded else f"{'case-' + name!r}"
        browser.evaluate(f"location.hash = {link}")
        until_in_view(browser, case_anchor(name))


def test_keys_search_and_go_from_case_to_case(browser: Browser, page: str) -> None:
    opened(browser, page)
    browser.press("Tab", 9)
    assert browser.evaluate("document.activeElement.className") == "skip"
    focused = "document.activeElement.closest('.case, input')?.id"
    browser.press("j", 74, "j")
    browser.wait(lambda: browser.evaluate(focused) == case_anchor("P5/wrong[FP32]"))
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert browser.evaluate(outline) == "solid"
    browser.press("Enter", 13, "\r")
    browser.wait(lambda: browser.evaluate("document.querySelector('.case[open] pre') !== null"))
    browser.press("j", 74, "j")
    browser.wait(lambda: browser.evaluate(focused) == case_anchor("D1/off[0]"))
    browser.wait(lambda: in_view(browser, case_anchor("D1/off[0]")))
    browser.press("k", 75, "k")
    browser.wait(lambda: browser.evaluate(focused) == case_anchor("P5/wrong[FP32]"))
    browser.press("?", 191, "?")
    browser.wait(lambda: browser.evaluate("document.getElementById('keys').open"))
    browser.press("/", 191, "/")
    browser.wait(lambda: browser.evaluate(focused) == "find")
    browser.press("j", 74, "j")
    browser.wait(lambda: browser.evaluate("document.getElementById('find').value") == "j")


def text_of(browser: Browser, name: str, words: str) -> str:
    """What a case shows, once `words` are among it."""
    element = element_of(name)
    browser.wait(lambda: words in (browser.evaluate(f"{element}?.textContent") or ""))
    return str(browser.evaluate(f"{element}.textContent"))


def test_a_failure_shows_its_exchanges(browser: Browser, tmp_path: Path) -> None:
    request = message_with(b"\x01\x02\x03\x04")
    odd = b"HTTP/1.1 200 OK\r\nX: \xc3\xa9\xff\x1b\nContent-Length: 0\r\n\r\n"
    failed = case(
        "P5/x", "fail", "the reason of it",
        exchange(request, b"", ending=Ending.CLOSED, detail="reset by peer", sent=10),
        exchange(request, odd, "a canary", Purpose.CANARY_FRESH, first_byte_ms=3.25),
    )  # fmt: skip
    opened(browser, page_of_cases(tmp_path, failed))
    seen = text_of(browser, "P5/x", "Exchange 2 of 2: a canary")
    for expected in (
        "the reason of it", "Why P5 is tested.", "Exchange 1 of 2", "got the same answer as before",
        "connection closed before a complete response (reset by peer)",
        "only the first 10 bytes were sent", "POST /v2/models/m/infer HTTP/1.1",
        "INPUT0 · 4 bytes", "01 02 03 04", '"binary_data_size": 4', "Response · nothing",
        "X: é\\xff\\x1b\\n\nContent-Length: 0",  # bytes that are no text
    ):  # fmt: skip
        assert expected in seen
    open_ones = "Array.from(document.querySelectorAll('.exchange')).map(one => one.open)"
    assert browser.evaluate(open_ones) == [True, False]  # a known-good request stays closed
    assert seen.index("Response · nothing") < seen.index("Request · ")


def test_wrong_bytes_are_two_clicks_away(browser: Browser, tmp_path: Path) -> None:
    found = differing(3000)
    many = [case(f"D1/off[{n}]", "fail", "m") for n in range(30)]
    opened(browser, page_of_cases(tmp_path, found, *many))

    def click(link: str) -> None:
        where = f"document.querySelector({link!r}).getBoundingClientRect()"
        browser.wait(lambda: browser.evaluate(f"{where}.top >= 0 && {where}.bottom < innerHeight"))
        box = browser.evaluate(f"(() => {{ const r = {where}; return [r.x + 5, r.y + 5]; }})()")
        for kind in ("mousePressed", "mouseReleased"):
            place = {"x": box[0], "y": box[1], "button": "left", "clickCount": 1}
            browser.call("Input.dispatchMouseEvent", type=kind, **place)

    click("#headline a")
    click(f'.causes a[href="#{case_anchor(found.id)}"]')
    mark = "document.querySelector('mark.wrong')"
    browser.wait(lambda: browser.evaluate(f"{mark} !== null && {mark}.checkVisibility()"))
    inside = (
        f"(() => {{ const box = {mark}.closest('pre').getBoundingClientRect(), "
        f"at = {mark}.getBoundingClientRect(); "
        "return at.top >= box.top && at.bottom <= box.bottom; })()"
    )
    browser.wait(lambda: browser.evaluate(inside))


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a page with cases of every outcome, of which many fail."""
    wrong = exchange(message_with(bytes(100)), v2({"outputs": []}, bytes(400), length=16))
    ids = [r.id for r in catalogue().values() if r.profile == "binary"]
    outcomes = ("inconclusive", "disputed", "flaky", "error", "not_run", "unsupported")
    report = report_of(
        passes(
            differing(3000),
            *(case(f"{ids[n % len(ids)]}/off[{n}]", "fail", "m " * 80, wrong) for n in range(600)),
            *(case(f"P8/one[{n}]", "pass", "", wrong) for n in range(900)),
            *(case(f"P{n}/odd", one, "odd", wrong) for n, one in enumerate(outcomes, 2)),
        ),
        absent={"identity/FP32": "no such model"},
        complete=False,
    )
    return written_page(tmp_path_factory.mktemp("full"), report)


def look_at_some_cases(browser: Browser) -> None:
    """Open cases, lists and what a requirement has, and filter."""
    choose(browser, "level", "MUST")
    for anchor in map(case_anchor, ("D1/x[INT32]", "P5/off[4]", "P8/one[5]")):
        browser.evaluate(f"location.hash = {anchor!r}")
        until(browser, f"document.getElementById({anchor!r})?.querySelector('pre') != null")
    choose(browser, "family", "P")
    parts = "document.querySelectorAll('.reqs details, .keys')"
    browser.evaluate(f"{parts}.forEach(part => {{ part.open = true; }})")


@pytest.mark.parametrize(
    ("scheme", "width", "looking"), [("light", 1400, False), ("dark", 360, True)]
)
@pytest.mark.long
def test_axe_finds_nothing(
    browser: Browser, full: str, scheme: str, width: int, looking: bool
) -> None:
    opened(browser, full, width=width, prefers_color_scheme=scheme)
    if looking:
        look_at_some_cases(browser)
    assert violations(browser) == []
    wide = browser.evaluate("document.documentElement.scrollWidth")
    assert wide <= browser.evaluate("document.documentElement.clientWidth")


@pytest.mark.long
def test_it_prints_on_ten_pages_with_the_passes_folded(browser: Browser, full: str) -> None:
    opened(browser, full)
    printed = base64.b64decode(browser.call("Page.printToPDF")["data"])
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 10
