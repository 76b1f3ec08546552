"""Output in pieces: a secret is masked wherever the pieces are cut, and nothing else changes."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from support.leaks import FORMS, is_shown
from v2_conformance.redaction import OVERLAP, Mask, MaskedStream

SECRET = b"Zk9-pQ7w_vX2/mN4~t0ken"
MASK = Mask((SECRET.decode(),))
# About where what is held back is given.
BEFORE = st.integers(0, 3).map(lambda n: n * OVERLAP) | st.integers(0, 3 * OVERLAP)


def streamed(mask: Mask, data: bytes, sizes: list[int]) -> bytes:
    stream, given = MaskedStream(mask), b""
    at, turn = 0, 0
    while at < len(data):
        size = sizes[turn % len(sizes)]
        given += stream.feed(data[at : at + size])
        at, turn = at + size, turn + 1
    return given + stream.rest()


@settings(max_examples=60, deadline=None)
@given(
    before=BEFORE,
    behind=BEFORE,
    less=st.integers(0, 40),
    form=st.sampled_from(sorted(FORMS)),
    sizes=st.lists(st.integers(4_000, 70_000), min_size=1, max_size=4),
)
def test_a_secret_is_masked_wherever_the_pieces_are_cut(
    before: int, behind: int, less: int, form: str, sizes: list[int]
) -> None:
    noise = b"-- \n"
    head = noise * (max(0, before - less) // 4)
    shown = FORMS[form](SECRET)
    data = head + b"got " + shown + b" from you\n" + noise * (behind // 4)
    masked = streamed(MASK, data, sizes)
    assert len(masked) == len(data)
    assert masked.startswith(head)
    assert is_shown(masked[len(head) :][: len(shown) + 20], SECRET) is None


def test_the_end_of_output_that_was_cut_off_shows_no_start_of_a_secret() -> None:
    assert streamed(MASK, b"got " + SECRET[:10], [3]) == b"got " + b"*" * 10


def test_without_secrets_nothing_is_held_back() -> None:
    assert MaskedStream(Mask()).feed(b"loading") == b"loading"
