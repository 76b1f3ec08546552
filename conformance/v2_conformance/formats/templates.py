"""Templates of pages: everything that they print is escaped, and made visible."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from v2_conformance.visible_text import visible

_CODE = re.compile("`([^`\n]+)`")


def environment(
    folder: Path, page: str, *, scripted: bool = True, more: Sequence[str] = ()
) -> Environment:
    """An environment for the template of `page`, which is in `folder`.

    Its globals are the page's `style` and `script`, and their hashes for the page's policy. First
    comes base, which all pages have, then each part in `more`, then the page's own; of scripts, a
    page that is not `scripted` has base alone.
    The filter `code` shows what stands between backticks as code.
    """
    made = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    for name, suffix, parts in (
        ("style", "css", (*more, page)),
        ("script", "js", (*more, page) if scripted else ()),
    ):
        files = [base(suffix), *(folder / f"{part}.{suffix}" for part in parts)]
        text = "\n".join(file.read_text(encoding="utf-8") for file in files if file.exists())
        made.globals[name] = Markup(text)
        made.globals[f"{name}_hash"] = _policy_hash(text)
    made.filters["code"] = with_code
    return made


def base(suffix: str) -> Path:
    """Return the style ("css") or the script ("js") that all pages have in common."""
    return Path(__file__).with_name(f"base.{suffix}")


def with_code(text: str) -> Markup:
    """`text` escaped, and what stands between two backticks on one line as code."""
    pieces = _CODE.split(visible(text))  # every second one is code
    marked = Markup("<code>{}</code>").format
    return Markup("").join(marked(p) if n % 2 else escape(p) for n, p in enumerate(pieces))


def _policy_hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _finalize(value: Any) -> Any:
    # Markup is our own style and script, or was made of text that is visible already.
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
