"""Scenarios and clients for tests of the client bench."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from v2_clients.bench.clients import Client, CommandClient
from v2_clients.run import client_target, make_client_plan, start_client_run
from v2_clients.scenarios import run_scenario
from v2_conformance.conversations.steps import Result
from v2_conformance.report.document import Report
from v2_conformance.suite.case_files import load_scenarios
from v2_conformance.suite.cases import ClientCase

INT32 = {"model": "identity/INT32", "inputs": [{"shape": [4]}], "outputs": [{"form": "binary"}]}

UNSAID: dict[str, Any] = {
    **dict.fromkeys(("version", "id", "request_compression", "response_compression")),
    "binary_data_output": None,
    "outputs": None,
    "parameters": {},
    "headers": {},
}
"""What a task's request says if its caller says nothing."""


def scenario(folder: Path, **members: Any) -> ClientCase:
    """The scenario of an entry, K2/made unless it says otherwise."""
    entry = {"id": "K2/made", "why": "Made by hand for a test.", "request": INT32, **members}
    if "requests" in entry:
        del entry["request"]
    if "expect" not in entry and "requests" not in entry:
        entry["expect"] = {"reading": "exact"}
    path = folder / "made.yaml"
    path.write_text(yaml.safe_dump({"family": "K", "scenarios": [entry]}))
    (made,) = load_scenarios(path)
    assert isinstance(made, ClientCase)
    return made


def program(code: str, *arguments: str, startup_s: float = 20.0) -> CommandClient:
    """A program in Python as a client."""
    return CommandClient((sys.executable, "-c", code, *arguments), startup_s=startup_s)


def run_once(case: ClientCase, client: Client) -> Result:
    """Run a scenario, and end the client."""
    try:
        return run_scenario(case, client)
    finally:
        client.close()


def run(
    folder: Path, client: Client, jobs: int, patterns: Sequence[str], timeout_s: float = 10
) -> Report:
    """Return the report of a run of the scenarios that match."""
    plan = make_client_plan(patterns)
    begun = start_client_run(client_target(), plan, folder, command=("it",), timeout_s=timeout_s)
    return begun.finish(client, timeout_s=timeout_s, jobs=jobs)


READS_TASKS = """
import itertools, json, os, sys, time

def read():
    while text := sys.stdin.readline():
        yield json.loads(text)

def say(task, lines=None):
    lines = lines or [{"unsupported": task["scenario"]} for _ in task["requests"]]
    print(json.dumps({"scenario": task["scenario"], "lines": lines}), flush=True)

tasks = read()
"""
"""The beginning of a program that is one process for all scenarios: `tasks`, one after the other,
and `say`, which answers one."""
