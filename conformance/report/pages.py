"""Templates of pages: everything that they print is escaped, and made visible."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from conformance.report.hexdump import visible


def environment() -> Environment:
    """An environment of its own for a page's template, which lies in this folder."""
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )


def _finalize(value: Any) -> Any:
    # Markup is our own style and script, or was made of text that is visible already.
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
