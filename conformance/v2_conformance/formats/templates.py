"""Templates of pages: everything that they print is escaped, and made visible."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from v2_conformance.report.visible_text import visible


def environment(folder: Path, page: str, *, scripted: bool = True) -> Environment:
    """An environment for the template of `page`, which is in `folder`.

    Its globals are the page's `style` and, if it is `scripted`, its `script`, and their hashes for
    the page's policy.
    """
    made = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    for name, suffix in (("style", "css"), ("script", "js"))[: 2 if scripted else 1]:
        text = (folder / f"{page}.{suffix}").read_text(encoding="utf-8")
        made.globals[name] = Markup(text)
        made.globals[f"{name}_hash"] = _policy_hash(text)
    return made


def _policy_hash(text: str) -> str:
    """What a content security policy calls this very text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _finalize(value: Any) -> Any:
    # Markup is our own style and script, or was made of text that is visible already.
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
