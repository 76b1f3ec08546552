"""Classes of forms in place of a list: in no base, width and spelling, and with no separator, is a
secret shown; what is no secret stays."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from v2_conformance.redaction import Mask, shows_masks

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


INNOCENT = st.one_of(
    st.lists(st.floats(0, 1000).map(lambda number: round(number, 3)), max_size=300).map(json.dumps),
    st.lists(st.integers(0, 300), max_size=300).map(json.dumps),
    st.lists(st.integers(0, 1), max_size=900).map(json.dumps),
    st.text(max_size=300),
    st.binary(max_size=500).map(bytes.hex),
    st.binary(max_size=500).map(lambda data: data.decode("latin-1")),
    st.lists(st.sampled_from(["the", "model", "said", "that", "its", "input", "had"])).map(
        " ".join
    ),
)


@EXAMPLES
@given(secret=SECRETS, text=INNOCENT)
def test_innocent_text_stays(secret: str, text: str) -> None:
    assert MASKS[secret].text(text) == text
