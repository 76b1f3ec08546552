"""Text for people and from them: made harmless, wrapped, made comparable, matched."""

from __future__ import annotations

import fnmatch
import os
import re
import textwrap

WIDTH = 80

# What differs from run to run though nothing changed, and what stands for it in comparisons.
_VOLATILE = (
    (re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"), "UUID"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?"), "TIME"),
    (re.compile(r"\b\d\d:\d\d:\d\d(?:\.\d+)?\b"), "TIME"),
    # Pointers of 64-bit processes. Shorter ones may be data.
    (re.compile(r"\b0x[0-9a-fA-F]{9,16}\b"), "ADDRESS"),
    (re.compile(r"(?<=[\w\]]):\d{4,5}\b"), ":PORT"),
    (re.compile(r"\b\d+(?:\.\d+)? ?(s|ms|us|seconds?|milliseconds?)\b"), r"N \1"),
    (re.compile(r"\bbyte \d+ of the body\b"), "byte N of the body"),
    (re.compile(r"\bthe whole body \(\d+ bytes\)"), "the whole body (N bytes)"),
)

# What was sent, which the messages of failures begin with.
_SENT = re.compile(
    r"^sent (?:GET \S+|to .*? blob bytes in all(?:, no Inference-Header-Content-Length|"
    r"(?:(?:, | and )Inference-Header-Content-Length: .*?)+)?): "
)


def plain(text: str) -> str:
    """Text in printable ASCII, and our own "…": nothing that a server sent reaches the terminal
    raw, and every character is one column wide."""
    safe = (c if (c.isascii() and c.isprintable()) or c == "…" else ascii(c)[1:-1] for c in text)
    return defused("".join(safe))


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


def wrapped(text: str, indent: str, limit: int = 100, *, first: str = "") -> list[str]:
    """`text` made plain, in at most `limit` lines of 80 columns, each indented: the first by
    `first`, the others by `indent`."""
    lines = textwrap.wrap(plain(text), WIDTH, initial_indent=first, subsequent_indent=indent)
    if text.startswith("  ") and lines:
        lines[0] = "  " + lines[0].strip()
    return lines if len(lines) <= limit else [*lines[: limit - 1], indent + "…"]


def matches(case_id: str, pattern: str) -> bool:
    """Whether `pattern`, of a shell's kind, means a case. Brackets are part of ids: in a pattern
    they stand for themselves."""
    return fnmatch.fnmatchcase(case_id, pattern.replace("[", "[[]"))


def finding(message: str) -> str:
    """A failure's message without what was sent, which the case says, too."""
    return _SENT.sub("", " ".join(message.split()))


def normalised(text: str) -> str:
    """`text` without what differs from run to run: identifiers, times, addresses, ports, offsets
    that depend on those; runs of whitespace are one space."""
    text = " ".join(text.split())
    for pattern, word in _VOLATILE:
        text = pattern.sub(word, text)
    return text
