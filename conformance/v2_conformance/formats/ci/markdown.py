"""Text from servers and reports in GitHub's Markdown, where it must mean nothing."""

from __future__ import annotations

from v2_conformance.visible_text import on_one_line


def inert(text: str) -> str:
    """`text` as inline code in ASCII: no markup, link, mention, table cell or line break in it.

    Every character that could mean anything is written as a number, to a terminal or to GitHub's
    runner as well as in Markdown. "" stays "".
    """
    if not text:
        return ""
    return f"<code>{''.join(map(_coded, on_one_line(text)))}</code>"


def _coded(char: str) -> str:
    return char if char.isascii() and (char.isalnum() or char in ", ") else f"&#{ord(char)};"
