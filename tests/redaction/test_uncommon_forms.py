"""Forms of a secret that few servers make."""

from __future__ import annotations

import pytest

from v2_conformance.redaction import Mask

SECRET = "Zk9-pQ7w_vX2/mN4~t0ken"
MASK = Mask((SECRET,))
DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:"


def base45(data: bytes) -> str:
    """An even number of bytes in base 45 (RFC 9285)."""
    made = ""
    for one, other in zip(data[::2], data[1::2], strict=True):
        rest, first = divmod(256 * one + other, 45)
        third, second = divmod(rest, 45)
        made += DIGITS[first] + DIGITS[second] + DIGITS[third]
    return made


def test_the_digits_are_those_of_the_standard() -> None:
    assert base45(b"AB") == "BB8"


@pytest.mark.parametrize("before", [b"", b"no"])
def test_a_secret_in_base_45_is_masked(before: bytes) -> None:
    shown = base45(before + SECRET.encode() + b"!?")
    masked = MASK.text(f"got {shown} from you")
    secret = base45(SECRET.encode())
    assert secret in shown
    assert secret[6:-6] not in masked
    assert "*" * (len(secret) - 6) in masked


@pytest.mark.parametrize("size", [5, 6, 8])
def test_a_secret_in_groups_with_the_same_text_between_them_is_masked(size: int) -> None:
    groups = [SECRET[at : at + size] for at in range(0, len(SECRET), size)]
    masked = MASK.text("line: " + "\nline: ".join(groups))
    assert not [group for group in groups if group in masked]
