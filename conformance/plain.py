"""Text that others may have written, made safe for a terminal and for the log of a CI service."""

from __future__ import annotations

import os


def plain(text: str) -> str:
    """Text in printable ASCII, and our own "…": nothing that a server sent reaches the terminal
    raw, and every character is one column wide."""
    return defused(
        "".join(
            c if (c.isascii() and c.isprintable()) or c == "…" else ascii(c)[1:-1] for c in text
        )
    )


def defused(text: str) -> str:
    """Under GitHub Actions, `text` without what its runner takes for a command.

    That is "::" at the start of a line, after any spaces, and "##[" anywhere. Where a line will be
    broken is not known yet, so "::" is spelled out wherever it stands.
    """
    if not in_github_actions():
        return text
    return text.replace("::", r":\x3a").replace("##[", r"##\x5b")


def in_github_actions() -> bool:
    """Whether a step of GitHub Actions reads what is printed."""
    return os.environ.get("GITHUB_ACTIONS") == "true"
