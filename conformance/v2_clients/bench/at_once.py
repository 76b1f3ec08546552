"""Runs several scenarios at the same time; their results come in the order of the plan."""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from v2_clients.bench.clients import Client
from v2_conformance.conversations.steps import Result
from v2_conformance.suite.cases import ClientCase

_AHEAD = 4
"""Results of each job that are kept while an earlier scenario is still running."""


def at_once(
    cases: Sequence[ClientCase],
    clients: Sequence[Client],
    run: Callable[[ClientCase, Client], Result],
) -> Iterator[Result]:
    """Yield the result of each scenario in order, while each of `clients` runs one. `run` is called
    in threads. In the end, or if the caller has enough, the clients are closed."""
    free: queue.SimpleQueue[Client] = queue.SimpleQueue()
    for client in clients:
        free.put(client)

    def work(case: ClientCase) -> Result:
        client = free.get()
        try:
            return run(case, client)
        finally:
            free.put(client)

    pool = ThreadPoolExecutor(len(clients), thread_name_prefix="bench-job")
    ahead: deque[Future[Result]] = deque()
    left = iter(cases)
    try:
        while True:
            while len(ahead) < len(clients) * _AHEAD and (case := next(left, None)) is not None:
                ahead.append(pool.submit(work, case))
            if not ahead:
                return
            yield ahead.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for client in clients:
            client.close()
        pool.shutdown()
