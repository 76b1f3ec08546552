"""HTTP of a request, written in other ways."""

from __future__ import annotations

from typing import Any

import pytest

from support.cases import ADDRESS, binding, make_case, prepared
from v2_conformance.errors import CaseFileError
from v2_conformance.suite.entries.varied_cases import vary
from v2_conformance.wire.encode.deployment import Address, DeployedModel
from v2_conformance.wire.encode.requests import Prepared, prepare

VERSIONED = DeployedModel("identity/INT32", "identity_int32", ("INPUT0",), ("OUTPUT0",), "3")
TARGET = Address("host:1", "/base", (("Accept", "*/*"), ("X-Key", "k")))


def made(*names: str, address: Address = TARGET, **request: Any) -> Prepared:
    return prepared(vary(make_case(**request), names), address)


def wire(*names: str, **request: Any) -> bytes:
    return b"".join(bytes(piece) for piece in made(*names, **request).request.http1)


def head(*names: str, **request: Any) -> list[str]:
    """The lines of the head."""
    return wire(*names, **request).partition(b"\r\n\r\n")[0].decode().split("\r\n")


def fields(*names: str, **request: Any) -> list[str]:
    return head(*names, **request)[1:]


def test_fields_in_reverse_order() -> None:
    assert fields("fields-reversed") == fields()[::-1]


def test_space_around_values_and_none() -> None:
    assert "Host:   host:1  " in fields("spaces-around-field-values")
    assert "Host: \t host:1\t " in fields("tabs-around-all-field-values")
    tabs = fields("tabs-around-field-values")
    assert "Host: host:1" in tabs
    assert "Content-Type: \t application/octet-stream\t " in tabs
    assert "Host:host:1" in fields("no-space-before-field-values")


def test_media_types() -> None:
    assert "Content-Type: APPLICATION/OCTET-STREAM" in fields("media-type-upper-case")
    typed = "Content-Type: application/octet-stream"
    assert f"{typed}; charset=utf-8" in fields("media-type-with-charset")
    assert f'{typed};x="a; b=c, \\"d"' in fields("media-type-with-quoted-parameter")


def test_a_media_type_needs_one_to_vary() -> None:
    with pytest.raises(CaseFileError, match="it needs a Content-Type"):
        made("media-type-upper-case", content_type=None)


def test_accept_fields_replace_the_targets_own() -> None:
    assert not [line for line in fields("accept-anything") if line.startswith("Accept:")]
    accepts = [line for line in fields("accept-in-two-fields") if line.startswith("Accept:")]
    assert accepts == ["Accept: application/json, */*", "Accept: application/json;q=0.5"]


def test_fields_of_several_variations_are_all_sent() -> None:
    found = fields("connection-keep-alive", "unknown-fields", "long-field", "many-fields")
    assert {"Connection: keep-alive", "X-Empty: ", "X-Long: " + "x" * 4000} <= set(found)
    assert len([line for line in found if line.startswith("X-Field-")]) == 60


def test_targets_in_other_forms() -> None:
    path = "/v2/models/identity_int32/infer"
    assert head()[0] == f"POST /base{path} HTTP/1.1"
    assert head("absolute-form")[0] == f"POST http://host:1/base{path} HTTP/1.1"
    encoded = "".join(f"%{ord(character):02X}" for character in "identity_int32")
    assert head("percent-encoded-model")[0] == f"POST /base/v2/models/{encoded}/infer HTTP/1.1"


def test_absolute_form_has_the_targets_own_scheme() -> None:
    given = made("absolute-form", address=Address("host:1", scheme="https"))
    assert given.request.head.target.startswith("https://host:1/v2/")


def test_the_path_has_the_version_that_the_server_lists() -> None:
    case = vary(make_case(), ["versioned-path"])
    assert case.versioned == (case.model,)
    target = prepare(case, ADDRESS, VERSIONED).request.head.target
    assert target == "/v2/models/identity_int32/versions/3/infer"
    with pytest.raises(CaseFileError, match="the version of the model is not known"):
        prepare(case, ADDRESS, binding())


