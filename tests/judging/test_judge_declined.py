"""What a server may decline, whatever the case is about: chunks (411) and large bodies (413)."""

from __future__ import annotations

from typing import Any

import pytest

from support.cases import REJECT, failure, make_case, verdict
from support.responses import http
from v2_conformance.judging.survival import needs_canary
from v2_conformance.suite.causes.kinds import BodyTooLarge, LengthRequired, Rejected, WrongStatus
from v2_conformance.suite.outcomes import Outcome

HTML = b"<html>no</html>"
EITHER = {"outcome": "either", "outputs": {"0": "binary"}}
CHUNKS = {"chunks": 7}


def large(count: int, **expect: Any) -> Any:
    """A case with `count` elements of four bytes."""
    inputs = [{"shape": [count]}]
    return make_case({"outcome": "success", "outputs": {"0": "binary"}, **expect}, inputs=inputs)


@pytest.mark.parametrize("expect", [None, REJECT, EITHER])
def test_any_411_to_chunks_is_unsupported(expect: dict[str, Any] | None) -> None:
    case = make_case(expect, delivery=CHUNKS)
    found = verdict(http(HTML, 411), case)
    assert (found.outcome, found.cause) == (Outcome.UNSUPPORTED, LengthRequired("<html>no</html>"))
    assert "a server may require a Content-Length" in found.message
    assert needs_canary(case, found.outcome)


def test_a_411_to_a_body_with_a_content_length_is_a_failure() -> None:
    assert failure(http(HTML, 411)) == WrongStatus("200", 411, "<html>no</html>")
    assert verdict(http(b'{"error": "no"}', 411), make_case(REJECT)).cause == Rejected(411)


def test_chunks_may_be_declined_with_411_only() -> None:
    for status in (400, 413, 501):
        assert failure(http(HTML, status), make_case(delivery=CHUNKS)) == WrongStatus(
            "200", status, "<html>no</html>"
        )


def test_a_413_to_more_than_64_kib_is_unsupported() -> None:
    found = verdict(http(HTML, 413), large(2**14))
    assert found.outcome is Outcome.UNSUPPORTED
    assert isinstance(found.cause, BodyTooLarge)
    assert 2**16 < found.cause.size < 2**16 + 400
    assert found.cause.limit == 2**16
    assert "a server may limit the size of bodies" in found.message


def test_a_400_to_more_than_1_mib_refuses_its_size_too() -> None:
    found = verdict(http(HTML, 400), large(2**18))
    assert found.outcome is Outcome.UNSUPPORTED
    assert isinstance(found.cause, BodyTooLarge)
    assert (found.cause.status, found.cause.limit) == (400, 2**20)
    assert failure(http(HTML, 400), large(2**17)) == WrongStatus("200", 400, "<html>no</html>")


def test_a_413_to_64_kib_or_less_is_a_failure() -> None:
    cause = failure(http(HTML, 413), large(2**14 - 100))
    assert cause == WrongStatus("200", 413, "<html>no</html>")


def test_a_413_is_judged_if_the_case_is_about_size() -> None:
    assert failure(http(HTML, 413), large(2**14, about_size=True)) == WrongStatus(
        "200", 413, "<html>no</html>"
    )


def test_of_a_body_in_a_content_coding_either_size_counts() -> None:
    inputs = [{"shape": [2**14], "values": "ones"}]
    zipped = make_case(inputs=inputs, encoding="gzip")
    found = verdict(http(HTML, 413), zipped)
    assert isinstance(found.cause, BodyTooLarge)
    assert found.cause.size > 2**16  # decoded; a few hundred bytes go over the wire
