"""The forms of a value that a reader undoes at sight or with one common tool, as needles.

A needle is looked for in one reading of a text, which leaves only the characters that its form
needs. So quotes, escapes, separators, folded lines, and the zero bytes of UTF-16 between the
characters make no difference.
"""

from __future__ import annotations

import base64
import codecs
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise

DIGITS = b"0123456789"
LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ALNUM = DIGITS + LETTERS


class Reading(Enum):
    """The rest of a text, as the characters that are kept."""

    TEXT = ALNUM
    LETTERS = LETTERS
    NUMBERS = DIGITS
    HEX = DIGITS + b"ABCDEFabcdef"


_DROPPED = {kept: bytes(sorted(set(range(256)) - set(kept.value))) for kept in Reading}

SHORTEST = 6
"""A shorter value stands in too many innocent places, such as a status."""

DECIMAL = "numbers"
LITERAL = "as it is"
# Shorter matches would be chance in the tens of millions of characters of a report: in the right
# letter case, in any, of digits alone, of letters alone.
_SHORTEST_EXACT, _SHORTEST_FOLDED, _SHORTEST_NUMBER, _SHORTEST_WORD = 6, 8, 12, 10
# Of bases above, the digits of a number cannot be told from what stands between numbers.
_BASES = range(2, 11)
_PADDED = (("07b", "bits"), ("08b", "bits"), ("03o", "octal"), ("03d", DECIMAL), ("02x", "hex"))
_BASE32 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
# Of RFC 4648, of Crockford and of people.
_OTHER_BASE32 = (
    b"0123456789ABCDEFGHIJKLMNOPQRSTUV",
    b"0123456789ABCDEFGHJKMNPQRSTVWXYZ",
    b"ybndrfg8ejkmcpqxot1uwisza345h769",
)
_FARTHEST = 8
_DEEPEST = 60
_ZEROS = rb"0{0,24}"
_EXPONENT = rb"(?:0[12])?"  # of 8.3e+01


@dataclass(frozen=True)
class Needle:
    """A text to look for in a reading, in any letter case unless it is `exact`.

    With a `pattern`, that is looked for in its place; `cut` finds its start at the end of a text.
    The first `shown` characters of a match are no secret.
    """

    text: bytes
    form: str
    exact: bool = False
    shown: int = 0
    reading: Reading = Reading.TEXT
    pattern: re.Pattern[bytes] | None = None
    cut: re.Pattern[bytes] | None = None


def squeezed(text: bytes, reading: Reading = Reading.TEXT) -> bytes:
    """Only the characters of `text` that a reading keeps: ASCII letters and digits."""
    return text.translate(None, _DROPPED[reading])


def needles(value: str, name: str = "") -> tuple[Needle, ...]:
    """Every form of a secret `value`; with `name`, only where the header field of that name is."""
    found: dict[object, Needle] = {}
    for needle in _field_forms(name, value) if name else _forms(value.encode()):
        shortest = _SHORTEST_EXACT if needle.exact else _SHORTEST_FOLDED
        if len(needle.text) >= shortest:
            found.setdefault((needle.text, needle.reading, needle.pattern), needle)
    return tuple(found.values())


def floats(value: str) -> Iterator[bytes]:
    """The elements of a tensor of floats that are the code points of `value`."""
    points = [ord(character) for character in value]
    if max(points, default=0) >= 1 << 11:  # half precision would round
        return
    for order in "<>":
        for datatype in "efd":
            yield struct.pack(f"{order}{len(points)}{datatype}", *points)
    single = struct.pack(f"<{len(points)}f", *points)
    for first, second in ((2, 3), (3, 2)):  # BF16 is the upper half of FP32
        yield b"".join(
            bytes((single[at + first], single[at + second])) for at in range(0, len(single), 4)
        )


def is_plain_number(value: str) -> bool:
    """Return True if a value is so short a number that its digits may stand in a row by chance."""
    letters = squeezed(value.encode())
    return letters.isdigit() and len(letters) < _SHORTEST_NUMBER


def _field_forms(name: str, value: str) -> Iterator[Needle]:
    """The forms of a header field whose value is too short to be looked for alone."""
    for line in dict.fromkeys((f"{name}: {value}", f"{name.lower()}: {value}")):
        for needle in _forms(line.encode()):
            if needle.form in ("spread out", "between digits"):
                continue
            shown = len(squeezed(name.encode())) if needle.form == LITERAL else 0
            if shown < len(needle.text):
                yield replace(needle, shown=shown)


