"""Scenarios and clients for tests of the client bench."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import yaml

from v2_clients.bench.clients import Client, CommandClient, InProcessClient
from v2_clients.plain import PlainClient, run_task
from v2_clients.scenarios import run_scenario
from v2_conformance.conversations.steps import Result
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


def plain(made: Callable[[str, float], PlainClient] = PlainClient) -> InProcessClient:
    """The plain client, or another one in its place, in this process."""
    return InProcessClient(lambda task: run_task(msgspec.to_builtins(task), task.url, made))


def program(code: str, *arguments: str, startup_s: float = 20.0) -> CommandClient:
    """A program in Python as a client."""
    return CommandClient((sys.executable, "-c", code, *arguments), startup_s=startup_s)


def run_once(case: ClientCase, client: Client) -> Result:
    """Run a scenario, and end the client."""
    try:
        return run_scenario(case, client)
    finally:
        client.close()


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
