"""Classes of forms in place of a list: in no base, width and spelling, and with no separator, is a
secret shown; what is no secret stays."""

from __future__ import annotations

import base64
import binascii
import codecs
import json
import random
import string
import struct
import unicodedata
import urllib.parse
from collections.abc import Callable, Sequence
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.leaks import Encode
from v2_conformance.redaction import Mask, shows_masks
from v2_conformance.redaction.needles import ALNUM

ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789-_/+~."
DRAWN = random.Random(7)
# A mask takes longer to make than to use.
MASKS = {
    secret: Mask((secret,))
    for secret in ("".join(DRAWN.choices(ALPHABET, k=size)) for size in (12, 14, 17, 22, 28, 40))
}
SECRETS = st.sampled_from(sorted(MASKS))
# None of the digits of a number: those of base 16 are for themselves.
BETWEEN = st.text(" ,;:|\n\t[]{}()\"'/-_.#%xyz", max_size=6) | st.sampled_from(
    ["</td><td>", " and ", "<b>", "</b> <b class='x'>", " or else "]
)
EXAMPLES = settings(max_examples=200, deadline=None)


def digits(number: int, base: int) -> str:
    return digits(number // base, base) + str(number % base) if number else ""


def left(secret: str, parts: Sequence[str], text: str) -> int:
    """How many of the parts, which `text` has in this order, can still be read."""
    masked = MASKS[secret].text(text)
    assert len(masked) == len(text)
    found = at = 0
    for part in parts:
        at = text.index(part, at)
        found += masked[at : at + len(part)] == part
        at += len(part)
    return found


@EXAMPLES
@given(
    secret=SECRETS,
    base=st.integers(2, 10),
    prefix=st.sampled_from(["", "0", "00", "0b", "0o", "0O", "\\", "\\0", "#", "&#", "U+"]),
    suffix=st.sampled_from(["", ".0", ".000", ";", "h", "."]),
    between=BETWEEN,
    width=st.sampled_from([0, 3, 7, 8, 16]),
)
def test_numbers_in_any_base(
    secret: str, base: int, prefix: str, suffix: str, between: str, width: int
) -> None:
    numbers = [digits(ord(character), base).zfill(width) for character in secret]
    spelled = between.join(f"{prefix}{number}{suffix}" for number in numbers)
    assert left(secret, numbers, f"got {spelled} there") == 0


@EXAMPLES
@given(
    secret=SECRETS,
    form=st.sampled_from(["x", "X", "04x", "04X", "08x"]),
    prefix=st.sampled_from(["", "0x", "0X", "x", "\\x", "\\u", "U+", "&#x", "$", "0"]),
    between=BETWEEN,
)
def test_numbers_in_hex(secret: str, form: str, prefix: str, between: str) -> None:
    numbers = [format(ord(character), form) for character in secret]
    spelled = between.join(prefix + number for number in numbers)
    assert left(secret, numbers, f"got {spelled} there") == 0


@EXAMPLES
@given(secret=SECRETS, form=st.sampled_from(["{:.1f}", "{:.6f}", "{:.7e}", "{:.2E}", "{:.4g}"]))
def test_a_tensor_of_code_points_in_json_stays_one(secret: str, form: str) -> None:
    numbers = [form.format(ord(character)) for character in secret]
    body = f'{{"data": [{", ".join(numbers)}]}}'
    assert left(secret, numbers, body) == 0
    masked = MASKS[secret].data(
        f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
    )
    assert shows_masks(masked)
    assert len(json.loads(masked.partition(b"\r\n\r\n")[2])["data"]) == len(secret)


@pytest.mark.parametrize("datatype", [*"efdbhiqBHIQ"])
@pytest.mark.parametrize("order", "<>")
def test_a_raw_tensor_of_code_points_is_masked(order: str, datatype: str) -> None:
    secret = "Zk9-pQ7w_vX2/mN4~t0ken"
    data = struct.pack(f"{order}{len(secret)}{datatype}", *secret.encode())
    noise = random.Random(1).randbytes(64)
    masked = Mask((secret,)).data(noise + data + noise)
    assert masked[:64] == masked[-64:] == noise
    size = len(data) // len(secret)
    assert set(masked[64 + size : -64 - size]) == {ord("*")}


@EXAMPLES
@given(secret=SECRETS, between=st.text(st.characters(max_codepoint=126), max_size=8) | BETWEEN)
def test_one_separator_between_all_characters(secret: str, between: str) -> None:
    spread = between.join(secret)
    masked = MASKS[secret].text(f"got {spread} there")
    shown = masked[4:-6][:: len(between) + 1]
    assert sum(a == b for a, b in zip(shown, secret, strict=True) if b.isalnum()) <= 3


@EXAMPLES
@given(secret=SECRETS, data=st.data())
def test_other_letters_and_digits_between_the_characters(secret: str, data: st.DataObject) -> None:
    letters = data.draw(st.text("xyzXYZ", min_size=len(secret), max_size=len(secret)))
    spread = "".join(map("".join, zip(secret, letters, strict=True)))
    assert "*" * len(secret) in MASKS[secret].text(spread)
    word = [character for character in secret if character.isalpha()]
    if len(word) >= 10:
        gaps = data.draw(st.lists(st.text("0123456789 ,.", max_size=6), min_size=40, max_size=40))
        counted = "".join(map("".join, zip(secret, gaps, strict=False)))
        assert left(secret, word, counted) == 0


@EXAMPLES
@given(secret=SECRETS)
def test_octal_escapes_without_zeros_among_plain_characters(secret: str) -> None:
    parts = [
        character if at % 2 or character.isdigit() else f"\\{ord(character):o}"
        for at, character in enumerate(secret)
    ]
    # A digit after such an escape would be one of its own.
    spelled = "".join(
        parts[at] + "' '" * parts[at - 1].startswith("\\") for at in range(len(parts))
    )
    assert MASKS[secret].text(f"got '{spelled}'").count("*") >= len(secret)


@pytest.mark.parametrize("shown", [8, 15, 22])
@pytest.mark.parametrize("form", ["{:.1f}, ", "{}, ", "0b{:b} ", "0x{:04x}, ", "{:e};"])
def test_a_quotation_of_numbers_that_is_cut_off_shows_none(form: str, shown: int) -> None:
    secret = "Zk9-pQ7w_vX2/mN4~t0ken"
    parts = [form.format(ord(character)) for character in secret[:shown]]
    masked = Mask((secret,)).text(f"got [{''.join(parts)[:-3]}…")
    assert masked.count("42") + masked.count("*****") > shown / 2
    assert not any(part.strip("0bx ,;") in masked for part in parts)


PASSWORDS = {
    secret: Mask((secret,))
    for secret in (
        "Zk9-pQ7w_vX2/mN4~t0ken",
        "hunter2-swordfish",
        "пароль-секрет-7",
        "pässwört-Grüße",
    )
}


def in_lines(digits: Callable[[bytes], str], looks: str = "", colon: str = "") -> Encode:
    """A dump, 16 bytes a line."""
    return lambda data: "\n".join(
        f"{at:08x}{colon} {digits(data[at : at + 16])}{looks and looks % '.' * 9}"
        for at in range(0, len(data), 16)
    ).encode()


def words(
    size: int, form: str, between: str = ", ", order: Literal["big", "little"] = "little"
) -> Encode:
    """The whole words."""

    def spelled(data: bytes) -> bytes:
        pieces = [data[at : at + size] for at in range(0, len(data) // size * size, size)]
        return between.join(format(int.from_bytes(p, order), form) for p in pieces).encode()

    return spelled


def in_base(alphabet: str, order: Literal["big", "little"] = "big") -> Encode:
    def spelled(data: bytes) -> bytes:
        number, digits = int.from_bytes(data, order), ""
        while number:
            number, digit = divmod(number, len(alphabet))
            digits = alphabet[digit] + digits
        return digits.encode()

    return spelled


def in_other_digits(encode: Encode, usual: str, others: str) -> Encode:
    """What `encode` makes, with other digits in the place of its own."""
    table = bytes.maketrans(usual.encode(), others.encode())
    return lambda data: encode(data).rstrip(b"=").translate(table)


def in_turn(form: str, between: str = "", first: int = 0) -> Encode:
    """Each character with its place."""
    return lambda data: between.join(
        form.format(at=at, code=byte, character=chr(byte)) for at, byte in enumerate(data, first)
    ).encode()


def in_lines_of(size: int, before: str) -> Encode:
    """Lines that begin alike, as logs write a long one."""
    return text(
        lambda one: "\n".join(
            before.format(at=at) + one[at : at + size] for at in range(0, len(one), size)
        )
    )


def text(change: Callable[[str], str]) -> Encode:
    return lambda data: change(data.decode()).encode()


def bits(data: bytes) -> str:
    return "".join(f"{byte:08b}" for byte in data)


DIGITS = "0123456789"
UPPER, LOWER = string.ascii_uppercase, string.ascii_lowercase
BITCOIN = "".join(one for one in DIGITS + UPPER + LOWER if one not in "0OIl")
WIDE = {code: code + 0xFEE0 for code in range(33, 127)}
BASE64 = UPPER + LOWER + DIGITS + "+/"
BASE85 = DIGITS + UPPER + LOWER + "!#$%&()*+-;<=>?@^_`{|}~"
Z85 = DIGITS + LOWER + UPPER + ".-:+=^!/*?&<>()[]{}@%$#"
BOLD = {ord(one): 0x1D400 + at for at, one in enumerate(UPPER + LOWER)}
INVISIBLE = {code: 0xE0000 + code for code in range(128)}
ROT47 = {code: 33 + (code + 14) % 94 for code in range(33, 127)}
ROT5 = str.maketrans(DIGITS, DIGITS[5:] + DIGITS[:5])
ATBASH = str.maketrans(UPPER + LOWER, UPPER[::-1] + LOWER[::-1])
SPELLED: dict[str, Encode] = {
    **{f"base {len(a)}": in_base(a) for a in ("01234567", DIGITS + LOWER, BITCOIN)},
    "base 62": in_base(DIGITS + UPPER + LOWER),
    "base 62, lower first": in_base(DIGITS + LOWER + UPPER),
    "octal, lowest first": in_base("01234567", "little"),
    "uuencode": binascii.b2a_uu,
    "rot47": text(lambda one: one.translate(ROT47)),
    "rot18": text(
        lambda one: codecs.encode(one, "rot13").translate(str.maketrans(DIGITS, "5678901234"))
    ),
    "atbash": text(lambda one: one.translate(ATBASH)),
    "hex, reversed": lambda data: data[::-1].hex().encode(),
    "numbers, reversed": lambda data: str(list(data[::-1])).encode(),
    "hexdump -C": in_lines(lambda line: line.hex(" "), "  |%s|"),
    "xxd": in_lines(lambda line: line.hex(" ", 2), "  %s", ":"),
    "xxd -b": in_lines(lambda line: " ".join(f"{byte:08b}" for byte in line), colon=":"),
    "od -td1": in_lines(lambda line: " ".join(f"{byte:4}" for byte in line)),
    "hexdump": words(2, "04x", " "),
    "od": words(2, "06o", " "),
    **{f"words of {size}": words(size, "d") for size in (2, 4, 8)},
    **{f"words of {size}, highest first": words(size, "d", order="big") for size in (2, 4, 8)},
    "od, highest first": words(2, "06o", " ", "big"),
    **{f"words of {size} in hex": words(size, f"0{2 * size}x", " ") for size in (4, 8)},
    "gdb": in_lines(lambda line: line.hex("\t"), colon=" <buffer+16>:"),
    "Wireshark": in_lines(lambda line: f"{line.hex(' '):48}", "  %s"),
    "tcpdump": lambda data: b"0x" + in_lines(lambda line: line.hex(" ", 2), "  %s", ":")(data),
    "netty": lambda data: in_lines(lambda line: line.hex(" "), " |%s|", "|")(data),
    "xxencode": in_other_digits(base64.b64encode, BASE64, "+-" + DIGITS + UPPER + LOWER),
    "crypt": in_other_digits(base64.b64encode, BASE64, "./" + DIGITS + UPPER + LOWER),
    "bcrypt": in_other_digits(base64.b64encode, BASE64, "./" + UPPER + LOWER + DIGITS),
    "Z85": in_other_digits(base64.b85encode, BASE85, Z85),
    "Uint8Array in JSON": lambda data: json.dumps(dict(enumerate(data))).encode(),
    "PHP": in_turn("[{at}]=> int({code})", "\n"),
    "counted from one": in_turn("{at}: {code:02x}", "; ", 1),
    "named elements": in_turn('bytes_contents: "{character}"', "\n"),
    "in lines of six": in_lines_of(6, "2026-11-26T10:00:0{at}Z stdout P "),
    "in lines of five": in_lines_of(5, "| "),
    "a list of truths": lambda data: json.dumps([b == "1" for b in bits(data)]).encode(),
    "a tensor of BOOL": lambda data: bytes(map(int, bits(data))),
    "bits as floats": lambda data: json.dumps([float(b) for b in bits(data)]).encode(),
    "bits, lowest first": lambda data: "".join(f"{b:08b}"[::-1] for b in data).encode(),
    "EBCDIC": lambda data: data.decode().encode("cp037", "replace"),
    "UTF-7": lambda data: b"+" + base64.b64encode(data.decode().encode("utf-16-be")) + b"-",
    "PowerShell": lambda data: base64.b64encode(data.decode().encode("utf-16-le")),
    "wide letters": text(lambda one: one.translate(WIDE)),
    "bold letters": text(lambda one: one.translate(BOLD)),
    "bold letters in JSON": lambda data: json.dumps(data.decode().translate(BOLD)).encode(),
    "letters that nobody sees": text(lambda one: one.translate(INVISIBLE)),
    "names of characters": text(lambda one: "".join(f"\\N{{{unicodedata.name(c)}}}" for c in one)),
    "each letter twice": text(lambda one: "".join(2 * c for c in one)),
    "in pairs": text(lambda one: " or ".join(one[at : at + 2] for at in range(0, len(one), 2))),
    "in fields": text(lambda one: "\r\n".join(f"X-{at}: {c}" for at, c in enumerate(one))),
    "in objects": text(lambda one: json.dumps([{"at": at, "is": c} for at, c in enumerate(one)])),
    "in two parts": text(lambda one: f"{one[:8]}\n2026-11-25 10:00:00 INFO {one[8:]}"),
    "decomposed": text(lambda one: unicodedata.normalize("NFD", one)),
    "Windows-1251 or Latin-1": lambda data: data.decode().encode(
        "cp1251" if "п" in data.decode() else "latin-1"
    ),
    "percent": text(urllib.parse.quote),
    "a list of INT8": lambda data: str(list(struct.unpack(f"{len(data)}b", data))).encode(),
}
# Of other alphabets than Latin, or letters with marks, not all forms are promised.
ONLY_ASCII = {
    *("rot47", "rot18", "atbash", "EBCDIC", "wide letters", "bold letters", "bold letters in JSON"),
    *("letters that nobody sees", "each letter twice", "in pairs", "in fields", "in objects"),
    *("in two parts", "words of 2", "words of 4", "words of 8"),
    *("named elements", "in lines of six", "in lines of five", "Wireshark", "tcpdump", "netty"),
    *("words of 2, highest first", "words of 4, highest first", "words of 8, highest first"),
    "gdb",
}


@pytest.mark.parametrize(
    ("secret", "form"),
    [
        (secret, form)
        for secret in PASSWORDS
        for form in SPELLED
        if secret.isascii() or form not in ONLY_ASCII
    ],
)
def test_a_form_that_one_tool_undoes_is_masked(secret: str, form: str) -> None:
    spelled = SPELLED[form](secret.encode())
    body = b'{"error": "got ' + spelled + b' there"}'
    sent = b"HTTP/1.1 400 Bad\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    masked = PASSWORDS[secret].data(sent)
    assert len(masked) == len(sent)
    shown = zip(sent[-len(spelled) - 8 : -8], masked[-len(spelled) - 8 : -8], strict=True)
    kept = sum(a == b for a, b in shown if a in ALNUM or a > 0x7F) / len(spelled)
    assert kept < 0.3


@pytest.mark.parametrize("size", [1800, 9000])
def test_a_long_token_is_masked_as_a_short_one_is(size: int) -> None:
    token = "".join(DRAWN.choices(ALPHABET, k=size))
    mask = Mask((token,))
    for spelled in (token, token.encode().hex(), base64.b64encode(token.encode()).decode()):
        assert mask.text(f"got {spelled} there").count("*") >= 0.9 * len(spelled)
    listed = json.dumps(list(token.encode()))
    assert set(json.loads(mask.text(listed))) == {42}
    assert mask.excerpt(token[: size // 2].encode()).startswith(b"*" * (size // 2 - 9))


@pytest.mark.parametrize("magic", [b"PK\x03\x04", b"\x28\xb5\x2f\xfd"])
def test_a_packed_file_that_nobody_here_reads_is_masked_whole(magic: bytes) -> None:
    sent = b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n" + magic + b"whatever"
    assert PASSWORDS["hunter2-swordfish"].data(sent).endswith(b"\r\n" + b"*" * 12)


INNOCENT = st.one_of(
    st.lists(st.floats(0, 1000).map(lambda number: round(number, 3)), max_size=300).map(json.dumps),
    st.lists(st.integers(0, 300), max_size=300).map(json.dumps),
    st.lists(st.integers(0, 1), max_size=900).map(json.dumps),
    st.text(max_size=300),
    st.binary(max_size=500).map(bytes.hex),
    st.binary(max_size=500).map(lambda data: data.decode("latin-1")),
    st.lists(st.booleans(), max_size=300).map(json.dumps),
    st.binary(max_size=500).map(lambda data: data.hex(" ", 2)),
    st.lists(st.sampled_from(["the", "model", "said", "that", "its", "input", "had"])).map(
        " ".join
    ),
)


@EXAMPLES
@given(secret=SECRETS, text=INNOCENT)
def test_innocent_text_stays(secret: str, text: str) -> None:
    assert MASKS[secret].text(text) == text
