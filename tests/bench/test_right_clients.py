"""Right clients that behave otherwise than the plain client: nothing fails, whatever they do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import requests
import urllib3

from v2_conformance.bench.scenarios import run_scenario
from v2_conformance.maintenance.selftest.clients import plain_client
from v2_conformance.protocol.message import json_object
from v2_conformance.protocol.names import HEADER_LENGTH
from v2_conformance.reference.client import PlainClient
from v2_conformance.reference.client.connection import Answer
from v2_conformance.reference.client.responses_read import Inference
from v2_conformance.reference.client.task import Call, CallerInput, ClientError
from v2_conformance.suite.cases import ClientCase
from v2_conformance.suite.library import client_cases
from v2_conformance.suite.outcomes import Outcome


class NoHalvesInJson(PlainClient):
    """No JSON library has a half: K14 lets a client refuse FP16 there, both ways."""

    def json_data(self, tensor: CallerInput) -> list[Any]:
        if tensor.datatype == "FP16":
            raise ClientError("FP16 has no JSON form here")
        return super().json_data(tensor)

    def read(self, call: Call, answer: Answer) -> Inference:
        document, _ = json_object(answer.body) or ({}, 0)
        read = document.get("outputs", ())
        if any("data" in output and output["datatype"] == "FP16" for output in read):
            raise ClientError("FP16 has no JSON form here")
        return super().read(call, answer)


class BlobsInstead(PlainClient):
    """What JSON cannot say is sent as a blob, exactly."""

    def infer(self, call: Call) -> Inference:
        try:
            return super().infer(call)
        except ClientError:
            inputs = tuple(replace(one, binary=True) for one in call.inputs)
            return super().infer(replace(call, inputs=inputs))


class AlwaysSaysTheLength(PlainClient):
    """Without blobs the header length is that of the whole body, which is also the JSON's."""

    def exchange(self, call: Call, fields: Mapping[str, str], body: bytes) -> Answer:
        return super().exchange(call, {HEADER_LENGTH: str(len(body)), **fields}, body)


class EncodesAsTheCallerSays(PlainClient):
    """A caller who passes a Content-Encoding gets a body in that coding."""

    def infer(self, call: Call) -> Inference:
        coding = call.headers.get("Content-Encoding", call.request_compression)
        return super().infer(replace(call, request_compression=coding))


class OfHttp10(PlainClient):
    """It knows no chunks and no interim response, and waits for the end of each connection."""

    def prepared(
        self, call: Call, fields: Mapping[str, str], body: bytes
    ) -> requests.PreparedRequest:
        return super().prepared(call, {"Expect": "100-continue", **fields}, body)

    def send(self, prepared: requests.PreparedRequest) -> requests.Response:
        response = super().send(prepared)
        if "Transfer-Encoding" in response.headers:
            raise ClientError("chunks are unknown here")
        if response.headers.get("Connection") != "close":
            raise ClientError("it closes without a word")
        return response


def scenarios(*starts: str) -> list[ClientCase]:
    return [
        case
        for case in client_cases()
        if isinstance(case, ClientCase) and case.id.startswith(starts)
    ]


def failing(cls: type[PlainClient], *starts: str) -> dict[str, str]:
    """The messages of the scenarios that are no pass, by id."""
    results = [run_scenario(case, plain_client(cls)) for case in scenarios(*starts)]
    assert results
    return {r.case.id: r.message for r in results if r.outcome is not Outcome.PASS}


@pytest.mark.parametrize(
    ("cls", "starts"),
    [
        (NoHalvesInJson, ("K2/", "K3/", "K8/", "K14/json[FP16", "K16/", "K35/")),
        (BlobsInstead, ("K20/",)),
        (AlwaysSaysTheLength, ("K9/",)),
        (EncodesAsTheCallerSays, ("K19/",)),
    ],
)
def test_a_right_client_fails_nothing(cls: type[PlainClient], starts: tuple[str, ...]) -> None:
    assert failing(cls, *starts) == {}


def test_a_client_of_http_1_0_gets_what_it_can_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urllib3.connection.HTTPConnection, "_http_vsn", 10)
    monkeypatch.setattr(urllib3.connection.HTTPConnection, "_http_vsn_str", "HTTP/1.0")
    assert failing(OfHttp10, "K2/", "K5/elements-missing", "K7/", "K26/", "K34/continue") == {}


def test_a_blob_of_other_values_is_no_way_out_of_json() -> None:
    class Rounds(BlobsInstead):
        def blob(self, tensor: CallerInput) -> bytes:
            return bytes(len(super().blob(tensor)))

    assert failing(Rounds, "K20/no-number").keys() == {c.id for c in scenarios("K20/no-number")}
