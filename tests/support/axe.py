"""axe-core, which knows what keeps people from using a page."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from support.browser import PATIENCE_S, Browser

_AXE_S = 300.0  # it looks at every element, and says nothing in between
_RUN = (
    "axe.run(document, {resultTypes: ['violations']}).then(result => result.violations.map("
    "rule => [rule.id, rule.nodes.length, rule.nodes[0].html, rule.nodes[0].failureSummary]))"
)


def violations(browser: Browser) -> list[Any]:
    """What axe-core finds wrong with the page as it is shown: for each rule its name, the number of
    elements, the first of them, and what to do."""
    script = (files("axe_core_python") / "axe.min.js").read_text("utf-8")
    browser.evaluate(f"{script}; 0")
    browser.patience_s = _AXE_S
    try:
        found: list[Any] = browser.evaluate(_RUN)
    finally:
        browser.patience_s = PATIENCE_S
    return found
