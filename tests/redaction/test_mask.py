"""Masks: a secret is hidden in each promised form and delivery, and nothing else is."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.leaks import DELIVERIES, FORMS, delivered, is_shown
from v2_conformance.errors import LeakError
from v2_conformance.redaction import Mask, MaskedStream, is_findable, shows_masks

SECRETS = (
    "Zk9-pQ7w_vX2/mN4~t0ken",
    "a \"b\\c' + 7&<d>=",
    "gr\u00fc\u00dfe-\U0001f600-\u043f\u0430",
    "x" * 3000,
)
MASKS = {secret: Mask((secret,)) for secret in SECRETS}
SECRET = SECRETS[0]
MASK = MASKS[SECRET]


@pytest.mark.parametrize(
    ("form", "secret"),
    [
        (form, secret)
        for form in FORMS
        for secret in SECRETS
        # Some forms are for ASCII alone, or for text without backslashes.
        if secret.isascii() or form.startswith(("plain", "perc", "plus", "hex", "base64", "url"))
        if "\\" not in secret or not form.startswith("some")
    ],
    ids=lambda value: value[:16],
)
@pytest.mark.parametrize("how", DELIVERIES)
def test_each_form_in_each_delivery_is_hidden(how: str, form: str, secret: str) -> None:
    sent = delivered(how, b'{"error": "got ' + FORMS[form](secret.encode()) + b' from you"}')
    assert is_shown(sent, secret.encode()), "the reader of this test is blind to it"
    masked = MASKS[secret].data(sent)
    assert len(masked.data) == len(sent)
    assert is_shown(masked.data, secret.encode()) is None
    assert shows_masks(masked.data)
    assert not shows_masks(sent)
    assert masked.withheld == (how not in ("with its length", "until the end"))


@settings(max_examples=200, deadline=None)
@given(st.text(min_size=8, max_size=40), st.sampled_from(sorted(FORMS)), st.binary(max_size=4))
def test_any_secret_is_hidden_and_what_is_beside_it_is_not(
    secret: str, form: str, beside: bytes
) -> None:
    if not secret.isascii() or not is_findable(secret):
        return
    shown = FORMS[form](secret.encode())
    masked = Mask((secret,)).data(beside + b" | " + shown + b" | " + beside).data
    assert is_shown(masked, secret.encode()) is None
    assert masked.startswith(beside + b" | ")
    assert masked.endswith(b" | " + beside)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=500) | st.binary(max_size=300).map(lambda data: data.hex().encode()))
def test_bytes_without_a_secret_stay(data: bytes) -> None:
    for mask in (MASK, Mask()):
        assert mask.excerpt(data) == data
        assert mask.data(b"HTTP/1.1 200 OK\r\n\r\n" + data).data.endswith(data)


def test_characters_beyond_ascii_are_hidden_as_serializers_escape_them() -> None:
    secret = SECRETS[2]
    text = json.dumps(secret)
    upper = re.sub("u[0-9a-f]{4}", lambda found: "u" + found[0][1:].upper(), text)
    for escaped in (text, upper):
        assert "\\" not in MASKS[secret].text(escaped).strip("\"'")


@pytest.mark.parametrize("coding", [b"br", b"gzip, made-up", b"gzip"])
def test_a_body_whose_coding_cannot_be_removed_is_withheld(coding: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: " + coding + b"\r\nContent-Length: 8\r\n\r\n"
    assert MASK.data(head + b"whatever") == (head + b"********", True)
    assert Mask().data(head + b"whatever") == (head + b"whatever", False)


@pytest.mark.parametrize(
    "data",
    [
        b"\\" * (1 << 20),
        b'\\"' * (1 << 19),
        delivered("in chunks of a byte", SECRET.encode() + bytes(1 << 18)),
        b"HTTP/1.1 103 Early Hints\r\nSet-Cookie: a=b\r\n\r\n" * 20_000,
    ],
    ids=["backslashes", "quotes", "chunks", "heads"],
)
def test_much_of_what_takes_long_to_look_at_is_masked_in_time(data: bytes) -> None:
    for mask in (MASK, MASKS[SECRETS[1]], Mask(("\\" * 30 + "end",))):
        assert len(mask.data(data).data) == len(data)
        assert len(mask.excerpt(data)) == len(data)


def test_all_bodies_of_an_exchange_unpack_to_no_more_than_the_limit() -> None:
    sent = delivered("in gzip", bytes(1 << 16))
    kept, hidden = MASK.data(sent + sent, limit=1 << 16)
    assert hidden
    assert kept.startswith(sent)
    assert not kept.endswith(sent)


def test_a_small_body_that_unpacks_to_very_much_is_withheld() -> None:
    assert MASK.data(delivered("in gzip", bytes(1 << 20)), limit=1 << 16).withheld
    harmless = delivered("in gzip in chunks", b'{"error": "no"}')
    assert MASK.data(harmless) == (harmless, False)
    assert MaskedStream(Mask()).feed(b"loading") == b"loading"  # not held back


@pytest.mark.parametrize("behind", ["…", "'…", "...", ""])
@pytest.mark.parametrize(
    "form", ["plain", "JSON code points", "percent", "hex", "base64, 1 before"]
)
def test_the_start_of_a_secret_that_a_quotation_cuts_off_is_hidden(form: str, behind: str) -> None:
    shown = FORMS[form](SECRET.encode()).decode()[:60][:-1]
    masked = MASK.text(f"got {shown}{behind}")
    assert is_shown(masked.encode(), SECRET[:10].encode()) is None
    assert masked.startswith("got ")


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_secret_across_pieces_of_output_is_hidden(cut: int) -> None:
    text = b"loading " + SECRET.encode() + b" and " + FORMS["JSON code points"](SECRET.encode())
    stream = MaskedStream(MASK)
    pieces = [stream.feed(text[at : at + cut]) for at in range(0, len(text), cut)]
    shown = b"".join(pieces) + stream.rest()
    assert len(shown) == len(text)
    assert is_shown(shown, SECRET.encode()) is None
    assert shown.startswith(b"loading ")


@pytest.mark.parametrize(
    ("head", "hidden"),
    [
        (b"HTTP/1.1 200 OK\r\nSet-Cookie: id=abc\r\nA: b", b"id=abc"),
        (b"HTTP/1.1 200 OK\r\nset-COOKIE:id=abc; Path=/", b"id=abc; Path=/"),
        (b"HTTP/1.1 200 OK\nSet-Cookie: id=abc\nA: b", b"id=abc"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nSet-Cookie: id=abc", b"id=abc"),
        (b"HTTP/1.1 200 OK\r\nSet-Cookie: id=\r\n abc", b"id=\r\n abc"),
        (b"HTTP/1.1 200 OK\r\nSet-Cookie: id=abc\r\nSet-Cookie: id=abc", b"id=abc"),
    ],
)
def test_values_of_cookies_are_hidden_in_every_report(head: bytes, hidden: bytes) -> None:
    body = b"\r\n\r\nCookie: in the body\r\nSet-Cookie: stays"
    masked = Mask().data(head + body).data
    assert masked == head.replace(hidden, b"*" * len(hidden)) + body
    assert not shows_masks(masked)


def test_a_short_secret_is_hidden_in_its_own_field_alone() -> None:
    mask = Mask(("200",), ("X-Partition-Key",))
    head = b"POST / HTTP/1.1\r\nx-partition-key: 200\r\n\r\nbody 200"
    assert mask.data(head).data == b"POST / HTTP/1.1\r\nx-partition-key: ***\r\n\r\nbody 200"
    assert mask.data(b"HTTP/1.1 200 OK\r\n\r\n").data == b"HTTP/1.1 200 OK\r\n\r\n"


def test_the_head_of_a_pipelined_request_is_masked_and_bodies_are_not() -> None:
    one = b"POST /v2 HTTP/1.1\r\nX-Key: abc\r\nContent-Length: 13\r\n\r\n\r\nX-Key: abc\r"
    masked = one.replace(b"X-Key: abc", b"X-Key: ***", 1)
    get = b"GET /v2 HTTP/1.1\r\nX-Key: abc\r\n\r\n"
    first = get.replace(b"abc", b"***")
    assert Mask(fields=("X-Key",)).sent(one + get + one) == masked + first + masked


@pytest.mark.parametrize(
    "word", ["short", "1234567", "identity_int32", "application/json", "Binary"]
)
def test_what_every_report_has_cannot_be_a_secret(word: str) -> None:
    assert not is_findable(word)
    assert Mask((word,)).text(f"a {word} b") == f"a {word} b"


def test_a_file_that_would_show_a_secret_is_not_written() -> None:
    with pytest.raises(LeakError, match=r"^report.html was not written"):
        Mask(('say "7&8" twice',)).check("<p>say &#34;7&amp;8&#34; twice</p>", "report.html")
    MASK.check("nothing here", "report.html")
