"""report.html in a real browser: filters, search, deep links, keys, hostile text, width."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.browser import Browser, choose, in_view, opened, shown
from support.pages import element_of, page_of_cases, written_page
from support.reports import case, exchange, passes, report_of
from support.responses import message_with, v2
from v2_conformance.formats.templates import case_anchor
from v2_conformance.suite.requirements import catalogue

HOSTILE = (
    "</script></style><img src=x onerror=\"document.title='owned'\"><svg onload=alert(1)>"
    "\x1b[31m\u202eevil\u202c\u200b ]]> --> {{ 7*7 }}"
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a page in which P5 and D1 fail, a role is absent and a profile not claimed."""
    own = exchange(message_with(b"\x01\x02\x03\x04", name=HOSTILE), HOSTILE.encode(), HOSTILE)
    report = report_of(
        passes(
            case("P5/wrong[FP32]", "fail", HOSTILE, own),
            *(case(f"D1/off[{n}]", "fail", "an unusual word: zyzzyva", own) for n in range(40)),
            case("S2/gone[1]", "not_run", HOSTILE),
            case("W1/raw[1]", "unsupported", "not claimed"),
        ),
        server=(HOSTILE, "1"),
        absent={"identity/" + "x" * 300: HOSTILE},
    )
    folder = tmp_path_factory.mktemp("page")
    return written_page(folder, report)


def test_hostile_text_stays_text(browser: Browser, page: str) -> None:
    opened(browser, page)
    seen = browser.evaluate("document.body.textContent")
    assert "</script></style><img src=x onerror=" in seen
    assert "\\x1b[31m\\u202eevil\\u202c\\u200b" in seen
    assert not set(seen) & set("\x1b\u202e\u202c\u200b")
    assert browser.evaluate("document.title").startswith("</script></style><img")
    assert browser.evaluate("document.querySelectorAll('img, iframe, svg[onload]').length") == 0
    assert browser.complaints == []


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


def test_search_finds_words_in_any_order_and_case(browser: Browser, page: str) -> None:
    opened(browser, page)
    browser.evaluate("document.getElementById('find').focus()")
    browser.type("ZYZZYVA off[7]")
    browser.wait(lambda: len(shown(browser, ".case")) == 1)
    assert shown(browser, ".case") == {case_anchor("D1/off[7]")}
    assert shown(browser, "tr[data-outcome]") == set()
    browser.evaluate("document.getElementById('find').select()")
    title = catalogue()["P8"].title
    browser.type(title.upper())
    browser.wait(lambda: "req-P8" in shown(browser, "tr[data-outcome]"))
    assert "req-P5" not in shown(browser, "tr[data-outcome]")


@pytest.mark.parametrize(
    "anchor",
    ["req-O12"]
    + [case_anchor(name) for name in ("D1/off[33]", "P8/plain[FP32]", "S2/gone[1]", "W1/raw[1]")],
)
def test_deep_link_opens_its_target(browser: Browser, page: str, anchor: str) -> None:
    opened(browser, page, anchor)
    browser.wait(lambda: in_view(browser, anchor))
    opened(browser, page)
    choose(browser, "outcome", "disputed")  # the target is filtered away
    browser.evaluate(f"location.hash = {anchor!r}")
    browser.wait(lambda: in_view(browser, anchor))


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


def test_keys_search_and_go_from_case_to_case(browser: Browser, page: str) -> None:
    opened(browser, page)
    focused = "document.activeElement.closest('.case, input')?.id"
    browser.press("j", 74, "j")
    browser.wait(lambda: browser.evaluate(focused) == case_anchor("P5/wrong[FP32]"))
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


@pytest.mark.parametrize("outcome", ["pass", "fail"])
def test_messages_are_drawn_to_scale(browser: Browser, tmp_path: Path, outcome: str) -> None:
    response = v2({"outputs": []}, bytes(400), length=16)
    one = case("P5/wrong[FP32]", outcome, "", exchange(message_with(bytes(100)), response))
    opened(browser, page_of_cases(tmp_path, one), case_anchor(one.id))
    browser.wait(lambda: browser.evaluate("document.querySelectorAll('.layout').length") == 2)
    drawn = browser.evaluate(
        "Array.from(document.querySelectorAll('.layout')).map(bar => Array.from(bar.children)"
        ".filter(part => part.title).map(part => part.getBoundingClientRect().width))"
    )
    assert [len(widths) for widths in drawn] == [3, 3]
    assert min(map(sum, drawn)) > 500
    shares = sorted(widths[-1] / sum(widths) for widths in drawn)
    share = 401 / len(response)
    assert shares[-1] == pytest.approx(share, abs=0.02)


def test_passed_case_shows_its_bytes(browser: Browser, tmp_path: Path) -> None:
    request = message_with(b"\x01\x02\x03\x04", name=HOSTILE)
    passing = [
        case("P8/other[FP32]", "pass", "", exchange(b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 200")),
        case("P8/plain[FP32]", "pass", "", exchange(request, HOSTILE.encode(), HOSTILE)),
    ]
    opened(browser, page_of_cases(tmp_path, *passing), case_anchor("P8/plain[FP32]"))
    element = element_of("P8/plain[FP32]")
    browser.wait(lambda: browser.evaluate(f"{element}.querySelector('pre.hex') !== null"))
    seen = browser.evaluate(f"{element}.innerText")
    assert "01 02 03 04" in seen
    assert "POST /v2/models/m/infer HTTP/1.1" in seen
    assert '"binary_data_size": 4' in seen
    assert "</script></style><img src=x onerror=" in seen
    assert "\\x1b[31m\\u202eevil\\u202c\\u200b" in seen
    assert not set(seen) & set("\x1b\u202e\u202c\u200b")
    assert "show report.json" not in seen
    assert browser.evaluate("document.querySelectorAll('img, iframe, svg[onload]').length") == 0
    assert browser.complaints == []


def test_the_page_fits_360_pixels(browser: Browser, page: str) -> None:
    for anchor in ("", "counts", case_anchor("P5/wrong[FP32]")):
        opened(browser, page, anchor, width=360, height=700)
        wide = browser.evaluate("document.documentElement.scrollWidth")
        assert wide <= browser.evaluate("document.documentElement.clientWidth")


def test_the_keyboard_reaches_what_is_closed(browser: Browser, page: str) -> None:
    opened(browser, page)
    browser.press("Tab", 9)
    assert browser.evaluate("document.activeElement.className") == "skip"
    browser.evaluate("document.querySelector('details.case summary').focus()")
    browser.press("Enter", 13, "\r")
    assert browser.evaluate("document.querySelector('details.case').open")
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert browser.evaluate(outline) == "solid"
