"""The forms of a value that write it as numbers: its characters, its bytes in words, or as one."""

from __future__ import annotations

import re
import struct
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache

from v2_conformance.redaction.needles import SHORTEST, Needle, Reading

DECIMAL = "numbers"
# Of bases above, the digits of a number cannot be told from what stands between numbers.
_BASES = range(2, 11)
_PADDED = (("07b", "bits"), ("08b", "bits"), ("03o", "octal"), ("03d", DECIMAL), ("02x", "hex"))
# So many characters are looked for at once, and those after them one by one: to compile patterns
# of thousands would take longer than a run.
_FIRST = 64
_DEEPEST = 60
_ZEROS = rb"0{0,24}"
_EXPONENT = rb"(?:0[12])?"  # of 8.3e+01
_WORDS = (2, 4, 8)
_LONGEST_IN_WORDS, _LONGEST_IN_ONE = 256, 1024
_DIGITS = b"0123456789abcdefghijklmnopqrstuvwxyz"
# Of whole numbers: of any tool, of Bitcoin, and of both orders of letters.
_ALPHABETS = {
    8: (_DIGITS,),
    10: (_DIGITS,),
    36: (_DIGITS,),
    58: (b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",),
    62: (
        b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    ),
}
_CHARSETS = (
    *("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "latin-1", "cp1252", "cp1251"),
    *("cp1250", "cp1253", "cp437", "cp850", "koi8-r", "iso8859-2", "iso8859-5", "mac-roman"),
    *("shift_jis", "euc-jp", "gb18030", "big5", "euc-kr", "cp037", "cp500"),
)
_EBCDIC = ("cp037", "cp500")


def numbers(value: bytes) -> Iterator[Needle]:
    """The forms of a value as numbers."""
    points = tuple(map(ord, value.decode()))
    for characters in dict.fromkeys((tuple(value), points)):
        yield from _characters(characters)
    if not value.isascii():  # as INT8 has them
        yield _one_by_one([b"%d" % min(byte, 256 - byte) for byte in value], DECIMAL, _ZEROS)
    yield from _words(value)
    yield from _as_one(value)
    backwards = "".join(f"{byte:08b}"[::-1] for byte in value)
    for bits in (backwards, "".join(f"{byte:08b}" for byte in value)):
        yield Needle("0".join((*bits, "")).encode(), "bits", reading=Reading.NUMBERS)  # 0.0, 1.0
    yield Needle(backwards.encode(), "bits")


def _as_one(value: bytes) -> Iterator[Needle]:
    if len(value) > _LONGEST_IN_ONE:
        return
    for order in ("big", "little"):
        number = int.from_bytes(value, "big" if order == "big" else "little")
        for base, alphabets in _ALPHABETS.items():
            for alphabet in alphabets:
                yield Needle(_digits(number, base, alphabet), "one number", exact=base > 36)


def raw_forms(value: str) -> Iterator[bytes]:
    """The bytes of a value in other character sets, and as the elements of raw tensors."""
    yield from _floats(value)
    bits = [f"{byte:08b}" for byte in value.encode()]
    for spelled in ("".join(bits), "".join(one[::-1] for one in bits)):
        yield bytes(map(int, spelled))  # a tensor of BOOL
    yield from (value.encode(charset, "ignore") for charset in _EBCDIC)


def raw_texts(value: str) -> Iterator[bytes]:
    """The bytes of a value of which no reading has its letters, as any charset has them."""
    cases = (value, value.lower(), value.upper(), value.swapcase())
    texts = dict.fromkeys(text for case in cases for text in (case, case[::-1]))
    for text in texts:
        for form in ("NFC", "NFD", "NFKC"):
            normal = unicodedata.normalize(form, text)
            for charset in _CHARSETS:
                try:
                    yield normal.encode(charset)
                except UnicodeEncodeError:
                    continue


def _floats(value: str) -> Iterator[bytes]:
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


def _characters(points: Sequence[int]) -> Iterator[Needle]:
    """The forms that write each character as a number, one by one or all with equally many
    digits."""
    for base in _BASES:
        spelled = {point: _digits(point, base) for point in set(points)}
        yield _one_by_one([spelled[point] for point in points], DECIMAL, _ZEROS)
    decimal = [b"%d" % point for point in points]
    hexadecimal = [b"%x" % point for point in points]
    plain = max(points) < 0x80  # no number begins with what stands between
    between = rb"[0a-f]{0,40}" if plain else _ZEROS
    yield _one_by_one(decimal, DECIMAL, _ZEROS + _EXPONENT)
    yield _one_by_one(decimal[::-1], DECIMAL, _ZEROS)
    yield _one_by_one(hexadecimal, "hex", between, Reading.HEX)
    yield _one_by_one(hexadecimal[::-1], "hex", between, Reading.HEX)
    for first in (0, 1):  # each behind its place, as JSON.stringify writes a Uint8Array
        places = [b"%d" % place for place in range(first, first + len(points))]
        for spelled_so, form, reading in (
            (decimal, DECIMAL, Reading.NUMBERS),
            (hexadecimal, "hex", Reading.HEX),
        ):
            pairs = [text for pair in zip(places, spelled_so, strict=True) for text in pair]
            yield _one_by_one(pairs, form, _ZEROS if form == DECIMAL else between, reading)
    for digits, form in _PADDED:
        yield Needle("".join(format(point, digits) for point in points).encode(), form)


def _words(value: bytes) -> Iterator[Needle]:
    """The whole words of `value` as od and hexdump write them, and tensors of integers: wherever it
    begins, in either order of bytes. (Highest first, hex has the bytes in their order.)"""
    data = value[:_LONGEST_IN_WORDS]
    for size in _WORDS:
        for start in range(size):
            count = (len(data) - start) // size
            pieces = [data[start + n * size : start + (n + 1) * size] for n in range(count)]
            swapped = [piece[::-1] for piece in pieces]
            yield Needle(b"".join(swapped).hex().encode(), "hex words")
            for words in (pieces, swapped):
                found = [int.from_bytes(word, "big") for word in words]
                decimal = b"".join(b"%d" % one for one in found)
                yield Needle(decimal, "words", reading=Reading.NUMBERS)
                if size == _WORDS[0]:
                    yield Needle(b"".join(b"%06o" % one for one in found), "octal words")


def _one_by_one(
    spelled: Sequence[bytes], form: str, between: bytes, reading: Reading = Reading.NUMBERS
) -> Needle:
    """Numbers with zeros `between` them, which are those of 0x53, 0o123, 0123 and 83.0."""
    first = spelled[:_FIRST]
    cut = b"[0-9a-f]*"
    for number in reversed(spelled[SHORTEST : SHORTEST + _DEEPEST]):
        cut = b"(?:%b%b%b)?" % (between, number, cut)
    cut = between.join(spelled[:SHORTEST]) + cut + between + rb"[0-9a-f]{0,7}\Z"
    return Needle(
        b"".join(spelled),
        form,
        reading=reading,
        pattern=re.compile(between.join(first)),
        cut=re.compile(cut),
        rest=tuple(_after(between, number) for number in spelled[_FIRST:]),
    )


@cache
def _after(between: bytes, number: bytes) -> re.Pattern[bytes]:
    return re.compile(between + number)


def _digits(number: int, base: int, alphabet: bytes = _DIGITS) -> bytes:
    """A number in a base, whatever its length: Python limits its own of base 10."""
    several = base**8
    digits = bytearray()
    while number:
        number, low = divmod(number, several)
        for _ in range(8):
            low, digit = divmod(low, base)
            digits.append(alphabet[digit])
    return bytes(digits[::-1]).lstrip(alphabet[:1]) or alphabet[:1]
