"""Suggestions for a name that does not exist."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """The question "did you mean X or Y? (`otherwise`)" with the known names closest to `name`, or
    only `otherwise` if none is close."""
    return question(closest(name, known), otherwise)


def closest(name: str, known: Iterable[str]) -> list[str]:
    """At most three known names that are close to `name`, ignoring case, the closest first; only
    those that begin with it if there are any."""
    # Takes its time to import, and nobody needs it who mistypes nothing.
    from difflib import get_close_matches

    spelled: dict[str, str] = {}
    for each in known:
        spelled.setdefault(each.casefold(), each)
    typed = name.casefold()
    close = get_close_matches(typed, spelled)
    longer = [found for found in close if found.startswith(typed)]
    return [spelled[found] for found in longer or close]


def question(names: Sequence[str], otherwise: str) -> str:
    """See `did_you_mean`: the question about these names."""
    if not names:
        return otherwise
    *first, last = names
    choice = f"{', '.join(first)} or {last}" if first else last
    return f"did you mean {choice}? ({otherwise})"
