"""Content codings: exact both ways, bounded, and judged before anything else."""

from __future__ import annotations

import contextlib
import gzip
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.cases import BLOB, answer, sized
from support.servers import http, make_case, prepared, sent, transcript
from v2_conformance.errors import CaseFileError
from v2_conformance.judging.judge import FAIL, INCONCLUSIVE, PASS, Verdict, canary_verdict, judge
from v2_conformance.protocol.content_codings import (
    CODINGS,
    CodingError,
    acceptable,
    decode,
    encode,
    known,
    stream,
)
from v2_conformance.protocol.message import HEADER_LENGTH, dump_json
from v2_conformance.suite.cases import Case, load_cases

coding = pytest.mark.parametrize("coding", CODINGS)
LIMIT = 1 << 20
PADDED = dump_json(answer(sized(), parameters={"padding": "x" * 500}))


@coding
@given(data=st.binary(max_size=4000))
def test_what_is_encoded_decodes_to_the_same(coding: str, data: bytes) -> None:
    assert decode(coding, encode(coding, data), len(data)) == data
    assert encode(coding, data) == encode(coding, data)


def test_the_codings_are_the_formats_that_http_names() -> None:
    assert gzip.decompress(encode("gzip", b"abc")) == b"abc"
    assert zlib.decompress(encode("deflate", b"abc")) == b"abc"


@coding
@given(data=st.binary(max_size=500))
def test_any_bytes_decode_or_are_refused(coding: str, data: bytes) -> None:
    with contextlib.suppress(CodingError):
        assert len(decode(coding, data, 100)) <= 100


@coding
@given(cut=st.integers(1, 30))
def test_a_truncated_stream_is_refused(coding: str, cut: int) -> None:
    whole = encode(coding, bytes(range(256)))
    with pytest.raises(CodingError, match="ends early"):
        decode(coding, whole[:-cut], LIMIT)


@coding
def test_a_stream_is_refused_one_byte_past_the_limit(coding: str) -> None:
    whole = encode(coding, bytes(1000))
    assert len(decode(coding, whole, 1000)) == 1000
    with pytest.raises(CodingError, match="more than 999 bytes"):
        decode(coding, whole, 999)


@coding
def test_a_bomb_is_made_and_refused_in_little_memory(coding: str) -> None:
    tracemalloc.start()
    try:
        bomb = stream(coding, b"{}", {"bomb": 1 << 26})
        with pytest.raises(CodingError, match="more than"):
            decode(coding, bomb, LIMIT)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20
    assert len(bomb) < 1 << 17
    assert decode(coding, stream(coding, b"{}", {"bomb": 5}), 7) == b"{}\0\0\0\0\0"


def test_members_of_gzip_are_one_body_and_noise_is_none() -> None:
    assert decode("gzip", encode("gzip", b"ab") + encode("gzip", b"cd"), 4) == b"abcd"
    for name in CODINGS:
        with pytest.raises(CodingError, match="3 bytes follow"):
            decode(name, encode(name, b"ab") + b"xyz", 100)


@pytest.mark.parametrize(
    ("field", "wanted"),
    [
        ("", set()),
        ("identity", set()),
        ("gzip", {"gzip"}),
        ("GZIP , deflate;q=0.5", {"gzip", "deflate"}),
        ("gzip;q=0, deflate", {"deflate"}),
        ("*", {"gzip", "deflate"}),
        ("*, gzip; q=0.0", {"deflate"}),
    ],
)
def test_accept_encoding_names_what_may_come(field: str, wanted: set[str]) -> None:
    assert acceptable(field) == wanted


def test_names_of_codings() -> None:
    assert [known(name) for name in ("X-GZip", " Deflate", "br")] == ["gzip", "deflate", None]


# Requests.


@coding
def test_an_encoded_request_counts_decoded_and_encoded_bytes(coding: str) -> None:
    plain_head, plain = sent(make_case())
    head, body = sent(make_case(encoding=coding, accept_encoding="gzip"))
    assert decode(coding, body, LIMIT) == plain
    fields = head.decode().split("\r\n")
    assert f"Content-Encoding: {coding}" in fields
    assert "Accept-Encoding: gzip" in fields
    assert f"Content-Length: {len(body)}" in fields
    length = next(f for f in plain_head.decode().split("\r\n") if f.startswith(HEADER_LENGTH))
    assert length in fields
    assert b"Encoding" not in plain_head


