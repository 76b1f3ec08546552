"""Which cases are about HTTP/1.1 alone, told from their data."""

from __future__ import annotations

from collections import Counter
from typing import Any, get_args

import pytest

from support.cases import make_case
from support.runs import CASES
from v2_conformance.suite.cases import ObservedCase, RequestCase
from v2_conformance.suite.choosing.over_http2 import only_in_http1
from v2_conformance.suite.entries.varied_cases import vary
from v2_conformance.suite.http_versions import FEATURE_WORDS, Http1Feature, error_name
from v2_conformance.suite.observations import HttpRule
from v2_conformance.suite.variations import variations

REJECT = {"outcome": "reject"}


@pytest.mark.parametrize(
    ("request_members", "feature"),
    [
        ({}, None),
        ({"delivery": {"slices": 7}}, None),
        ({"delivery": {"chunks": 7}}, "chunks"),
        ({"headers": {"X-Case": "a b", "Expect": "100-continue"}}, None),
        ({"headers": {"connection": "close"}}, "connection_field"),
        ({"headers": {"Content-Length": "7"}}, "content_length"),
        ({"headers": {"X-Case": " a"}}, "field_value"),
        ({"header_length": {"value": "${length}\t"}}, "field_value"),
        ({"header_length": {"value": "${length}\u00a0"}}, None),
        ({"header_length": {"values": ["${length}", "1"]}}, None),
        ({"client": {"sends": 7, "then": "leaves"}}, None),
        ({"client": {"claims": 1 << 40, "then": "leaves"}}, None),
        ({"client": {"sends": -7, "then": "leaves"}}, "head_in_pieces"),
        ({"client": {"then": "half_closes"}}, "half_close"),
        ({"client": {"chunk_size": "zz"}}, "chunks"),
    ],
)
def test_a_request_says_what_it_is_about(
    request_members: dict[str, Any], feature: Http1Feature | None
) -> None:
    assert only_in_http1(make_case(REJECT, **request_members)) == feature


@pytest.mark.parametrize("name", sorted(variations()))
def test_every_variation_of_http_can_be_asked_or_says_why_not(name: str) -> None:
    given = variations()[name]
    case = CASES()["P2/blob-follows-json[INT32]"]
    assert isinstance(case, RequestCase)
    asked = {
        "content_length", "expect", "field_order", "fields", "media_type", "pause", "percent",
        "version_path",
    }  # fmt: skip
    if given.kind == "http" and given.operation not in asked:
        assert only_in_http1(vary(case, [name])) is not None


def test_every_observation_of_the_syntax_of_responses_is_left_out() -> None:
    kept = {
        case.observed
        for case in CASES().values()
        if isinstance(case, ObservedCase) and only_in_http1(case) is None
    }
    assert "single_fields" in kept
    assert not kept & {*get_args(HttpRule), "nothing_after", "announced_closes", "status_lines"}


def test_most_cases_can_be_asked_and_every_feature_has_words() -> None:
    found = Counter(only_in_http1(case) for case in CASES().values())
    assert found[None] > 0.8 * sum(found.values())
    assert set(FEATURE_WORDS) == set(get_args(Http1Feature))
    assert set(found) - {None} <= set(FEATURE_WORDS)


def test_error_codes_have_the_names_of_the_rfc() -> None:
    assert error_name(0) == "NO_ERROR (0x0)"
    assert error_name(13) == "HTTP_1_1_REQUIRED (0xd)"
    assert error_name(14) == "0xe"
