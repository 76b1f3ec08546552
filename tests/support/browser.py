"""A headless Chromium, driven over the DevTools protocol through a pipe; nothing to install."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PATIENCE_S = 30.0  # a browser on a busy machine; only a test that fails waits so long
_SHOWN = (
    "Array.from(document.querySelectorAll('{}')).filter(e => e.checkVisibility()).map(e => e.id)"
)
_FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",  # it opens our own pages only, and containers forbid the sandbox
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--no-first-run",
)


class Browser:
    """One tab. Everything that a page writes on its console, or throws, is in `complaints`.
    `patience_s` is how long Chromium may say nothing, which is what a busy page does."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._out, self._in = to_browser, from_browser
        self._left = b""
        self._number = 0
        self._session = ""
        self.complaints: list[str] = []
        self.patience_s = PATIENCE_S
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Do one thing and return its result; an error of the protocol fails the test."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    def open(self, url: str, width: int = 1200, height: int = 900, **media: str) -> None:
        """Open a page of a width and height in CSS pixels; `media` are features such as
        prefers_color_scheme. Returns when it has loaded."""
        features = [{"name": k.replace("_", "-"), "value": v} for k, v in media.items()]
        self.call("Emulation.setEmulatedMedia", features=features)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.complaints.clear()
        self.call("Page.navigate", url="about:blank")  # else a new fragment alone loads nothing
        until(self, "location.href == 'about:blank'")
        answer = self.call("Page.navigate", url=url)
        assert "errorText" not in answer, answer
        # Not `== url`: while it loads, a page may change its own address, as pytest-html's does.
        until(self, "location.href != 'about:blank' && document.readyState == 'complete'")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; what it throws fails the test."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, condition: Callable[[], object]) -> None:
        """Go on as soon as `condition` holds; fail when it never does."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, "the page does not get there"
            self.evaluate("new Promise(done => requestAnimationFrame(() => done(0)))")

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self.call("Input.insertText", text=text)

    def press(self, key: str, code: int, text: str = "") -> None:
        """Press a key, such as "Tab" (9) or "Enter" (13, with its text)."""
        common = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._in], [], [], self.patience_s)
            assert ready, "Chromium says nothing"
            data = os.read(self._in, 1 << 20)
            assert data, "Chromium has ended"
            self._left += data
        line, _, self._left = self._left.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        method = message.get("method")
        if method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.complaints.append(json.dumps(message["params"])[:500])
        return message


@contextlib.contextmanager
def browsing(program: str, folder: Path) -> Iterator[Browser]:
    """A browser that keeps its files in `folder`, gone with the block."""
    to_browser, to_us = os.pipe(), os.pipe()
    # Chromium reads from file descriptor 3 and writes to 4; ours must not be among them.
    theirs = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_browser[0], to_us[1])]
    ours = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (to_browser[1], to_us[0])]
    for end in (*to_browser, *to_us):
        os.close(end)

    def place() -> None:
        os.dup2(theirs[0], 3)
        os.dup2(theirs[1], 4)

    process = subprocess.Popen(
        [program, *_FLAGS, f"--user-data-dir={folder}"],
        preexec_fn=place,
        close_fds=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    for end in theirs:
        os.close(end)
    try:
        browser = Browser(*ours)
        yield browser
    finally:
        for end in ours:  # at the end of its pipe Chromium ends by itself
            os.close(end)
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def opened(browser: Browser, page: str, anchor: str = "", **more: Any) -> None:
    """Open a page, at an anchor; one that complains fails the test."""
    browser.open(page + (f"#{anchor}" if anchor else ""), **more)
    until(browser, "document.getElementById('filter')?.hidden !== true")  # report.html has its list
    assert browser.complaints == []


def choose(browser: Browser, name: str, value: str) -> None:
    """Choose the option `value` of the box with the id `name`."""
    browser.evaluate(
        f"{{ const box = document.getElementById({name!r}); box.value = {value!r};"
        "box.dispatchEvent(new Event('change')); }"
    )


def shown(browser: Browser, what: str) -> set[str]:
    """The ids of the visible elements that a selector finds."""
    return set(browser.evaluate(_SHOWN.format(what)))


def in_view(browser: Browser, anchor: str) -> bool:
    """Whether the element with the id `anchor` is visible, with its top on the screen."""
    name = json.dumps(anchor)
    return bool(
        browser.evaluate(
            f"(() => {{ const e = document.getElementById({name}), top = "
            "e.getBoundingClientRect().top; return e.checkVisibility({contentVisibilityAuto: true})"
            " && top >= 0 && top < innerHeight; })()"
        )
    )


def until(browser: Browser, condition: str) -> None:
    """Go on as soon as a JavaScript expression is true; fail when it never is."""
    browser.wait(lambda: browser.evaluate(condition))


def until_in_view(browser: Browser, anchor: str) -> None:
    """Go on as soon as the element with the id `anchor` is on the screen."""
    browser.wait(lambda: in_view(browser, anchor))
