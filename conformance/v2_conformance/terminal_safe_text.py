"""Text for people and from them: made harmless, wrapped, matched."""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
import textwrap
from collections.abc import Iterable

WIDTH = 80
# GitHub Actions, Azure Pipelines, TeamCity.
_READERS = ("GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION")
_COMMAND = re.compile(r"##(\w*)\[")
_NARROWEST = 40
_LONGEST_WORD = 140


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
    """Return how wide lines may be: as wide as the terminal, or WIDTH without one."""
    return max(_NARROWEST, shutil.get_terminal_size((WIDTH, 24)).columns)


def wrapped(text: str, indent: str, limit: int = 100, *, first: str = "") -> list[str]:
    """`text` made plain, in at most `limit` lines of `columns`, each indented: the first by
    `first`, the others by `indent`. Only what is longer than an id is broken."""
    lines = textwrap.wrap(
        plain(text),
        columns(),
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=any(len(word) > _LONGEST_WORD for word in text.split()),
        break_on_hyphens=False,
    )
    return lines if len(lines) <= limit else [*lines[: limit - 1], indent + "…"]


def for_people(line: str, indent: str) -> str:
    """Wrap one of our lines for a terminal, and indent each line but the first. No
    word is broken, so that paths and commands can be copied."""
    begin = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(
        line,
        columns(),
        subsequent_indent=begin + indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def matches(case_id: str, pattern: str) -> bool:
    """Return True if `pattern` matches a case: as in a shell, but brackets are literal."""
    return fnmatch.fnmatchcase(case_id, pattern.replace("[", "[[]"))


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
    """Return True if `visible` leaves `text` as it is; a long one is not read to its end."""
    return _HIDDEN.search(text) is None


def on_one_line(text: str) -> str:
    """`text` made visible, its line feeds and tabs too."""
    return visible(text).replace("\n", r"\n").replace("\t", r"\t")


def short(text: str, limit: int) -> str:
    """`text` in at most `limit` characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def few_of(names: Iterable[str]) -> str:
    """Return the first of these names, short, with "…" for the rest."""
    shown = [short(name, 120) for name in names]
    return ", ".join(shown[:6]) + (" …" if len(shown) > 6 else "")


def _escape(code: int) -> str:
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return "did you mean X or Y? (`otherwise`)", or `otherwise` if no name is close."""
    names = closest(name, known)
    choice = " or ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
    return f"did you mean {choice}? ({otherwise})" if names else otherwise


def closest(name: str, known: Iterable[str]) -> list[str]:
    """Return at most three known names close to `name`, those that begin with it if any do."""
    # Takes its time to import, and only a mistyped name needs it.
    from difflib import get_close_matches

    # The first of two that differ in case is meant. No options are close for their dashes.
    spelled = {each.casefold().lstrip("-"): each for each in reversed([*known])}
    name = name.casefold().lstrip("-")
    close = get_close_matches(name, spelled)
    longer = [match for match in close if match.startswith(name)]
    return [spelled[match] for match in longer or close]
