"""Text from servers made visible and short: for pages, logs and files that people read."""

from __future__ import annotations

import re

# Control characters but tab and line feed; soft hyphen; invisible, bidi and format characters;
# surrogates; non-characters; tags.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """`text` with what does not print, or reorders what does, as an escape: \\x1b, \\u202e."""
    return _HIDDEN.sub(lambda match: _escape(ord(match[0])), text)


def is_visible(text: str) -> bool:
    """Return True if `visible` leaves `text` as it is; it reads a long text only as far as it
    must."""
    return _HIDDEN.search(text) is None


def on_one_line(text: str) -> str:
    """`text` made visible, its line feeds and tabs too."""
    return visible(text).replace("\n", r"\n").replace("\t", r"\t")


def short(text: str, limit: int) -> str:
    """`text` in at most `limit` characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _escape(code: int) -> str:
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
