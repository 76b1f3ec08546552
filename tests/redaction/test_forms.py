"""Every form of a secret, in every delivery, is found and masked; an independent reader looks."""

from __future__ import annotations

import gzip
import random

import pytest

from support.leaks import DELIVERIES, FORMS, delivered, is_shown
from v2_conformance.redaction import Mask, shows_masks
from v2_conformance.wire.http1.response import ResponseReader
from v2_conformance.wire.transcript import Limits

SECRET = b"Zk9-pQ7w_vX2/mN4~t0ken"
MASK = Mask((SECRET.decode(),))


def test_there_are_many_forms() -> None:
    assert len(FORMS) >= 30


@pytest.mark.parametrize("how", DELIVERIES)
@pytest.mark.parametrize("form", FORMS)
def test_a_form_of_a_secret_is_masked(form: str, how: str) -> None:
    sent = delivered(how, b'{"error": "got ' + FORMS[form](SECRET) + b' from you"}')
    assert is_shown(sent, SECRET), "the reader of this test is blind to it"
    masked = MASK.data(sent)
    assert len(masked) == len(sent)
    assert is_shown(masked, SECRET) is None
    assert shows_masks(masked)
    assert not shows_masks(sent)


@pytest.mark.parametrize("how", DELIVERIES)
def test_a_response_ends_where_it_ended_before(how: str) -> None:
    sent = delivered(how, b'{"error": "got ' + SECRET + b' from you"}' * 5)
    ends = []
    for data in (sent, MASK.data(sent)):
        reader = ResponseReader(Limits())
        reader.feed(data)
        ends.append((reader.done, reader.error, reader.in_body and len(reader.response().body)))
    assert ends[0] == ends[1]


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_a_body_that_is_coded_again_has_the_same_text_but_for_the_secret(coding: str) -> None:
    text = b'{"error": "' + random.Random(3).randbytes(40).hex().encode() + SECRET + b'"}'
    masked = MASK.data(delivered(f"in {coding}", text)).partition(b"\r\n\r\n")[2]
    import zlib

    assert zlib.decompress(masked, 47) == text.replace(SECRET, b"*" * len(SECRET))


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 401 No Zk9-pQ7w_vX2/mN4~t0ken\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: /x?k=Zk9-pQ7w_vX2%2FmN4~t0ken\r\n",
        b"HTTP/1.1 401 No\r\nX-Folded: Zk9-pQ7w\r\n _vX2/mN4~t0ken\r\n",
        b"HTTP/1.1 401 No\r\nX-Zk9-pQ7w_vX2-mN4~t0ken: 1\r\n",
        b"HTTP/1.1 100 Zk9-pQ7w_vX2/mN4~t0ken\r\n\r\nHTTP/1.1 401 No\r\n",
    ],
)
def test_a_secret_in_a_head_is_masked_and_lines_stay(head: bytes) -> None:
    sent = head + b"Content-Length: 0\r\n\r\n"
    masked = MASK.data(sent)
    assert is_shown(masked, SECRET) is None
    assert b"mN4" not in masked
    assert [len(line) for line in masked.split(b"\r\n")] == [
        len(line) for line in sent.split(b"\r\n")
    ]


def test_extensions_and_trailers_of_chunks_are_masked_and_their_sizes_stay() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    sent = head + b"2;x=%b\r\nab\r\n0\r\nX-Trailer: %b\r\n\r\n" % (SECRET, SECRET)
    stars = b"*" * len(SECRET)
    assert MASK.data(sent) == sent.replace(SECRET, stars)


def test_pipelined_answers_are_all_looked_at() -> None:
    one = delivered("in chunks of five", b'"' + SECRET + b'"')
    two = delivered("in gzip", b'"' + SECRET + b'"')
    masked = MASK.data(one + two)
    assert is_shown(masked[: len(one)], SECRET) is None
    assert is_shown(masked[len(one) :], SECRET) is None


def test_a_body_in_a_coding_that_nobody_here_reads_is_masked_whole() -> None:
    sent = b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 9\r\n\r\n\x0b\x02\x80whatev"
    assert MASK.data(sent).endswith(b"\r\n\r\n" + b"*" * 9)
    assert Mask().data(sent) == sent


def test_a_coded_body_that_holds_more_than_is_read_is_masked_whole() -> None:
    sent = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(
        bytes(9999) + SECRET
    )
    assert MASK.data(sent, limit=5000).endswith(b"*" * 20)


def test_a_list_of_numbers_stays_one() -> None:
    numbers = str(list(SECRET)).encode()
    sent = delivered("with its length", numbers)
    body = MASK.data(sent).partition(b"\r\n\r\n")[2]
    assert body.replace(b" ", b"") == str([42] * len(SECRET)).replace(" ", "").encode()


def test_a_secret_in_the_middle_of_a_large_body_is_found_once_and_whole() -> None:
    noise = random.Random(5).randbytes(5 << 20)
    at = (4 << 20) - 7
    body = noise[:at] + SECRET + noise[at:]
    masked = MASK.data(body)
    assert masked[at : at + len(SECRET)] == b"*" * len(SECRET)
    assert masked[:at] + masked[at + len(SECRET) :] == noise


# Short and common values.


@pytest.mark.parametrize(
    "value", ["1", "true", "abc", "application/json", "identity_int32", "4711"]
)
def test_a_short_or_common_value_is_masked_only_beside_the_name_of_its_field(value: str) -> None:
    mask = Mask((value,), ("X-Custom",), (("X-Custom", value),))
    body = b'{"error": "%b %b", "headers": {"x-custom": "%b"}}' % ((value.encode(),) * 3)
    sent = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nX-Custom: %b\r\n\r\n" % (len(body), b"1")
    masked = mask.data(sent + body)
    stars = b"*" * len(value)
    assert masked.endswith(
        b'{"error": "%b %b", "headers": {"x-custom": "%b"}}'
        % (value.encode(), value.encode(), stars)
    )
    assert b"\r\nX-Custom: *\r\n" in masked


def test_a_short_value_is_masked_with_its_field_in_encodings_too() -> None:
    mask = Mask(("true",), ("X-Flag",), (("X-Flag", "true"),))
    for form in ("base64", "hex", "percent, all"):
        sent = delivered("with its length", FORMS[form](b"X-Flag: true"))
        assert is_shown(sent, b"X-Flag: true")
        assert is_shown(mask.data(sent), b"X-Flag: true") is None


# Messages.


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shown", [12, 18, 22])
def test_a_quotation_that_is_cut_off_shows_no_start_of_a_secret(form: str, shown: int) -> None:
    encoded = FORMS[form](SECRET)
    text = ascii(encoded.decode("latin-1"))[1:-1]
    cut = text[: len(text) * shown // 22]
    masked = MASK.text(f"got {cut}…").encode()
    assert is_shown(masked, SECRET[:9]) is None


def test_an_excerpt_that_begins_in_the_middle_shows_nothing_of_a_secret() -> None:
    for start, end in ((0, 16), (4, 20), (6, 22)):
        assert b"*" * 10 in MASK.excerpt(SECRET[start:end])
    assert MASK.excerpt(b"\x00\x01abcdef" + SECRET[:8]) == b"\x00\x01abcdef********"
    assert MASK.excerpt(b"innocent") == b"innocent"