def test_an_encoded_body_is_tampered_with_as_told() -> None:
    whole = sent(make_case(encoding="gzip"))[1]
    plain = sent(make_case())[1]
    assert sent(make_case(encoding="gzip", encoded={"drop": 3}))[1] == whole[:-3]
    assert sent(make_case(encoding="gzip", encoded={"hex": "0102"}))[1] == b"\x01\x02"
    assert sent(make_case(encoding="gzip", encoded="plain"))[1] == plain
    assert sent(make_case(encoding="x-none"))[1] == plain
    flipped = sent(make_case(encoding="gzip", encoded={"flip": 6}))[1]
    assert [i for i, pair in enumerate(zip(whole, flipped, strict=True)) if pair[0] != pair[1]] == [
        len(whole) - 6
    ]
    chunked = sent(make_case(encoding="gzip", delivery={"chunks": "one"}))[1]
    assert chunked == b"%x\r\n%b\r\n0\r\n\r\n" % (len(whole), whole)
    with pytest.raises(CaseFileError, match="more is dropped"):
        sent(make_case(encoding="gzip", encoded={"drop": 10_000}))


# Responses.


def reply(body: bytes, name: str | None, length: int = len(PADDED)) -> bytes:
    fields: list[tuple[str, object]] = [(HEADER_LENGTH, length)]
    if name is not None:
        fields.append(("Content-Encoding", name))
    return http(body, 200, *fields)


def verdict(received: bytes, case: Case) -> Verdict:
    return judge(case, prepared(case), transcript(received))


@coding
def test_an_encoded_response_is_judged_decoded(coding: str) -> None:
    case = make_case(accept_encoding=coding)
    body = encode(coding, PADDED + BLOB)
    assert verdict(reply(body, coding), case).outcome == PASS
    assert verdict(reply(body, coding.upper()), case).outcome == PASS
    assert verdict(reply(PADDED + BLOB, None), case).outcome == PASS


@coding
@pytest.mark.parametrize(
    ("name", "body", "length", "words"),
    [
        ("coding", "whole", 20, "not exactly one JSON object"),
        ("coding", "whole", len(PADDED) + 100, "cannot be longer than the body"),
        ("coding", "plain", len(PADDED), "but the body is not"),
        ("coding", "cut", len(PADDED), "ends early"),
        ("coding", "bomb", len(PADDED), "more than"),
        (None, "whole", len(PADDED), "no Content-Encoding says so"),
        ("br", "whole", len(PADDED), "Content-Encoding is 'br'"),
        ("gzip, deflate", "whole", len(PADDED), "Content-Encoding is 'gzip, deflate'"),
    ],
)
def test_a_coding_that_is_not_done_named_or_counted_fails(
    coding: str, name: str | None, body: str, length: int, words: str
) -> None:
    plain = PADDED + BLOB
    bodies = {"plain": plain, "whole": encode(coding, plain)}
    bodies["cut"] = bodies["whole"][:-4]
    if body == "bomb":
        bodies["bomb"] = stream(coding, b"{}", {"bomb": 1 << 27})
    named = coding if name == "coding" else name
    came = verdict(reply(bodies[body], named, length), make_case(accept_encoding=coding))
    assert came.outcome == FAIL
    assert words in came.message


def test_a_coding_that_the_request_does_not_accept_fails_everywhere() -> None:
    received = reply(encode("gzip", PADDED + BLOB), "gzip")
    for field, words in (("identity", "asked for no coding"), ("deflate", "lets it be deflate")):
        assert words in verdict(received, make_case(accept_encoding=field)).message


def test_a_request_without_accept_encoding_accepts_any_coding() -> None:
    received = reply(encode("gzip", PADDED + BLOB), "gzip")
    assert verdict(received, make_case()).outcome == PASS
    assert canary_verdict(prepared(make_case()).expected, transcript(received)) == ""
    assert verdict(reply(PADDED + BLOB, "identity"), make_case()).outcome == PASS


def test_a_response_without_a_coding_shows_nothing_of_codings() -> None:
    case = make_case(
        {"outcome": "success", "outputs": {"0": "binary"}, "checks": ["encoded"]},
        accept_encoding="gzip",
    )
    assert verdict(reply(PADDED + BLOB, None), case).outcome == INCONCLUSIVE
    assert verdict(reply(encode("gzip", PADDED + BLOB), "gzip"), case).outcome == PASS


def test_an_encoded_error_is_a_rejection() -> None:
    case = make_case({"outcome": "reject"}, accept_encoding="gzip")
    error = encode("gzip", b'{"error": "no"}')
    assert verdict(http(error, 400, ("Content-Encoding", "gzip")), case).outcome == PASS


def test_large_cases_are_planned_only_when_asked_for() -> None:
    usual, all_of_them = load_cases(), load_cases(large=True)
    large = [case for case in all_of_them if case.large]
    assert {case.requirement for case in large} == {"L1"}
    assert usual == [case for case in all_of_them if not case.large]
