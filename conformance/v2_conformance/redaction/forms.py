"""The forms of a value that a reader undoes at sight or with one common tool, as needles.

A needle has only letters and digits, and is looked for in text of which only these are left. So
quotes, escapes, separators, folded lines, and the zero bytes of UTF-16 between the characters make
no difference.
"""

from __future__ import annotations

import base64
import codecs
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

ALNUM = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_OTHERS = bytes(sorted(set(range(256)) - set(ALNUM)))

SHORTEST = 6
"""A shorter value stands in too many innocent places, such as a status."""

DECIMAL = "decimal numbers"
LITERAL = "as it is"
# Shorter matches would be chance in the tens of millions of characters of a report: in the right
# letter case, in any, of digits alone.
_SHORTEST_EXACT, _SHORTEST_FOLDED, _SHORTEST_NUMBER = 6, 8, 12


@dataclass(frozen=True)
class Needle:
    """A text to look for, in any letter case unless it is `exact`.

    The first `shown` characters of a match are no secret.
    """

    text: bytes
    form: str
    exact: bool = False
    shown: int = 0


def squeezed(text: bytes) -> bytes:
    """Only the ASCII letters and digits of `text`."""
    return text.translate(None, _OTHERS)


def needles(value: str, name: str = "") -> tuple[Needle, ...]:
    """Every form of a secret `value`; with `name`, only where the header field of that name is."""
    found: dict[bytes, Needle] = {}
    for needle in _field_forms(name, value) if name else _forms(value.encode()):
        shortest = _SHORTEST_EXACT if needle.exact else _SHORTEST_FOLDED
        if len(needle.text) >= shortest:
            found.setdefault(needle.text, needle)
    return tuple(found.values())


def is_plain_number(value: str) -> bool:
    """Return True if a value is so short a number that its digits may stand in a row by chance."""
    letters = squeezed(value.encode())
    return letters.isdigit() and len(letters) < _SHORTEST_NUMBER


def _field_forms(name: str, value: str) -> Iterator[Needle]:
    """The forms of a header field whose value is too short to be looked for alone."""
    for line in dict.fromkeys((f"{name}: {value}", f"{name.lower()}: {value}")):
        for needle in _forms(line.encode()):
            shown = len(squeezed(name.encode())) if needle.form == LITERAL else 0
            if shown < len(needle.text):
                yield Needle(needle.text, needle.form, needle.exact, shown)


def _forms(value: bytes) -> Iterator[Needle]:
    letters = squeezed(value)
    if not is_plain_number(value.decode()):
        text = letters.decode()
        exact = len(text) < _SHORTEST_FOLDED
        for plain in (
            (text, text.lower(), text.upper(), text.swapcase()) if exact else (text.lower(),)
        ):
            yield Needle(plain.encode(), LITERAL, exact)
            yield Needle(plain[::-1].encode(), "reversed", exact)
            yield Needle(codecs.encode(plain, "rot13").encode(), "rot13", exact)
    for form, text in _per_byte(value):
        yield Needle(text.encode(), form)
    for digits in _aligned(value, 5, 8, base64.b32encode):
        yield Needle(squeezed(digits.lower()), "base32")
    wide = b"".join(bytes((byte, 0)) for byte in value)
    yield Needle(wide.hex().encode(), "UTF-16 in hex")
    for form, data in (("base64", value), ("UTF-16 in base64", wide)):
        for digits in _aligned(data, 3, 4, base64.b64encode):
            yield Needle(squeezed(digits), form, exact=True)
    for form, encode in (("base85", base64.b85encode), ("ascii85", base64.a85encode)):
        for before in range(4):
            yield Needle(squeezed(encode(_whole_groups(value, before))), form, exact=True)


def _per_byte(value: bytes) -> Iterator[tuple[str, str]]:
    """The forms that write each byte for itself, without what separates them."""

    def joined(form: str) -> str:
        return "".join(format(byte, form) for byte in value)

    yield "hex", joined("02x")
    yield "hex with x", "".join(f"x{byte:02x}" for byte in value)
    yield "hex with 0x", "".join(f"0x{byte:02x}" for byte in value)
    yield "code points", "".join(f"u{byte:04x}" for byte in value)
    yield "code points", "".join(f"u{byte:x}" for byte in value)
    yield "long code points", "".join(f"u{byte:08x}" for byte in value)
    yield DECIMAL, joined("d")
    yield "padded decimal numbers", joined("03d")
    yield "octal", joined("03o")
    yield "bits", joined("08b")


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
