"""The forms of a value that a reader undoes at sight or with one common tool, as needles."""

from __future__ import annotations

import base64
import codecs
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from v2_conformance.redaction.needles import (
    DIGITS,
    LETTERS,
    Needle,
    Reading,
    squeezed,
)
from v2_conformance.redaction.numbers import numbers

LITERAL = "as it is"
# Shorter matches would be chance in the tens of millions of characters of a report: in the right
# letter case, in any, of digits alone, of letters alone.
_SHORTEST_EXACT, _SHORTEST_FOLDED, _SHORTEST_NUMBER, _SHORTEST_WORD = 6, 8, 12, 10
_BASE32 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
# Of RFC 4648, of Crockford and of people.
_OTHER_BASE32 = (
    b"0123456789ABCDEFGHIJKLMNOPQRSTUV",
    b"0123456789ABCDEFGHJKMNPQRSTVWXYZ",
    b"ybndrfg8ejkmcpqxot1uwisza345h769",
)
_BASE64 = LETTERS + DIGITS + b"+/"
# Of uuencode, xxencode, crypt and bcrypt.
_OTHER_BASE64 = (
    bytes(range(0x20, 0x60)),
    b"+-" + DIGITS + LETTERS,
    b"./" + DIGITS + LETTERS,
    b"./" + LETTERS + DIGITS,
)
_BASE85 = DIGITS + LETTERS + b"!#$%&()*+-;<=>?@^_`{|}~"
_Z85 = DIGITS + LETTERS[26:] + LETTERS[:26] + b".-:+=^!/*?&<>()[]{}@%$#"
_BASE45 = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:"
_FARTHEST = 8
_GROUPS = (1, 2, 3, 4)
# Of one text that stands again and again, such as the name of a field.
_FARTHEST_ALIKE = 24
# Of a longer value the start is looked for, and as much behind it is hidden.
_FIRST = 64
# Whatever stands between the two halves of a value, such as the start of a line of a log.
_APART = 64
_LEAST_HALF, _LONGEST_HALVED = 4, 40
_PRINTABLE = bytes(range(33, 127))
_ROT47 = bytes.maketrans(_PRINTABLE, _PRINTABLE[47:] + _PRINTABLE[:47])
_ROT18 = bytes.maketrans(DIGITS, DIGITS[5:] + DIGITS[:5])
_ATBASH = bytes.maketrans(LETTERS, LETTERS[25::-1] + LETTERS[:25:-1])
_NUMBER_LIKE = frozenset(" .,:;+-/()_") | frozenset(DIGITS.decode())
_LOOSE = frozenset({"spread out", "between the same", "between digits", "with more between"})


def needles(value: str, name: str = "") -> tuple[Needle, ...]:
    """Every form of a secret `value`; with `name`, only where the header field of that name is."""
    found: dict[object, Needle] = {}
    for needle in _field_forms(name, value) if name else _forms(value.encode()):
        shortest = _SHORTEST_EXACT if needle.exact else _SHORTEST_FOLDED
        if needle.form in ("words", "octal words", "one number"):
            shortest = _SHORTEST_NUMBER
        if len(needle.text) >= shortest:
            found.setdefault((needle.text, needle.reading, needle.pattern), needle)
    return tuple(found.values())


def is_plain_number(value: str) -> bool:
    """Return True if a value is so short a number that its digits may stand in a row by chance."""
    return set(value) <= _NUMBER_LIKE and len(squeezed(value.encode())) < _SHORTEST_NUMBER


def _field_forms(name: str, value: str) -> Iterator[Needle]:
    """The forms of a header field whose value is too short to be looked for alone."""
    for line in dict.fromkeys((f"{name}: {value}", f"{name.lower()}: {value}")):
        for needle in _forms(line.encode()):
            if needle.form in _LOOSE:
                continue
            shown = len(squeezed(name.encode())) if needle.form == LITERAL else 0
            if shown < len(needle.text):
                yield replace(needle, shown=shown)


def _forms(value: bytes) -> Iterator[Needle]:
    letters = squeezed(value)
    if not is_plain_number(value.decode()):
        yield from _literal(value, letters.decode())
    yield from numbers(value)
    for data in dict.fromkeys((value, *_in_other_charsets(value))):
        if data != value:
            yield Needle(data.hex().encode(), "hex")
        for digits in _aligned(data, 3, 4, base64.b64encode):
            yield Needle(squeezed(digits), "base64", exact=True)
    for digits in _aligned(value, 3, 4, base64.b64encode):
        for alphabet in _OTHER_BASE64:
            other = digits.translate(bytes.maketrans(_BASE64, alphabet))
            yield Needle(squeezed(other), "base64", exact=True)
    for start in range(2):
        yield Needle(squeezed(_base45(value[start:])).lower(), "base45")
    for digits in _aligned(value, 5, 8, base64.b32encode):
        yield Needle(squeezed(digits.lower()), "base32")
        for alphabet in _OTHER_BASE32:
            other = digits.translate(bytes.maketrans(_BASE32, alphabet))
            yield Needle(squeezed(other.lower()), "base32")
    for before in range(4):
        groups = _whole_groups(value, before)
        base85 = base64.b85encode(groups)
        z85 = base85.translate(bytes.maketrans(_BASE85, _Z85))
        for digits in (base85, z85, base64.a85encode(groups)):
            yield Needle(squeezed(digits), "base85", exact=True)


