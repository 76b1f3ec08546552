"""Text for terminals and logs."""

from __future__ import annotations


def plain(text: str) -> str:
    """Text in printable ASCII, and our own "…": nothing that a server sent reaches the terminal
    raw, and every character is one column wide."""
    return "".join(
        c if (c.isascii() and c.isprintable()) or c == "…" else ascii(c)[1:-1] for c in text
    )