def _forms(value: bytes) -> Iterator[Needle]:
    letters = squeezed(value)
    if not is_plain_number(value.decode()):
        yield from _literal(value, letters.decode())
    yield from _numbers(tuple(value))
    yield from _numbers(tuple(map(ord, value.decode())))
    for data in (value, b"\0".join(_bytes(value)), b"\0\0\0".join(_bytes(value))):
        if data != value:
            yield Needle(data.hex().encode(), "hex")
        for digits in _aligned(data, 3, 4, base64.b64encode):
            yield Needle(squeezed(digits), "base64", exact=True)
    for digits in _aligned(value, 5, 8, base64.b32encode):
        yield Needle(squeezed(digits.lower()), "base32")
        for alphabet in _OTHER_BASE32:
            other = digits.translate(bytes.maketrans(_BASE32, alphabet))
            yield Needle(squeezed(other.lower()), "base32")
    for form, encode in (("base85", base64.b85encode), ("ascii85", base64.a85encode)):
        for before in range(4):
            yield Needle(squeezed(encode(_whole_groups(value, before))), form, exact=True)


def _literal(value: bytes, text: str) -> Iterator[Needle]:
    exact = len(text) < _SHORTEST_FOLDED
    for plain in (text, text.lower(), text.upper(), text.swapcase()) if exact else (text.lower(),):
        yield Needle(plain.encode(), LITERAL, exact)
        yield Needle(plain[::-1].encode(), "reversed", exact)
        yield Needle(codecs.encode(plain, "rot13").encode(), "rot13", exact)
    if not exact:
        yield Needle(text.lower().encode(), "spread out", pattern=_spread_out(value.lower()))
    word = squeezed(value, Reading.LETTERS).lower()
    if len(word) >= _SHORTEST_WORD:
        yield Needle(word, "between digits", reading=Reading.LETTERS)


def _spread_out(value: bytes) -> re.Pattern[bytes]:
    """The letters and digits of `value` with equally many others between its characters."""
    places = [at for at, byte in enumerate(value) if byte in ALNUM]
    first, *rest = (re.escape(value[at : at + 1]) for at in places)
    steps = [after - before for before, after in pairwise(places)]
    ways = (
        b"".join(b".{%d}%b" % (apart * step, one) for step, one in zip(steps, rest, strict=True))
        for apart in range(1, _FARTHEST + 1)
    )
    return re.compile(b"(?s)%b(?:%b)" % (first, b"|".join(ways)))


def _numbers(points: Sequence[int]) -> Iterator[Needle]:
    """The forms that write each character as a number, one by one or all with equally many
    digits."""
    for base in _BASES:
        numbers = [_digits(point, base) for point in points]
        yield _one_by_one(numbers, DECIMAL, Reading.NUMBERS, _ZEROS)
    yield _one_by_one(numbers, DECIMAL, Reading.NUMBERS, _ZEROS + _EXPONENT)
    plain = max(points) < 0x80  # no number begins with what stands between
    numbers = [b"%x" % point for point in points]
    yield _one_by_one(numbers, "hex", Reading.HEX, rb"[0a-f]{0,40}" if plain else _ZEROS)
    for digits, form in _PADDED:
        yield Needle("".join(format(point, digits) for point in points).encode(), form)
    for whole in (points, points[::-1]):
        number = 0
        for point in whole:
            number = number << 8 | point
        yield Needle(b"%d" % number, "one number")


def _one_by_one(numbers: Sequence[bytes], form: str, reading: Reading, between: bytes) -> Needle:
    """Numbers with zeros `between` them, which are those of 0x53, 0o123, 0123 and 83.0."""
    whole = re.compile(between.join(numbers))
    cut = b"[0-9a-f]*"
    for number in reversed(numbers[SHORTEST : SHORTEST + _DEEPEST]):
        cut = b"(?:%b%b%b)?" % (between, number, cut)
    cut = between.join(numbers[:SHORTEST]) + cut + between + rb"[0-9a-f]{0,7}\Z"
    return Needle(b"".join(numbers), form, reading=reading, pattern=whole, cut=re.compile(cut))


def _digits(number: int, base: int) -> bytes:
    text = b"" if number else b"0"
    while number:
        number, digit = divmod(number, base)
        text = b"%d%b" % (digit, text)
    return text


def _bytes(value: bytes) -> Iterator[bytes]:
    return (value[at : at + 1] for at in range(len(value)))


def _aligned(
    value: bytes, group: int, digits: int, encode: Callable[[bytes], bytes]
) -> Iterable[bytes]:
    """The digits that `value` alone decides, wherever in an encoded text it begins."""
    bits = 8 * group // digits
    for before in range(group):
        text = encode(bytes(before) + value)
        end = 8 * (before + len(value)) // bits
        yield text[-(-8 * before // bits) : end]


def _whole_groups(value: bytes, before: int) -> bytes:
    """The whole groups of four bytes in `value` if `before` bytes stand before it."""
    start = -before % 4
    return value[start : start + (len(value) - start) // 4 * 4]
