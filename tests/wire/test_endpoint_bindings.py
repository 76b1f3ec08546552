"""Requests in the envelope of an endpoint, and its responses read as those of a V2 server."""

from __future__ import annotations

import pytest

from v2_conformance.errors import UsageError
from v2_conformance.judging.messages.request import read_request
from v2_conformance.suite.library import suite_cases
from v2_conformance.wire.encode.deployment import Address, DeployedModel
from v2_conformance.wire.encode.requests import Prepared, get_request, prepare
from v2_conformance.wire.endpoint_bindings import BINDINGS, binding_named
from v2_conformance.wire.transcript import Response

SAGEMAKER, VERTEX = BINDINGS["sagemaker"], BINDINGS["vertex"]
INT32 = DeployedModel("identity/INT32", "identity_int32", ("INPUT0",), ("OUTPUT0",), "1")
CASES = {case.id: case for case in suite_cases()}


def sent(case_id: str, binding: str) -> Prepared:
    case = CASES[case_id]
    assert case.role == INT32.role
    prefix = "/predict" if binding == "vertex" else ""
    return prepare(case, Address("h", prefix, binding=BINDINGS[binding]), INT32)  # type: ignore[arg-type]


def fields_of(prepared: Prepared) -> dict[str, str]:
    return {name.lower(): value for name, value in prepared.request.head.fields}


def json_bytes(prepared: Prepared) -> int:
    return prepared.parts[0].end


def response(*headers: tuple[str, str]) -> Response:
    return Response(200, headers, b"{}", "content-length", 0)


def test_sagemaker_has_the_model_in_the_path_and_the_length_in_the_type() -> None:
    made = sent("P2/blob-follows-json[INT32]", "sagemaker")
    assert made.request.head.target == "/models/identity_int32/invoke"
    assert fields_of(made)["content-type"] == (
        f"application/vnd.sagemaker-triton.binary+json;json-header-size={json_bytes(made)}"
    )
    assert "inference-header-content-length" not in fields_of(made)


def test_vertex_has_one_path_and_a_field_that_names_the_model() -> None:
    made = sent("P2/blob-follows-json[INT32]", "vertex")
    assert made.request.head.target == "/predict"
    fields = fields_of(made)
    assert fields["x-vertex-ai-triton-redirect"] == "v2/models/identity_int32/infer"
    assert fields["content-type"] == (
        f"application/vnd.vertex-ai-triton.binary+json;json-header-size={json_bytes(made)}"
    )


def test_the_bytes_on_the_wire_are_those_of_the_translated_head() -> None:
    made = sent("P2/blob-follows-json[INT32]", "vertex")
    wire = b"".join(bytes(piece) for piece in made.request.http1)
    assert wire.startswith(b"POST /predict HTTP/1.1\r\n")
    assert b"Inference-Header-Content-Length" not in wire


@pytest.mark.parametrize("name", BINDINGS)
@pytest.mark.parametrize(
    ("case", "size"),
    [("H6/not-a-number[letters]", "abc"), ("H6/not-a-number-with-int32[empty]", "")],
)
def test_malformed_length_is_malformed_in_type(name: str, case: str, size: str) -> None:
    if case.startswith("H6/not-a-number["):
        case = case.replace("not-a-number[", "not-a-number-with-int32[")
    assert fields_of(sent(case, name))["content-type"].endswith(f";json-header-size={size}")


def test_a_missing_header_length_leaves_the_ordinary_type() -> None:
    made = sent("H3/missing[opaque]", "sagemaker")
    assert fields_of(made)["content-type"] == "application/octet-stream"


def test_the_letter_case_of_the_field_becomes_that_of_the_parameter() -> None:
    made = sent("H2/name-in-any-case[INFERENCE-HEADER-CONTENT-LENGTH]", "vertex")
    assert ";JSON-HEADER-SIZE=" in fields_of(made)["content-type"]


