"""Templates of pages: everything that they print is escaped, and made visible."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from v2_conformance.report.document import CitedDocument
from v2_conformance.terminal_safe_text import visible

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
        digest = hashlib.sha256(text.encode()).digest()
        made.globals[f"{name}_hash"] = f"sha256-{base64.b64encode(digest).decode()}"
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


def _finalize(value: Any) -> Any:
    # Markup is our own style and script, or was made of text that is visible already.
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


_UNSAFE = re.compile(r"[^A-Za-z0-9/,:._+=-]")
_KEPT_BRACKETS = {"[": "(", "]": ")"}


def case_anchor(case_id: str) -> str:
    """The anchor of a case in the page: needs no quoting in a URL, differs for every id."""
    return "case-" + _safe(case_id)


def requirement_anchor(requirement_id: str) -> str:
    """The anchor of a requirement in the page."""
    return "req-" + _safe(requirement_id)


class Source(NamedTuple):
    """One citation, ready to print; `url` is "" if readers should not follow it."""

    title: str
    url: str
    place: str


RFC = "https://www.rfc-editor.org/rfc/"
"""How the addresses of all RFCs begin."""


def source(cited: CitedDocument) -> Source:
    """Return a citation as the page prints it."""
    place = f"section {cited.section}" if cited.url.startswith(RFC) else cited.section
    if cited.paragraph is not None:
        place += f", paragraph {cited.paragraph}"
    safe = cited.url.startswith(("https://", "http://"))
    return Source(cited.document, cited.url if safe else "", place)


def _safe(text: str) -> str:
    def coded(match: re.Match[str]) -> str:
        encoded = match[0].encode("utf-8", "surrogatepass")
        return _KEPT_BRACKETS.get(match[0], "".join(f"~{byte:02x}" for byte in encoded))

    return _UNSAFE.sub(coded, text)
