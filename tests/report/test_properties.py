"""What failing requests have in common that right ones lack, in words."""

from __future__ import annotations

import pytest

from v2_conformance.report.properties import Right
from v2_conformance.wire.exchange import Exchange, unsent
from v2_conformance.wire.response import Ending


def sent(document: str, path: str = "", fields: str = "") -> tuple[Exchange]:
    head = f"POST /v2/models/m{path}/infer HTTP/1.1\r\nHost: h\r\nContent-Length: {len(document)}"
    return (unsent(f"{head}\r\n{fields}\r\n{document}".encode(), Ending.COMPLETE),)


PLAIN = sent('{"inputs":[{"data":[1]}]}')
SHARED = {
    "requests with an id": sent('{"id":"7","inputs":[{"data":[1]}]}'),
    "requests with parameters on an input": sent('{"inputs":[{"data":[1],"parameters":{"x":1}}]}'),
    "requests with nested data": sent('{"inputs":[{"data":[[1]]}]}'),
    "requests with binary outputs": sent('{"outputs":[{"parameters":{"binary_data":true}}]}'),
    "requests on a versioned path": sent('{"inputs":[{"data":[1]}]}', "/versions/1"),
    "requests that are raw": sent("1", fields="Inference-Header-Content-Length: 0\r\n"),
    "": PLAIN,  # right ones have all that it has
}


@pytest.mark.parametrize("shared", SHARED)
def test_what_all_failing_requests_have_and_no_right_one_has_is_said(shared: str) -> None:
    assert Right([PLAIN, PLAIN]).lack([SHARED[shared]] * 2) == shared
    assert Right([PLAIN, SHARED[shared]]).lack([SHARED[shared]] * 2) == ""


def test_that_no_plain_request_is_right_is_said() -> None:
    odd = SHARED["requests with an id"]
    assert Right([odd]).lack([PLAIN, odd]) == "even plain requests"


@pytest.mark.parametrize("document", ["", "[]", "{", '{"inputs":1}', "[" * 99_999])
def test_requests_that_cannot_be_read_have_nothing_in_common(document: str) -> None:
    assert Right([PLAIN]).lack([sent(document)] * 2) == ""
