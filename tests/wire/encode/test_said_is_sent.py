"""Nothing that an entry of a case file says is dropped: it is in the request, or it is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from support.cases import make_case, misfit_of, prepared
from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.message import parse_json
from v2_conformance.protocol.names import BINARY_DATA, BINARY_DATA_SIZE, HEADER_LENGTH
from v2_conformance.wire.encode.requests import Prepared

Entry = dict[str, Any]

NAMES = st.sampled_from(["a", "b c", "\u00e9", BINARY_DATA, BINARY_DATA_SIZE])
PARAMETERS = st.dictionaries(NAMES, st.booleans() | st.integers(0, 9) | st.just("x"), max_size=2)
COUNTS = st.integers(0, 4)


def some(**members: st.SearchStrategy[Any]) -> st.SearchStrategy[Entry]:
    """Entries with any of these members."""
    return st.fixed_dictionaries({}, optional=members)


INPUTS = some(
    tensor=st.just(0),
    name=st.sampled_from(["INPUT0", "other"]),
    datatype=st.sampled_from(["INT32", "FP32"]),
    values=st.lists(st.integers(0, 9), max_size=4)
    | st.sampled_from(["counting", {"hex": "01000000"}, {"hex": "", "then": "counting"}]),
    form=st.sampled_from(["binary", "json", "nested", "both", "neither"]),
    size=st.fixed_dictionaries({"value": COUNTS}) | st.fixed_dictionaries({"add": COUNTS}),
    blob=st.sampled_from(["", "ff", "0102 0304"]),
    elements=COUNTS,
    parameters=PARAMETERS,
).flatmap(lambda entry: COUNTS.map(lambda count: {"shape": [count], **entry}))
OUTPUTS = some(
    tensor=st.just(0),
    name=st.sampled_from(["OUTPUT0", "other"]),
    binary_data=st.booleans() | st.just("yes"),
    parameters=PARAMETERS,
)
JSON = some(
    before=st.sampled_from(["", " "]),
    after=st.sampled_from(["", "\n"]),
    indent=st.integers(0, 2),
    text=st.sampled_from(["{}", "["]),
)
REQUESTS = some(
    id=st.sampled_from(["", "1"]),
    parameters=PARAMETERS,
    outputs=st.lists(OUTPUTS, max_size=2),
    json=JSON,
    raw=st.booleans(),
    path=st.just("/v2/models/m/infer"),
    version=st.just("1"),
    encoding=st.just("identity"),
    encoded=st.just({"drop": 1}),
    content_type=st.sampled_from(["text/plain", None]),
    headers=st.dictionaries(st.sampled_from(["X-A", "X-B"]), st.just("1"), max_size=2),
    header_length=some(name=st.just("X-Length"), value=st.just("7"), values=st.just(["8", "9"])),
    body=some(append=st.just("a5a5")),
)


def sent(request: Entry) -> Prepared:
    """Return the request that is sent. What is refused is none of a property's business."""
    case = make_case({"outcome": "reject"}, **request)
    assume(misfit_of(case) is None)
    try:
        return prepared(case)
    except CaseFileError:
        assume(False)
        raise


def body_of(made: Prepared) -> bytes:
    return b"".join(map(bytes, made.request.body))


def document_of(made: Prepared) -> Any:
    first = made.parts[0]
    return parse_json(body_of(made)[first.start : first.end])


def check_input(entry: Entry, written: Entry, blob: bytes | None) -> None:
    assert written["shape"] == entry["shape"]
    assert written["name"] == entry.get("name", "INPUT0")
    assert written["datatype"] == entry.get("datatype", "INT32")
    parameters = dict(written.get("parameters", {}))
    size = parameters.pop(BINARY_DATA_SIZE, None) if blob is not None else None
    assert parameters == entry.get("parameters", {})
    assert ("parameters" in written) == ("parameters" in entry or blob is not None)
    form, values = entry.get("form", "binary"), entry.get("values", "counting")
    assert (blob is not None) == (form in ("binary", "both"))
    assert ("data" in written) == (form in ("json", "nested", "both"))
    if "data" in written and isinstance(values, list):
        assert written["data"] == values
    count = entry.get("elements", entry["shape"][0])
    if "data" in written and isinstance(values, str):
        assert len(written["data"]) == count
    if blob is None:
        assert not {"blob", "size"} & entry.keys()
        return
    if "blob" in entry:
        assert blob == bytes.fromhex(entry["blob"])
    elif isinstance(values, list):
        assert blob == b"".join(value.to_bytes(4, "little") for value in values)
        assert len(values) == entry.get("elements", len(values))
    elif isinstance(values, str):
        assert len(blob) == 4 * count
    else:
        assert "elements" not in entry
    told = entry.get("size", {"add": 0})
    assert size == told.get("value", len(blob) + told.get("add", 0))


