"""Requests written in other ways that mean the same: HTTP, JSON and content codings."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import pytest

from support.cases import ADDRESS, binding, make_case, prepared
from v2_conformance.errors import CaseFileError
from v2_conformance.suite.case_files import vary
from v2_conformance.suite.variations import variations
from v2_conformance.wire.encode.deployment import Address, DeployedModel
from v2_conformance.wire.encode.requests import Prepared, prepare

# HTTP.

VERSIONED = DeployedModel("identity/INT32", "identity_int32", ("INPUT0",), ("OUTPUT0",), "3")
TARGET = Address("host:1", "/base", (("Accept", "*/*"), ("X-Key", "k")))


def made(*names: str, address: Address = TARGET, **request: Any) -> Prepared:
    return prepared(vary(make_case(**request), names), address)


def wire(*names: str, **request: Any) -> bytes:
    return b"".join(bytes(piece) for piece in made(*names, **request).request.http1)


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


# JSON.

TEXT = 'a/b é🙂 <&> \b\f\n"\\'
MIXED: dict[str, Any] = {
    "id": TEXT,
    "inputs": [
        {"shape": [1, 3], "form": "json", "values": [1, -0.5, 100]},
        {"shape": [1, 3], "form": "json", "values": [0, 7, 3000000000]},
        {"shape": [4]},
    ],
    "outputs": [{"tensor": 0, "binary_data": True}, {"tensor": 1}],
}


def written(*names: str, model: str = "mixed", **request: Any) -> str:
    """The JSON of a request in these variations."""
    given = prepared(vary(make_case(model=model, **{**MIXED, **request}), names))
    body = bytes(given.request.http1[0]).partition(b"\r\n\r\n")[2]
    return body[: given.parts[0].end].decode()


def data(*names: str, **request: Any) -> list[str]:
    """The digits of the first input's data."""
    text = written(*names, model="identity/FP32", outputs=[], **request)
    return text.partition('"data":[')[2].partition("]")[0].split(",")


SAME = [
    name
    for name, given in variations().items()
    if given.kind == "json" and given.operation not in ("members", "parameters", "nested_data")
]


@pytest.mark.parametrize("name", SAME)
def test_every_other_spelling_is_the_same_document(name: str) -> None:
    assert json.loads(written(name)) == json.loads(written())
    if name not in ("floats-as-integers", "negative-zero-as-integer"):
        assert written(name) != written() or name == "escaped-solidus"


def test_the_name_of_the_targets_own_model_is_added() -> None:
    assert json.loads(written("model-name"))["model_name"] == "mixed"


def test_numbers_of_more_digits_than_a_parser_must_keep_stay_as_they_are() -> None:
    inputs = [{"shape": [1], "form": "json", "values": [2.0**100]}]
    assert data("floats-with-negative-exponent", inputs=inputs) == [repr(2.0**100)]


def test_variations_combine_in_their_order() -> None:
    text = written("model-name", "members-reversed", "escaped-names", "spaced")
    assert list(json.loads(text))[-1] == "model_name"


# Content codings.

CODINGS = [name for name, given in variations().items() if given.kind == "coding"]


@pytest.mark.parametrize("name", CODINGS)
def test_every_encoder_encodes_the_same_body(name: str) -> None:
    plain, encoded = (
        wire(*names, inputs=[{"shape": [50]}]).partition(b"\r\n\r\n")[2] for names in ((), (name,))
    )
    decoded = gzip.decompress(encoded) if name.startswith("gzip") else zlib.decompress(encoded)
    assert decoded == plain


def test_a_tensor_gets_as_many_elements_as_its_size_says() -> None:
    for name, size in (("elements-1001", 1001), ("bytes-65537", 16385), ("mebibyte", 262144)):
        case = vary(make_case(inputs=[{"shape": [1]}]), [name])
        assert case.request["inputs"][0]["shape"] == [size]
