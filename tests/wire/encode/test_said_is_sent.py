"""Nothing that an entry of a case file says is dropped: it is in the request, or it is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.cases import REJECT, make_case, misfit_of, prepared, refusal
from support.snapshots import Row, Snapshot
from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.names import BINARY_DATA_SIZE

Entry = dict[str, Any]

INPUT: Entry = {"shape": [1]}
# Of each member, what an input, an output or a request may say; nothing of it is the default.
INPUTS: dict[str, list[Any]] = {
    "name": ["other"],
    "datatype": ["FP32"],
    "values": [[7], {"hex": "07000000"}, "signs"],
    "form": ["json", "nested", "both"],
    "size": [{"value": 9}, {"add": 1}],
    "elements": [0, 3],
    "parameters": [{"a": 1}, {BINARY_DATA_SIZE: "x"}],
}
OUTPUTS: dict[str, list[Any]] = {
    "tensor": [0],
    "name": ["other"],
    "binary_data": [True, False, "yes"],
    "parameters": [{"a": 1}],
}
REQUESTS: dict[str, list[Any]] = {
    "id": ["", "1"],
    "parameters": [{}, {"a": 1}],
    "outputs": [[], [{"tensor": 0}]],
    "json": [{"before": " "}, {"after": "\n"}, {"indent": 1}],
    "raw": [True],
    "path": ["/x"],
    "version": ["1"],
    "encoding": ["gzip", "other"],
    "encoded": [{"drop": 1}],
    "content_type": ["text/plain", None],
    "headers": [{"X-A": "1"}],
    "header_length": [{"name": "X-Length"}, {"value": "7"}, {"values": ["8", "9"]}],
    "body": [{"append": "a5a5"}, {"drop": 1}],
    "method": ["PUT"],
    "delivery": [{"slices": 2}, {"chunks": 2}],
}


def bytes_of(request: Entry) -> bytes | None:
    """The pieces that are sent, None if the request is refused."""
    case = make_case({"outcome": "reject"}, **request)
    if misfit_of(case) is not None:
        return None
    try:
        return b"|".join(map(bytes, prepared(case).request.http1))
    except CaseFileError:
        return None


def some(table: dict[str, list[Any]]) -> st.SearchStrategy[Entry]:
    """Entries with any of these members."""
    options = {name: st.sampled_from(values) for name, values in table.items()}
    return st.fixed_dictionaries({}, optional=options)


@settings(max_examples=300)
@given(
    st.one_of(
        some(INPUTS).map(lambda said: (said, lambda one: {"inputs": [INPUT | one]})),
        some(OUTPUTS).map(lambda said: (said, lambda one: {"inputs": [INPUT], "outputs": [one]})),
        some(REQUESTS).map(lambda said: (said, lambda one: {"inputs": [INPUT], **one})),
    )
)
def test_a_request_without_one_of_its_members_is_another_one(said_of: Any) -> None:
    said, request = said_of
    whole = bytes_of(request(said))
    for name in said if whole is not None else ():
        less = bytes_of(request({other: said[other] for other in said if other != name}))
        assert whole != less, (name, said)


def test_empty_parameters_are_sent() -> None:
    given = {"shape": [1], "form": "json", "parameters": {}}
    assert b'"parameters":{}' in (bytes_of({"inputs": [given]}) or b"")


@pytest.mark.parametrize(
    "request_",
    [
        {"inputs": [{"shape": [1], "form": "json", "blob": "00"}]},
        {"inputs": [{"shape": [1], "form": "json", "size": {"add": 1}}]},
        {"inputs": [], "raw": True, "id": "1"},
        {"inputs": [], "encoded": {"drop": 1}},
        {"inputs": [], "path": "/x", "version": "1"},
        {"inputs": [], "json": {"text": "", "after": "x"}},
        {"inputs": [], "outputs": [{"name": "x", "tensor": 0}]},
    ],
    ids=json.dumps,
)
def test_what_would_be_dropped_is_refused(request_: Entry) -> None:
    assert misfit_of(make_case({"outcome": "reject"}, **request_))


# What an author cannot ask for is one line that names the member.


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