@pytest.mark.parametrize(
    ("path", "sagemaker", "vertex"),
    [
        ("/v2/health/live", "GET /ping", "v2/health/live"),
        ("/v2/models/m", "GET /models/m", "v2/models/m"),
        ("/v2", "GET /ping", "v2"),
    ],
)
def test_gets_are_asked_in_the_endpoints_way(path: str, sagemaker: str, vertex: str) -> None:
    head = get_request(Address("h", "", binding=SAGEMAKER), path).head
    assert f"{head.method} {head.target}" == sagemaker
    head = get_request(Address("h", "/predict", binding=VERTEX), path).head
    assert (head.method, head.target) == ("POST", "/predict")
    assert ("X-Vertex-Ai-Triton-Redirect", vertex) in head.fields
    assert ("Content-Length", "0") in head.fields


def test_a_response_of_sagemaker_is_read_as_one_of_v2() -> None:
    given = response(
        ("content-type", "Application/vnd.SageMaker-Triton.binary+json; json-header-size=12"),
        ("content-length", "2"),
    )
    read = SAGEMAKER.as_v2(given)
    assert read is not None
    assert read.values("Content-Type") == ["application/octet-stream"]
    assert read.values("Inference-Header-Content-Length") == ["12"]
    assert read.values("Content-Length") == ["2"]


@pytest.mark.parametrize(
    "headers",
    [
        [("content-type", "application/vnd.sagemaker-triton.binary+json")],
        [("content-type", "application/octet-stream"), ("inference-header-content-length", "12")],
    ],
    ids=["not in the type", "in the field"],
)
def test_a_length_that_is_not_in_the_type_is_missing(headers: list[tuple[str, str]]) -> None:
    read = SAGEMAKER.as_v2(response(*headers))
    assert read is not None
    assert read.values("Inference-Header-Content-Length") == []


def test_a_repeated_size_stays_repeated() -> None:
    binary = "application/vnd.sagemaker-triton.binary+json"
    read = SAGEMAKER.as_v2(
        response(("content-type", f"{binary};json-header-size=1;json-header-size=2"))
    )
    assert read is not None
    assert read.values("Inference-Header-Content-Length") == ["1", "2"]


def test_responses_of_vertex_have_the_ordinary_field() -> None:
    given = response(("inference-header-content-length", "12"))
    assert VERTEX.as_v2(given) is given


@pytest.mark.parametrize(
    ("case", "sagemaker", "vertex"),
    [
        ("P1/metadata-lists-extension", "metadata", None),
        ("P12/octet-stream-accepted[int32]", "content_type", "content_type"),
        ("H12/conflicting-duplicates[true_first]", "repeated_length", "repeated_length"),
        ("H13/optional-white-space[leading]", "field_syntax", "field_syntax"),
        ("H13/optional-white-space[trailing]", None, None),
        ("H14/another-notation[quoted]", "field_syntax", "field_syntax"),
        ("H14/another-notation[plus]", None, None),
        ("H8/trailing-junk[letters]", None, None),
    ],
)
def test_what_a_binding_lacks(case: str, sagemaker: str | None, vertex: str | None) -> None:
    found = [binding.lacking(CASES[case]) for binding in (SAGEMAKER, VERTEX)]
    assert found == [sagemaker, vertex]


def test_the_id_of_a_recorded_request_is_found_behind_its_size() -> None:
    document = b'{"id":"7","inputs":[]}'
    binary = "application/vnd.sagemaker-triton.binary+json"
    head = (
        "POST /models/m/invoke HTTP/1.1\r\nHost: h\r\n"
        f"Content-Type: {binary};json-header-size={len(document)}"
        f"\r\nContent-Length: {len(document) + 4}\r\n\r\n"
    )
    assert read_request(head.encode() + document + b"\0\0\0\0").id() == "7"


def test_an_unknown_binding_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="did you mean sagemaker"):
        binding_named("sagemakr")


@pytest.mark.parametrize("name", sorted(BINDINGS))
def test_a_path_that_an_endpoint_does_not_translate_stays(name: str) -> None:
    assert BINDINGS[name].path("/some/other/path") == "/some/other/path"
