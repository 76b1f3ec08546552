"""HTTP of a request, written in other ways."""

from __future__ import annotations

from typing import Any

import pytest

from support.cases import ADDRESS, binding, make_case, prepared
from v2_conformance.errors import CaseFileError
from v2_conformance.suite.case_files import vary
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


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("field-names-upper-case", b"\r\nHOST: host:1\r\n"),
        ("field-names-mixed-case", b"\r\nhOsT: host:1\r\n"),
        ("fields-reversed", b"\r\nHost: host:1\r\n\r\n"),
        ("spaces-around-field-values", b"\r\nHost:   host:1  \r\n"),
        ("tabs-around-all-field-values", b"\r\nHost: \t host:1\t \r\n"),
        ("tabs-around-field-values", b"Content-Type: \t application/octet-stream\t \r\n"),
        ("no-space-before-field-values", b"\r\nHost:host:1\r\n"),
        ("media-type-upper-case", b"Content-Type: APPLICATION/OCTET-STREAM\r\n"),
        ("media-type-with-quoted-parameter", b'octet-stream;x="a; b=c, \\"d"\r\n'),
        ("accept-in-two-fields", b"\r\nAccept: application/json;q=0.5\r\n"),
        ("connection-keep-alive", b"\r\nConnection: keep-alive\r\n"),
        ("long-field", b"\r\nX-Long: " + b"x" * 4000),
        ("absolute-form", b"POST http://host:1/base/v2/models/identity_int32/infer HTTP/1.1\r\n"),
        ("percent-encoded-model", b"/v2/models/%69%64%65%6E%74%69%74%79%5F%69%6E%74%33%32/infer"),
        ("http-1.0", b"/infer HTTP/1.0\r\n"),
        ("empty-line-first", b"\r\nPOST /base/v2/"),
        ("chunk-extensions", b'\r\n0;a=1;b="x;y";c\r\n\r\n'),
        ("chunk-sizes-with-zeros", b"\r\n0000064\r\n"),
        ("chunk-trailers", b"\r\n0\r\nX-Checksum: 1234\r\nX-Other: a b\r\n\r\n"),
        ("chunk-trailers", b"\r\nTrailer: X-Checksum, X-Other\r\n"),
        ("chunked-upper-case", b"\r\nTransfer-Encoding: CHUNKED\r\n"),
        ("expect-continue", b"\r\nExpect: 100-continue\r\n"),
    ],
)
def test_a_variation_writes_this_part_of_the_request(name: str, part: bytes) -> None:
    assert part in wire(name)
    assert part not in wire()


def test_a_media_type_needs_one_to_vary() -> None:
    with pytest.raises(CaseFileError, match="it needs content-type"):
        made("media-type-upper-case", content_type=None)


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


def test_a_case_in_chunks_keeps_its_own() -> None:
    request = {"delivery": {"chunks": 50}}
    assert wire("chunk-extensions", **request).partition(b"\r\n\r\n")[2].startswith(b"32;a=1")


def test_a_case_in_slices_has_no_chunks() -> None:
    with pytest.raises(CaseFileError, match="the request has `delivery` already"):
        made("chunk-extensions", delivery={"slices": 10})


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