def _literal(value: bytes, text: str) -> Iterator[Needle]:
    exact = len(text) < _SHORTEST_FOLDED
    for plain in (text, text.lower(), text.upper(), text.swapcase()) if exact else (text.lower(),):
        turned = codecs.encode(plain, "rot13").encode()
        yield Needle(plain.encode(), LITERAL, exact)
        yield Needle(plain[::-1].encode(), "reversed", exact)
        yield Needle(turned, "rot13", exact)
        yield Needle(turned.translate(_ROT18), "rot18", exact)
        yield Needle(plain.encode().translate(_ATBASH), "atbash", exact)
    yield Needle(squeezed(value.translate(_ROT47)), "rot47", exact=True)
    if not exact:
        yield Needle(text.lower().encode(), "spread out", pattern=_spread_out(value.lower()))
        yield Needle(text.lower().encode(), "between the same", pattern=_between_the_same(value))
        if len(text) <= _LONGEST_HALVED:
            lower = text.lower().encode()
            yield Needle(lower, "with more between", pattern=_in_two(lower))
    word = squeezed(value, Reading.LETTERS).lower()
    if len(word) >= _SHORTEST_WORD:
        yield Needle(word, "between digits", reading=Reading.LETTERS)
        spread = _spread_out(value.lower(), Reading.LETTERS)
        yield Needle(word, "spread out", reading=Reading.LETTERS, pattern=spread)
        alike = _between_the_same(value, Reading.LETTERS)
        yield Needle(word, "between the same", reading=Reading.LETTERS, pattern=alike)


def _spread_out(value: bytes, reading: Reading = Reading.TEXT) -> re.Pattern[bytes]:
    """The characters that a reading keeps of `value`, with equally many others of its characters
    between those of `value`, or between groups of them."""
    start = next(at for at, byte in enumerate(value) if byte in reading.value)
    ways = []
    # Symbols may have others behind them, too, or not.
    cuts = ((squeezed(value, reading), 1), *((value[start:], size) for size in _GROUPS))
    for text, size in dict.fromkeys(cuts):
        groups = [squeezed(text[at : at + size], reading) for at in range(0, len(text), size)]
        first, after = groups[: _FIRST // size], groups[_FIRST // size :]
        for apart in range(1, _FARTHEST + 1):
            way = (b".{%d}" % apart).join(map(re.escape, first))
            more = sum(map(len, after)) + apart * len(after)
            ways.append(way[1:] + (b".{0,%d}" % more if more else b""))
    return re.compile(b"(?s)%b(?:%b)" % (value[start : start + 1], b"|".join(ways)))


def _between_the_same(value: bytes, reading: Reading = Reading.TEXT) -> re.Pattern[bytes]:
    """The characters that a reading keeps of `value`, in groups of equally many characters, with
    one text between all of them: lines with the same beginning, each element beside its name."""
    start = next(at for at, byte in enumerate(value) if byte in reading.value)
    text = value[start:][:_FIRST].lower()
    ways = []
    for size in range(1, (len(text) + 1) // 2):  # two groups are two parts
        groups = [squeezed(text[at : at + size], reading) for at in range(0, len(text), size)]
        least = _FARTHEST + 1 if size in _GROUPS else 1
        between = b"(?P<g%d>.{%d,%d}?)" % (size, least, _FARTHEST_ALIKE)
        ways.append(groups[0][1:] + between + (b"(?P=g%d)" % size).join(groups[1:]))
    return re.compile(b"(?s)%b(?:%b)" % (text[:1], b"|".join(ways)))


def _in_two(text: bytes) -> re.Pattern[bytes]:
    """`text` with something between its two parts, wherever it was cut; not two whole ones."""
    cuts = range(_LEAST_HALF, len(text) - _LEAST_HALF + 1)
    ways = (
        b"%b(?!%b).{1,%d}?%b" % (text[_LEAST_HALF:at], text[at : at + 1], _APART, text[at:])
        for at in cuts
    )
    return re.compile(b"(?s)%b(?:%b)" % (text[:_LEAST_HALF], b"|".join(ways)))


def _in_other_charsets(value: bytes) -> Iterator[bytes]:
    """UTF-16 and UTF-32, of which no end is known unless there are other characters than ASCII."""
    if value.isascii():
        yield from (zeros.join(_bytes(value)) for zeros in (b"\0", b"\0\0\0"))
        return
    for charset in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "latin-1"):
        yield value.decode().encode(charset, "replace")


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


def _base45(value: bytes) -> bytes:
    """The digits of whole pairs of bytes (RFC 9285)."""
    digits = bytearray()
    for at in range(0, len(value) - 1, 2):
        number = int.from_bytes(value[at : at + 2], "big")
        digits += bytes(_BASE45[number // power % 45] for power in (1, 45, 45 * 45))
    return bytes(digits)


def _whole_groups(value: bytes, before: int) -> bytes:
    """The whole groups of four bytes in `value` if `before` bytes stand before it."""
    start = -before % 4
    return value[start : start + (len(value) - start) // 4 * 4]