@settings(max_examples=300)
@given(st.lists(INPUTS, min_size=1, max_size=1))
def test_what_an_input_says_is_sent_or_refused(inputs: list[Entry]) -> None:
    made = sent({"inputs": inputs})
    body = body_of(made)
    blobs = [body[part.start : part.end] for part in made.parts if part.kind == "blob"]
    for entry, written in zip(inputs, document_of(made)["inputs"], strict=True):
        check_input(entry, written, blobs.pop(0) if blobs else None)


@settings(max_examples=300)
@given(OUTPUTS)
def test_what_an_output_says_is_sent_or_refused(entry: Entry) -> None:
    made = sent({"inputs": [{"shape": [1]}], "outputs": [entry]})
    (written,) = document_of(made)["outputs"]
    assert written["name"] == entry.get("name", "OUTPUT0")
    assert not {"name", "tensor"} <= entry.keys()
    own = entry.get("parameters", {})
    flag = {BINARY_DATA: entry[BINARY_DATA]} if BINARY_DATA in entry else {}
    assert not own.keys() & flag.keys()
    assert written.get("parameters", {}) == own | flag
    assert ("parameters" in written) == ("parameters" in entry or bool(flag))


@settings(max_examples=300)
@given(REQUESTS)
def test_what_a_request_says_is_sent_or_refused(said: Entry) -> None:
    made = sent({"inputs": [{"shape": [1]}], **said})
    head, json = made.request.head, said.get("json", {})
    fields = [(name, value) for name, value in head.fields]
    assert set(said.get("headers", {}).items()) <= set(fields)
    if "content_type" in said:
        types = [value for name, value in fields if name == "Content-Type"]
        assert types == [said["content_type"]] * (said["content_type"] is not None)
    if "header_length" in said:
        told = said["header_length"]
        assert not {"value", "values"} <= told.keys()
        lengths = [value for name, value in fields if name == told.get("name", HEADER_LENGTH)]
        assert len(lengths) == len(told.get("values", "1"))
        assert lengths == told.get("values", [told.get("value", lengths[0])])
    if "path" in said:
        assert head.target == said["path"]
        assert "version" not in said
    elif "version" in said:
        assert "/versions/1/" in head.target
    assert "encoded" not in said or "encoding" in said
    body = body_of(made)
    assert body.endswith(b"\xa5\xa5" if "append" in said.get("body", {}) else b"")
    if said.get("raw"):
        assert not {"id", "parameters", "outputs", "json"} & said.keys()
        return
    if "text" in json:
        assert json.keys() == {"text"}
        assert body.startswith(json["text"].encode())
        return
    first = made.parts[0]
    text = body[first.start : first.end].decode()
    assert text.startswith(json.get("before", ""))
    assert text.endswith(json.get("after", ""))
    assert ("\n" in text.strip()) == ("indent" in json)
    document = document_of(made)
    for name in ("id", "parameters"):
        assert (name in document) == (name in said)
        assert document.get(name) == said.get(name)
    assert ("outputs" in document) == ("outputs" in said)
    assert len(document.get("outputs", ())) == len(said.get("outputs", ()))


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
)
def test_what_would_be_dropped_is_refused(request_: Entry) -> None:
    assert misfit_of(make_case({"outcome": "reject"}, **request_))


def test_empty_parameters_are_sent() -> None:
    entry = {"shape": [1], "form": "json", "parameters": {}}
    made = prepared(make_case({"outcome": "reject"}, inputs=[entry]))
    assert document_of(made)["inputs"][0]["parameters"] == {}
