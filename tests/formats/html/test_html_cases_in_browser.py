"""The cases of report.html in a real browser: what is made of them once somebody looks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.browser import Browser, choose, opened, until_in_view
from support.pages import element_of, page_of_cases
from support.reports import case, differing, exchange
from support.responses import message_with, v2
from v2_conformance.formats.templates import case_anchor
from v2_conformance.report.document import CaseResult
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.wire.response import Ending

Written = Callable[..., str]

ODD = (
    "P8/a b[x,y]", "P8/a(b)[~5b]", "P8/ü-€-😀[1]", "P8/%41[1]", "P8/<b>\"'&[1]", "P8/#?[1]",
    "P8/__proto__",
)  # fmt: skip


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Writes the page of a report with these cases, and returns its URL."""

    def write(*cases: CaseResult) -> str:
        return page_of_cases(tmp_path, *cases)

    return write


def text_of(browser: Browser, name: str, words: str) -> str:
    """What a case shows, once `words` are among it."""
    element = element_of(name)
    browser.wait(lambda: words in (browser.evaluate(f"{element}?.textContent") or ""))
    return str(browser.evaluate(f"{element}.textContent"))


def test_a_failure_shows_its_exchanges(browser: Browser, written: Written) -> None:
    request = message_with(b"\x01\x02\x03\x04")
    page = written(
        case("P5/x", "fail", "the reason of it",
            exchange(request, b"", ending=Ending.CLOSED, detail="reset by peer", sent=10),
            exchange(request, b"", "a canary", Purpose.CANARY_FRESH, first_byte_ms=3.25),
        )
    )  # fmt: skip
    opened(browser, page)
    seen = text_of(browser, "P5/x", "Exchange 2 of 2: a canary")
    for expected in (
        "the reason of it", "Why P5 is tested.", "Exchange 1 of 2", "got the same answer as before",
        "connection closed before a complete response (reset by peer)",
        "only the first 10 bytes were sent", "POST /v2/models/m/infer HTTP/1.1",
        "INPUT0 · 4 bytes", "01 02 03 04", '"binary_data_size": 4', "Response · nothing",
    ):  # fmt: skip
        assert expected in seen
    open_ones = "Array.from(document.querySelectorAll('.exchange')).map(one => one.open)"
    assert browser.evaluate(open_ones) == [True, False]  # a known-good request stays closed
    assert seen.index("Response · nothing") < seen.index("Request · ")


@pytest.mark.parametrize("offset", [0, 7, 8, 15, 500, 512, 2005, 3935, 3936, 3999])
def test_first_differing_byte_is_marked(browser: Browser, written: Written, offset: int) -> None:
    found = differing(offset)
    opened(browser, written(found))
    browser.wait(lambda: browser.evaluate("document.querySelectorAll('mark.wrong').length") == 2)
    box = "document.querySelector('mark.wrong').closest('pre')"
    lines = browser.evaluate(f"{box}.textContent").split("\n")
    assert browser.evaluate("document.querySelector('mark.wrong').textContent") == "7f"
    at = next(n for n, line in enumerate(lines) if "▲" in line)
    words = f"first differing byte: element {offset // 4} of OUTPUT0"
    assert words in lines[at]
    column = lines[at].index("▲")
    assert lines[at - 1][column : column + 2] == "7f"
    assert found.difference is not None
    start = int(lines[at - 1][:6], 16)
    assert start + (column - 8) // 3 == found.difference.body_offset
    shown = [line for line in lines if "left out" not in line and "▲" not in line]
    assert len({line.index("  ", 8) for line in shown if len(line) == len(shown[0])}) == 1


def test_bytes_that_are_no_text_are_shown_as_they_are(browser: Browser, written: Written) -> None:
    head = b"HTTP/1.1 200 OK\r\nX: \xc3\xa9\xff\x1b\nContent-Length: 0\r\n\r\n"
    opened(browser, written(case("P5/x", "fail", "m", exchange(b"", head))))
    seen = text_of(browser, "P5/x", "Content-Length")
    assert "X: é\\xff\\x1b\\n\nContent-Length: 0" in seen


def test_a_message_is_drawn_with_its_parts(browser: Browser, written: Written) -> None:
    response = v2(b'{"outputs":[]}', bytes(9), length=5)
    opened(browser, written(case("P5/x", "fail", "m", exchange(b"", response))))
    text_of(browser, "P5/x", "but the JSON object ends after")
    drawn = f"Array.from({element_of('P5/x')}.querySelector('.layout').children)"
    head = len(response) - 23
    assert browser.evaluate(f"{drawn}.map(part => [part.className, part.style.flexGrow])") == [
        ["k-head", str(head)], ["k-json", "5"], ["k-slack", "18"],
    ]  # fmt: skip


@pytest.mark.parametrize("outcome", ["fail", "pass", "not_run"])
@pytest.mark.parametrize("coded", [False, True])
def test_a_deep_link_takes_any_id(
    browser: Browser, written: Written, outcome: str, coded: bool
) -> None:
    opened(browser, written(*(case(name, outcome, "m") for name in ODD)))
    for name in ODD:
        choose(browser, "outcome", "disputed")  # hides it
        link = f"'case-' + encodeURIComponent({name!r})" if coded else f"{'case-' + name!r}"
        browser.evaluate(f"location.hash = {link}")
        until_in_view(browser, case_anchor(name))


@pytest.mark.long
def test_deep_link_reaches_long_lists(browser: Browser, written: Written) -> None:
    cases = [case(f"D1/off[{n}]", "fail" if n % 2 else "pass", "m") for n in range(1400)]
    for number in (1201, 1200):
        name = case_anchor(f"D1/off[{number}]")
        opened(browser, written(*cases), name)
        until_in_view(browser, name)
    opened(browser, written(*cases))
    count = "document.querySelectorAll('#troubled .case').length"
    focused = "document.activeElement.closest('.case')?.id"
    assert browser.evaluate(count) == 50
    browser.evaluate("document.querySelector('#troubled .more').click()")
    assert browser.evaluate(count) == 100
    assert browser.evaluate(focused) == case_anchor("D1/off[101]")
    browser.evaluate("document.querySelector('#troubled .case:nth-child(100) summary').focus()")
    browser.press("j", 74, "j")
    browser.wait(lambda: browser.evaluate(focused) == case_anchor("D1/off[201]"))
    assert browser.evaluate(count) == 150


def test_wrong_bytes_are_two_clicks_away(browser: Browser, written: Written) -> None:
    found = differing(3000)
    many = [case(f"D1/off[{n}]", "fail", "m") for n in range(30)]
    opened(browser, written(found, *many))

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
