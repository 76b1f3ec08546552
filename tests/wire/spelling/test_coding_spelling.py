"""Bodies in a content coding, encoded as some encoder may."""

from __future__ import annotations

import gzip
import zlib
from typing import Any

import pytest

from support.cases import make_case, prepared
from v2_conformance.suite.entries.varied_cases import vary
from v2_conformance.suite.variations import variations

CODINGS = [name for name, given in variations().items() if given.kind == "coding"]


def body(*names: str, **request: Any) -> bytes:
    made = prepared(vary(make_case(inputs=[{"shape": [50]}], **request), names))
    return b"".join(made.request.http1).partition(b"\r\n\r\n")[2]


@pytest.mark.parametrize("name", CODINGS)
def test_every_encoder_encodes_the_same_body(name: str) -> None:
    encoded = body(name)
    decoded = gzip.decompress(encoded) if name.startswith("gzip") else zlib.decompress(encoded)
    assert decoded == body()


def test_headers_of_gzip_say_what_they_have() -> None:
    flags = {name: body(name)[3] for name in CODINGS if name.startswith("gzip-with-")}
    assert flags == {
        "gzip-with-name": 8,
        "gzip-with-comment": 16,
        "gzip-with-extra-field": 4,
        "gzip-with-header-checksum": 2,
    }


def test_several_members_follow_each_other() -> None:
    assert body("gzip-in-members").count(b"\x1f\x8b\x08\x00") == 3


def test_stored_and_flushed_bodies_are_longer_than_decoded() -> None:
    assert min(len(body("gzip-stored")), len(body("gzip-flushed"))) > len(body())


def test_zlib_headers_name_level_and_window() -> None:
    starts = [body(f"deflate{kind}")[:2].hex() for kind in ("", "-level-1", "-level-9")]
    assert starts == ["789c", "7801", "78da"]
    assert body("deflate-small-window")[0] >> 4 == 1


def test_a_tensor_gets_as_many_elements_as_its_size_says() -> None:
    for name, size in (("elements-1001", 1001), ("bytes-65537", 16385), ("mebibyte", 262144)):
        case = vary(make_case(inputs=[{"shape": [1]}]), [name])
        assert case.request["inputs"][0]["shape"] == [size]
