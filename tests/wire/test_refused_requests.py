"""What an author cannot ask for is one line that names the member."""

from __future__ import annotations

from support.cases import REJECT, make_case, prepared, refusal
from support.snapshots import Row, Snapshot


def test_a_wrong_request_is_refused(snapshot: Snapshot) -> None:
    def words(row: Row) -> str:
        model = row.get("model", "identity/INT32")
        return refusal(make_case(row.get("expect", REJECT), model=model, **row["request"]))

    snapshot("requests", words)


def test_more_can_be_dropped_neither_of_a_body_nor_of_its_coding() -> None:
    size = len(b"".join(prepared(make_case()).request.body))
    message = refusal(make_case(body={"drop": size + 1}))
    assert message == f"`body.drop`: the body has {size} bytes"
    encoded = len(b"".join(prepared(make_case(encoding="gzip")).request.body))
    for kind in ("drop", "flip"):
        case = make_case(encoding="gzip", encoded={kind: encoded + 1})
        assert refusal(case) == f"`encoded.{kind}`: the encoded body has {encoded} bytes"


def test_a_cut_outside_the_body_is_refused() -> None:
    size = len(b"".join(prepared(make_case()).request.body))
    for at in (13, 11 - size):
        case = make_case(delivery={"slices": [{"blob": 0, "at": at}]})
        assert refusal(case) == f"`delivery`: a cut is outside the body of {size} bytes"


def test_values_that_cannot_come_back_can_be_sent_to_be_rejected() -> None:
    inputs = [{"shape": [3], "values": [1, 2]}]
    prepared(make_case({"outcome": "reject", "outputs": "any"}, inputs=inputs))
