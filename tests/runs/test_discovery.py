"""Discovery: what a server says of itself, and one clear line for whatever is no V2 server."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping

import pytest

from support.responses import http
from support.servers import PATIENT, Peer, Script, always, answering, serving
from v2_conformance.conversations.discovery import Server
from v2_conformance.errors import NothingRanError, UnreachableError
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.models import contract, stand_ins
from v2_conformance.wire.response import Limits

METADATA = {"name": "srv", "version": "1.2", "extensions": ["binary_tensor_data"]}
BODY = json.dumps(METADATA).encode()
SHORT = Limits(connect_s=5, exchange_s=0.15)


def v2_server(metadata: object = METADATA, models: Mapping[str, object] | None = None) -> Script:
    """A V2 server that has `models` (default: all of the contract, without tensors)."""
    known = models if models is not None else {m.model: {} for m in contract().values()}

    def answer(request: bytes) -> bytes:
        path = request.split(b" ")[1].decode()
        name = path.removeprefix("/v2/models/")
        if path == "/v2":
            return http(dumped(metadata))
        if name not in known:
            return http(b'{"error": "no such model"}', 404)
        found = dumped(known[name])
        return found if found.startswith(b"HTTP/1.1") else http(found)

    return always(answer)


def coded(body: bytes, coding: str) -> bytes:
    return http(body, 200, ("Content-Encoding", coding))


def dumped(value: object) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value).encode()


def discovered(script: Script, limits: Limits = PATIENT) -> Server:
    with serving(script) as server:
        return discover(Target(server.url, limits=limits))


def unreachable(script: Script, limits: Limits = PATIENT) -> str:
    with serving(script) as server, pytest.raises(UnreachableError) as error:
        discover(Target(server.url, limits=limits))
    assert "\n" not in str(error.value)
    assert server.url in str(error.value)
    return str(error.value)


def test_a_server_with_every_model_is_known() -> None:
    server = discovered(v2_server())
    assert (server.info.name, server.info.version) == ("srv", "1.2")
    assert server.info.extensions == ("binary_tensor_data",)
    wanted = {role for role, model in contract().items() if model.profile == "binary"}
    assert server.present.keys() == wanted - set(stand_ins().values())
    assert not server.absent


def test_models_of_claimed_profiles_are_looked_for_and_what_stands_in_for_a_datatype() -> None:
    with serving(v2_server()) as server:
        found = discover(Target(server.url, profiles=("binary", "raw", "bf16")))
        lacking = Target(server.url, unsupported=frozenset({"FP16"}))
        present = discover(lacking).present.keys()
    assert found.present.keys() == contract().keys() - set(stand_ins().values())
    assert present & set(stand_ins().values()) == {"mixed/INT32", "all_types/INT32"}


# Not a V2 server.


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (http(b"\n <html>"), "answered with HTML"),
        (http(b"OK"), "something else"),
        (http(b""), "something else"),
        (http(b"[]"), "something else"),
        (http(b'{"name": "x"}'), "required property"),
        (http(b'{"name": "x", "version": 1, "extensions": []}'), "$.version"),
        (http(b'{"name": "x", "version": "1", "extensions": "binary"}'), "$.extensions"),
        (http(b'{"a": NaN}'), "NaN"),
        (http(b'{"a": ' + b"[" * 50_000), "nested"),
        (http(b"", 304), "status 304,"),
        (coded(b"not gzip", "gzip"), "cannot be read"),
        (coded(b"{}", "br"), "cannot be read"),
        (coded(gzip.compress(b" " * (1 << 21)), "gzip"), "1048576 bytes"),
    ],
)
def test_what_is_not_v2_metadata_is_unreachable_and_said_so(reply: bytes, words: str) -> None:
    assert words in unreachable(answering(reply))


def test_a_server_that_never_answers_or_has_no_address_is_unreachable() -> None:
    assert "within 0.15 s" in unreachable(Peer.until_closed, SHORT)
    with pytest.raises(UnreachableError):
        discover(Target("http://a..b:1", limits=PATIENT))


def test_a_coded_answer_is_read() -> None:
    assert discovered(always(coded(gzip.compress(BODY), "GZIP"))).info.name == "srv"


# Models.


def test_a_model_that_is_not_there_is_absent_with_its_name_and_the_answer() -> None:
    moved = http(b"", 307, ("Location", "/v2/models/identity_int8/"))
    server = discovered(v2_server(models={"identity_int32": {}, "identity_int8": moved}))
    assert list(server.present) == ["identity/INT32"]
    assert "no model identity_fp32" in server.absent["identity/FP32"]
    assert "404" in server.absent["identity/FP32"]
    assert server.absent["identity/INT8"].endswith(
        "status 307, a redirect to /v2/models/identity_int8/"
    )


def test_a_server_without_a_single_model_runs_nothing() -> None:
    with pytest.raises(NothingRanError, match="none of the contract's models"):
        discovered(v2_server(models={}))


def tensors(name: object, datatype: object) -> dict[str, list[dict[str, object]]]:
    return {"inputs": [{"name": name, "datatype": datatype, "shape": [-1]}], "outputs": []}


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        (
            tensors("INPUT0", "INT64"),
            "INPUT0 of identity_int32: expected datatype INT32, got 'INT64'",
        ),
        (tensors("INPUT0", ["INT32"]), "expected datatype INT32, got ['INT32']"),
        (tensors("INPUT0", "\x1b[31m" * 100), "\\x1b"),
        (tensors("other", "INT32"), "no tensor INPUT0 among its inputs"),
        ({"outputs": [{"name": "x"}]}, "no tensor OUTPUT0 among its outputs"),
        (
            {"inputs": [*tensors("INPUT0", "INT32")["inputs"], {"name": "mask\n", "shape": [1]}]},
            r"identity_int32 has inputs that the role identity/INT32 has no values for: mask\n",
        ),
        (b"[]", "is not JSON"),
    ],
)
def test_metadata_that_contradicts_the_role_makes_the_model_absent(
    metadata: object, words: str
) -> None:
    models = {"identity_int32": metadata, "identity_fp32": {}}
    server = discovered(v2_server(models=models))
    assert words in server.absent["identity/INT32"]
    assert server.absent["identity/INT32"].isprintable()
    assert list(server.present) == ["identity/FP32"]


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"inputs": None, "outputs": 3},
        {"inputs": ["text", None, 1]},
        {"inputs": [{"name": [1]}, {"name": {}}]},
        {"outputs": [{"name": "OUTPUT0", "datatype": "INT32"}, {"name": "more"}]},
    ],
)
def test_metadata_without_tensors_does_not_rule_out_a_model(metadata: object) -> None:
    server = discovered(v2_server(models={"identity_int32": metadata}))
    assert "identity/INT32" in server.present


@pytest.mark.parametrize(
    ("listed", "version"), [(["3"], "3"), (["1", "2"], None), (None, None), (["a/b"], None)]
)
def test_the_version_of_a_model_is_the_only_one_that_the_server_lists(
    listed: object, version: str | None
) -> None:
    models = {m.model: {"versions": listed} for m in contract().values()}
    assert discovered(v2_server(models=models)).present["identity/INT32"].version == version