def test_http_1_0_and_an_empty_line_before_the_request() -> None:
    assert head("http-1.0")[0].endswith(" HTTP/1.0")
    assert made("http-1.0").to_old_client
    assert wire("empty-line-first") == b"\r\n" + wire()


def test_chunks_in_other_spellings() -> None:
    def body(name: str) -> bytes:
        return wire(name).partition(b"\r\n\r\n")[2]

    assert body("chunk-extensions").startswith(b'64;a=1;b="x;y";c\r\n')
    assert body("chunk-extensions").endswith(b'\r\n0;a=1;b="x;y";c\r\n\r\n')
    assert body("chunk-sizes-with-zeros").startswith(b"0000064\r\n")
    assert body("chunk-trailers").endswith(b"\r\n0\r\nX-Checksum: 1234\r\nX-Other: a b\r\n\r\n")
    assert "Trailer: X-Checksum, X-Other" in fields("chunk-trailers")
    assert "Transfer-Encoding: CHUNKED" in fields("chunked-upper-case")
    assert made("chunked-upper-case").chunked
    large = {"inputs": [{"shape": [100]}]}
    assert wire("chunk-sizes-upper-case", **large).partition(b"\r\n\r\n")[2].startswith(b"AB\r\n")


def test_trailers_come_at_once_or_late_and_a_known_good_request_follows() -> None:
    (all_at_once,) = made("header-length-in-trailers").request.http1
    early, end = made("header-length-in-late-trailers").request.http1
    assert end == b"0\r\nInference-Header-Content-Length: 0\r\n\r\n"
    assert bytes(all_at_once) == bytes(early) + bytes(end)
    assert made("header-length-in-late-trailers").request.pause_s > 0
    assert vary(make_case(), ["chunk-trailers"]).canary == "binary"
    assert vary(make_case(), ["chunk-extensions"]).canary is None


def test_a_case_in_chunks_keeps_its_own() -> None:
    request = {"delivery": {"chunks": 50}}
    assert wire("chunk-extensions", **request).partition(b"\r\n\r\n")[2].startswith(b"32;a=1")


def test_a_case_in_slices_has_no_chunks() -> None:
    with pytest.raises(CaseFileError, match="the request has `delivery` already"):
        made("chunk-extensions", delivery={"slices": 10})


def test_heads_and_bodies_in_several_writes() -> None:
    cut = made("head-in-two-writes").request
    assert len(cut.http1) == 2
    assert b"\r\n\r\n" not in bytes(cut.http1[0])
    at_end = made("head-cut-at-its-end").request.http1
    assert bytes(at_end[0]).endswith(b"\r\n\r")
    for name, pause_s in (("pause-before-body", 0.3), ("expect-continue", 1.0)):
        request = made(name).request
        assert [bytes(piece).endswith(b"\r\n\r\n") for piece in request.http1] == [True, False]
        assert request.pause_s == pause_s
    assert "Expect: 100-continue" in fields("expect-continue")


def test_a_pipelined_pair_is_one_write_with_other_values_in_the_second() -> None:
    pair = made("pipelined", inputs=[{"shape": [3]}])
    assert pair.following is not None
    first, second = (wire(inputs=[{"shape": [3]}]), b"".join(pair.following.request.http1))
    assert [bytes(piece) for piece in pair.request.http1] == [first + second]
    assert pair.request.answers == 2
    assert pair.expected[0].tensor.blob != pair.following.expected[0].tensor.blob


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("http-1.0", "chunk-extensions"), "cannot be combined with http-1.0"),
        (("pipelined", "http-1.0"), "cannot be combined with pipelined"),
        (("expect-continue", "pause-before-body"), "cannot be combined with expect-continue"),
    ],
)
def test_what_excludes_each_other_is_refused(names: tuple[str, ...], words: str) -> None:
    with pytest.raises(CaseFileError, match=words):
        made(*names)


def test_variations_of_all_kinds_combine() -> None:
    sent = wire("members-reversed", "field-names-lower-case", "chunk-extensions", "id-long")
    assert b"\r\ntransfer-encoding: chunked\r\n" in sent
    assert b"0123456789" * 3 in sent
