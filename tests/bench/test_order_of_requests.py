"""Requests are told apart by what they ask: a client may send those of a task in any order, at the
same time, twice, and among others of its own."""

from __future__ import annotations

import base64
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from v2_clients.bench.clients import Client, CommandClient, InProcessClient
from v2_clients.bench.messages import Task
from v2_clients.plain import run_task
from v2_clients.run import client_target, make_client_plan, start_client_run
from v2_clients.scenarios import run_scenario
from v2_conformance.suite.cases import ClientCase
from v2_conformance.suite.causes.causes import WrongRequest
from v2_conformance.suite.library import client_cases
from v2_conformance.suite.outcomes import Outcome, Purpose

SCENARIOS = ("K1/each-request", "K3/mixed-order[reversed]", "K5/second-response", "K9/*", "K37/*")

OTHER_ORDER = """
import json, os, sys, threading, urllib.error, urllib.request
from v2_clients.plain import run_task

def others(url):
    # What the task does not ask for: the server's state, another model, a path that is nothing.
    for path, body in (("/v2", None), ("/v2/health/ready", None), ("/v2/models/else/infer", b"{}"),
                       ("/nothing", None)):
        try:
            urllib.request.urlopen(url + path, body, 5).read()
        except urllib.error.HTTPError:
            pass

def work(task):
    # The last request first, the first one twice, then all the others at the same time.
    said = [None] * len(task["requests"])
    def one(number):
        alone = dict(task, requests=[task["requests"][number]])
        (said[number],) = run_task(alone, task["url"])
    others(task["url"])
    one(len(said) - 1)
    one(0)
    threads = [threading.Thread(target=one, args=(number,)) for number in range(len(said))]
    for thread in threads: thread.start()
    others(task["url"])
    for thread in threads: thread.join()
    return said
"""
ONCE = """
task = json.loads(sys.stdin.readline())
print(json.dumps({"scenario": task["scenario"], "lines": work(task)}))
"""


def outcomes(client: Client, folder: Path, patterns: tuple[str, ...], jobs: int) -> Counter[str]:
    plan = make_client_plan(patterns)
    begun = start_client_run(client_target(), plan, folder, command=("it",), timeout_s=10)
    report = begun.finish(client, timeout_s=10, jobs=jobs)
    assert {c.id: c.message for c in report.cases if c.outcome is not Outcome.PASS} == {}
    return Counter(exchange.purpose for case in report.cases for exchange in case.exchanges)


def test_a_process_may_send_in_any_order(tmp_path: Path) -> None:
    client = CommandClient((sys.executable, "-c", OTHER_ORDER + ONCE))
    sent = outcomes(client, tmp_path, ("K9/nothing-stays", "K37/output-missing[first,json]"), 1)
    assert sent[Purpose.RETRIED] == 2 * 2
    assert sent[Purpose.DISCOVERY] >= 6


NUMBERS = range(4)


def spoiled(order: Sequence[int], number: int) -> Callable[[Task], list[dict[str, Any]]]:
    """A client that sends the requests of a task in this order, one of them as if it had forgotten
    what the caller wants."""

    def does(task: Task) -> list[dict[str, Any]]:
        plain = msgspec.to_builtins(task)
        said: dict[int, dict[str, Any]] = {}
        for place in order:
            request = plain["requests"][place]
            if place == number:
                data = base64.b64encode(bytes(len(base64.b64decode(request["inputs"][0]["data"]))))
                entry = {**request["inputs"][0], "data": data.decode()}
                request = {**request, "inputs": [entry]}
            (said[place],) = run_task({**plain, "requests": [request]}, task.url)
        return [said[place] for place in range(len(plain["requests"]))]

    return does


@pytest.mark.parametrize("number", NUMBERS)
def test_the_request_that_is_wrong_is_named_whenever_it_comes(number: int) -> None:
    (case,) = (one for one in client_cases() if one.id == "K9/nothing-stays")
    assert isinstance(case, ClientCase)
    for order in ((3, 2, 1, 0), (1, 0, 3, 2), (2, 2, 0, 3, 1, 0)):
        cause = run_scenario(case, InProcessClient(spoiled(order, number))).cause
        assert isinstance(cause, WrongRequest)
        assert (cause.number, cause.finding.kind) == (number + 1, "wrong_value")
