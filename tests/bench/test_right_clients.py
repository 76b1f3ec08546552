"""Right clients that behave otherwise than the plain client: nothing fails, whatever they do."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
import requests
import urllib3

from v2_clients.plain import PlainClient
from v2_clients.plain.task import Call, CallerInput, ClientError
from v2_conformance.conversations.steps import Result
from v2_conformance.suite.cases import Case
from v2_conformance.suite.library import client_cases
from v2_mutants.client_variants import CLIENT_VARIANTS
from v2_mutants.selftest.clients import client_failures_without_fault


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


def scenarios(*starts: str) -> list[Case]:
    found = [case for case in client_cases() if case.id.startswith(starts)]
    assert found
    return found


def level(result: Result) -> str:
    return result.case.facts(("client", "bf16"), result.cause).level


def failing(cls: type[PlainClient], *starts: str) -> dict[str, str]:
    """The messages of the scenarios that are no pass, by id."""
    results = client_failures_without_fault(cls, scenarios(*starts))
    return {r.case.id: r.message or r.outcome for r in results}


WARNS = {
    "always-says-the-length": ("K1/example-without-blobs", "K1/none-without-blobs"),
    "codings-not-asked-for-refused": ("K21/",),
    "excess-ignored": ("K6/",),
}
"""Scenarios of level SHOULD that a variant fails: it is legal, but not as clients should be."""


@pytest.mark.parametrize("variant", CLIENT_VARIANTS)
def test_a_right_client_fails_nothing(variant: str, pytestconfig: pytest.Config) -> None:
    """Run what the variant comes near; with --whole-runs every scenario (`tox -e variants`)."""
    found = CLIENT_VARIANTS[variant]
    near = [f"{name}/" for name in re.findall(r"K[0-9]+", found.why.partition(";")[0])]
    whole = pytestconfig.getoption("--whole-runs")
    results = client_failures_without_fault(found.cls, scenarios(*(["K"] if whole else near)))
    warns = WARNS.get(variant, ())
    wrong = {
        one.case.id: one.message or one.outcome
        for one in results
        if not (warns and one.case.id.startswith(warns) and level(one) == "SHOULD")
    }
    assert wrong == {}
    assert bool(results) == bool(warns)


def test_a_client_of_http_1_0_gets_what_it_can_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urllib3.connection.HTTPConnection, "_http_vsn", 10)
    monkeypatch.setattr(urllib3.connection.HTTPConnection, "_http_vsn_str", "HTTP/1.0")
    assert failing(OfHttp10, "K2/", "K5/elements-missing", "K7/", "K26/", "K34/continue") == {}


def test_a_blob_of_other_values_is_no_way_out_of_json() -> None:
    class Rounds(CLIENT_VARIANTS["blobs-instead"].cls):  # type: ignore[misc]
        def blob(self, tensor: CallerInput) -> bytes:
            return bytes(len(super().blob(tensor)))

    assert failing(Rounds, "K20/no-number").keys() == {c.id for c in scenarios("K20/no-number")}
