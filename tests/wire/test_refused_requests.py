"""What an author cannot ask for is one line that names the member."""

from __future__ import annotations

from support.cases import REJECT, make_case, make_get, prepared, refusal
from support.snapshots import Row, Snapshot


def test_a_wrong_request_is_refused(snapshot: Snapshot) -> None:
    def words(row: Row) -> str:
        model = row.get("model", "identity/INT32")
        return refusal(make_case(row.get("expect", REJECT), model=model, **row["request"]))

    snapshot("requests", words)


def test_more_can_be_dropped_neither_of_a_body_nor_of_its_coding() -> None:
    size = len(b"".join(prepared(make_case()).request.body))
    message = refusal(make_case(body={"drop": size + 1}))
    assert message == f"`body.drop`: expected at most {size}, got {size + 1}"
    encoded = len(b"".join(prepared(make_case(encoding="gzip")).request.body))
    for kind in ("drop", "flip"):
        case = make_case(encoding="gzip", encoded={kind: encoded + 1})
        wanted = f"`encoded.{kind}`: expected at most {encoded}, got {encoded + 1}"
        assert refusal(case) == wanted


def test_a_cut_outside_the_body_is_refused() -> None:
    size = len(b"".join(prepared(make_case()).request.body))
    for at, byte in ((13, size + 1), (11 - size, -1)):
        case = make_case(delivery={"slices": [{"blob": 0, "at": at}]})
        words = f"`delivery.slices`: byte {byte} is outside the body of {size} bytes"
        assert refusal(case) == words


def test_a_path_that_is_no_text_is_refused() -> None:
    assert refusal(make_get("/v2/\ud800")) == r"`get`: '\ud800' is half of a surrogate pair"


def test_values_that_cannot_come_back_can_be_sent_to_be_rejected() -> None:
    inputs = [{"shape": [3], "values": [1, 2]}]
    prepared(make_case({"outcome": "reject", "outputs": "any"}, inputs=inputs))
