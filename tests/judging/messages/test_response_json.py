"""The JSON of a response: as many values as tensors need, and no more."""

from __future__ import annotations

import json

import pytest

from v2_conformance.judging.messages.response_json import parse_response_json
from v2_conformance.protocol.message import MessageError


@pytest.mark.parametrize(
    "item", [b"{}", b"[]", b'{"a":1}', b'"a"', b"1"], ids=["{}", "[]", "member", "string", "number"]
)
def test_millions_of_values_are_refused_before_they_take_memory(item: bytes) -> None:
    text = b'{"data":[' + b",".join([item] * 1_600_000) + b"]}"
    with pytest.raises(MessageError, match="more values than any response needs"):
        parse_response_json(text)


@pytest.mark.parametrize(
    "data",
    [[1] * (1 << 20), ["ab,c"] * 250_000, ['[{:,\\"' * 300_000], [[n] for n in range(100_000)]],
    ids=["a MiB of bytes", "strings", "marks in a string", "nested"],
)
def test_the_longest_tensors_are_read(data: list[object]) -> None:
    text = json.dumps({"data": data}).encode()
    assert parse_response_json(text) == {"data": data}


def test_a_tensor_of_64_mib_may_be_json() -> None:
    text = b'{"data":[' + b",".join([b"12345678"] * 2_000_000) + b"]}"
    assert len(parse_response_json(text)["data"]) == 2_000_000


@pytest.mark.timeout(60)
def test_a_string_that_never_ends_takes_no_time_for_each_quote_in_it() -> None:
    """Were every quote tried as the beginning of a string, this would take hours."""
    with pytest.raises(MessageError):
        parse_response_json(b"{" * 300_000 + b'"' + b'\\"' * 2_000_000)
