"""Right servers over sockets: what takes time, what ordinary clients understand, and reports."""

from __future__ import annotations

from pathlib import Path

import pytest
import requests

from support.memory import in_memory
from support.runs import chosen, made, results, said, target_of
from v2_conformance.protocol.names import HEADER_LENGTH, OPT_IN_PROFILES
from v2_conformance.runs.targets.reaching import wait_until_ready
from v2_conformance.suite.library import generated_case, suite_cases
from v2_conformance.suite.outcomes import Outcome
from v2_mutants.servers import MutantServer
from v2_mutants.variants import VARIANTS

# In memory no time passes, nothing is written in pieces, and one request is sent at a time.
IN_TIME = (
    "idle-timeout-with-408", "models-loaded-when-asked-for", "one-connection-at-a-time",
    "one-request-at-a-time", "pause-before-body", "short-idle-timeout", "single-byte-writes",
    "slow-start",
)  # fmt: skip
# What urllib3 and http.client cannot read, which is why the suite has a transport of its own.
BEYOND_AN_ORDINARY_CLIENT = {"many-fields", "interim-responses", "space-around-values"}


@pytest.mark.parametrize("variant", IN_TIME)
def test_a_right_server_that_takes_its_time_fails_nothing(variant: str) -> None:
    at_once = [case for case in suite_cases() if case not in in_memory([case])]
    cases = [*chosen("C1/", "C5/", "C7/", "P2/", "R3/", "R8/", "V2/request"), *at_once]
    with MutantServer(variants=[variant]) as server:
        target = target_of(server.url, *OPT_IN_PROFILES, timeout=30)
        wait_until_ready(target)
        found = results(target, list({case.id: case for case in cases}.values()))
    right = (Outcome.PASS, Outcome.DISPUTED)
    wrong = {id: one.message for id, one in found.items() if one.outcome not in right}
    assert wrong == {}


@pytest.mark.parametrize("variant", sorted(VARIANTS.keys() - BEYOND_AN_ORDINARY_CLIENT))
def test_an_ordinary_client_understands_each_variant(variant: str) -> None:
    tensor = {"name": "INPUT0", "shape": [2], "datatype": "INT32", "data": [1, -2]}
    with MutantServer(variants=[variant]) as server, requests.Session() as session:
        wait_until_ready(target_of(server.url))
        assert "binary_tensor_data" in session.get(f"{server.url}/v2").json()["extensions"]
        url = f"{server.url}/v2/models/identity_int32/infer"
        asked = {"inputs": [tensor], "parameters": {"binary_data_output": True}}
        answer = session.post(url, json=asked)
        end = int(answer.headers[HEADER_LENGTH])
        assert answer.content[end:] == b"\1\0\0\0\xfe\xff\xff\xff"
        (output,) = session.post(url, json={"inputs": [tensor]}).json()["outputs"]
        assert output["data"] == [1, -2]
        refused = session.post(url, json={"inputs": []})
        assert (refused.status_code // 100, type(refused.json()["error"])) == (4, str)


def test_what_a_server_declines_is_judged_again_from_its_bytes(tmp_path: Path) -> None:
    for variant in ("content-length-required", "bodies-limited-by-gateway"):
        cases = [*chosen("C1/", "B12/"), generated_case()]
        with MutantServer(variants=[variant]) as server:
            found, words = said(made(tmp_path, target_of(server.url), cases))
        assert (found.exit_code, "the verdict holds" in words) == (0, True), words
