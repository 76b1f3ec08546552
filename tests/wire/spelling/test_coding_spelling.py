"""Bodies in a content coding, encoded as some encoder may."""

from __future__ import annotations

import gzip
import zlib
from typing import Any

import pytest

from support.cases import make_case, prepared
from v2_conformance.suite.case_files import vary
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


def test_a_tensor_gets_as_many_elements_as_its_size_says() -> None:
    for name, size in (("elements-1001", 1001), ("bytes-65537", 16385), ("mebibyte", 262144)):
        case = vary(make_case(inputs=[{"shape": [1]}]), [name])
        assert case.request["inputs"][0]["shape"] == [size]
