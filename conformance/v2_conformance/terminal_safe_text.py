"""Text for people and from them: made harmless, wrapped, matched."""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
import textwrap

WIDTH = 80
# GitHub Actions, Azure Pipelines, TeamCity.
_READERS = ("GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION")
_COMMAND = re.compile(r"##(\w*)\[")
_NARROWEST = 40


def plain(text: str) -> str:
    """Text in printable ASCII, and our own "…": nothing that a server sent reaches the terminal
    raw, and every character is one column wide."""
    safe = (c if (c.isascii() and c.isprintable()) or c == "…" else ascii(c)[1:-1] for c in text)
    return defused("".join(safe))


def defused(text: str) -> str:
    """Under a CI service that reads commands from what is printed, `text` without them.

    That is "##[", "##vso[" and the like anywhere and, for GitHub's runner, "::" at the start of a
    line, after any spaces. Where a line will be broken is not known yet, so "::" is spelled out
    wherever it stands.
    """
    if not any(map(os.environ.get, _READERS)):
        return text
    text = _COMMAND.sub(r"##\1\\x5b", text)
    return text.replace("::", r":\x3a") if in_github_actions() else text


def in_github_actions() -> bool:
    """Return True if a step of GitHub Actions reads what is printed."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def columns() -> int:
    """Return how wide lines may be: WIDTH, or less on a narrow terminal."""
    return max(_NARROWEST, min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns))


def wrapped(text: str, indent: str, limit: int = 100, *, first: str = "") -> list[str]:
    """`text` made plain, in at most `limit` lines of `columns`, each indented: the first by
    `first`, the others by `indent`."""
    lines = textwrap.wrap(
        plain(text),
        columns(),
        initial_indent=first,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )
    return lines if len(lines) <= limit else [*lines[: limit - 1], indent + "…"]


def for_people(line: str, indent: str) -> str:
    """A line of ours in as many as a terminal needs; all but the first begin with `indent`.

    No word is broken, so that paths and commands can be copied.
    """
    begin = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(
        line,
        columns(),
        subsequent_indent=begin + indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def matches(case_id: str, pattern: str) -> bool:
    """Return True if `pattern`, of a shell's kind, means a case. Brackets are part of ids: in a
    pattern they stand for themselves."""
    return fnmatch.fnmatchcase(case_id, pattern.replace("[", "[[]"))
