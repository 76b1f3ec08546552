"""A text to look for, in one reading of another text, which keeps only the characters it needs.

So quotes, escapes, separators, folded lines, and the zero bytes of UTF-16 between the characters
make no difference.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

DIGITS = b"0123456789"
LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ALNUM = DIGITS + LETTERS

SHORTEST = 6
"""A shorter value stands in too many innocent places, such as a status."""


class Reading(Enum):
    """The rest of a text, as the characters that are kept."""

    TEXT = ALNUM
    LETTERS = LETTERS
    NUMBERS = DIGITS
    HEX = DIGITS + b"ABCDEFabcdef"


_DROPPED = {kept: bytes(sorted(set(range(256)) - set(kept.value))) for kept in Reading}


@dataclass(frozen=True)
class Needle:
    """A text to look for in a reading, in any letter case unless it is `exact`.

    With a `pattern`, that is looked for in its place, and what may follow it (`rest`) one by one;
    `cut` finds its start at the end of a text. The first `shown` characters of a match are no
    secret.
    """

    text: bytes
    form: str
    exact: bool = False
    shown: int = 0
    reading: Reading = Reading.TEXT
    pattern: re.Pattern[bytes] | None = None
    cut: re.Pattern[bytes] | None = None
    rest: tuple[re.Pattern[bytes], ...] = ()


def squeezed(text: bytes, reading: Reading = Reading.TEXT) -> bytes:
    """Only the characters of `text` that a reading keeps: ASCII letters and digits."""
    return text.translate(None, _DROPPED[reading])
