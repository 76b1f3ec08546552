"""Runs several scenarios at the same time; their results come in the order of the plan."""

from __future__ import annotations

import multiprocessing
import queue
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from multiprocessing.connection import Connection
from types import FrameType

from v2_clients.bench.clients import Client
from v2_clients.bench.one_process import LostBesideOthersError
from v2_clients.bench.scenarios import run_scenario
from v2_conformance.errors import ConformanceError, StoppedError
from v2_conformance.runs.result import Result
from v2_conformance.suite.cases import ClientCase

_AHEAD = 4
"""Results of each job that are kept while an earlier scenario is still running."""
_ENDS_S = 15.0

Run = Callable[[ClientCase], Result]


def at_once(
    cases: Sequence[ClientCase], run: Run, jobs: int, stop: Callable[[], object]
) -> Iterator[Result]:
    """Yield the result of each scenario in order, while `jobs` of them run.

    `run` is called in threads. A scenario that it lost with others runs again alone. If the caller
    has enough, `stop` ends what is running.
    """
    pool = ThreadPoolExecutor(jobs, thread_name_prefix="bench-job")
    ahead: deque[tuple[ClientCase, Future[Result]]] = deque()
    left = iter(cases)
    try:
        while True:
            while len(ahead) < jobs * _AHEAD and (case := next(left, None)) is not None:
                ahead.append((case, pool.submit(run, case)))
            if not ahead:
                return
            case, future = ahead.popleft()
            try:
                result = future.result()
            except LostBesideOthersError:
                wait([other for _, other in ahead])
                result = run(case)
            yield result
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        stop()
        pool.shutdown()


class Workers:
    """Processes that each run one scenario at a time, with a listener and a client of its own.

    A process, and not a thread, because it adopts and ends whatever its client leaves behind.
    """

    def __init__(self, client: Client, *, timeout_s: float, number: int) -> None:
        # Fresh processes: a fork would copy the locks of threads in whatever state they are.
        context = multiprocessing.get_context("spawn")
        self._free: queue.SimpleQueue[Connection] = queue.SimpleQueue()
        self._connections: list[Connection] = []
        self._processes = []
        for _ in range(number):
            ours, theirs = context.Pipe()
            process = context.Process(target=_work, args=(theirs, client, timeout_s), daemon=True)
            process.start()
            theirs.close()
            self._processes.append(process)
            self._connections.append(ours)
            self._free.put(ours)

    def run(self, case: ClientCase) -> Result:
        """Run a scenario in a process that is free. Raises what `run_scenario` raises."""
        worker = self._free.get()
        try:
            worker.send(case)
            found = worker.recv()
        except (EOFError, OSError) as error:
            raise StoppedError("a process that runs scenarios ended unexpectedly") from error
        finally:
            self._free.put(worker)
        if isinstance(found, ConformanceError):
            raise found
        assert isinstance(found, Result)
        return found

    def stop(self) -> None:
        """End the processes and the clients that they run."""
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.join(_ENDS_S)
            process.kill()
        for connection in self._connections:
            connection.close()


def _work(connection: Connection, client: Client, timeout_s: float) -> None:
    """Run the scenarios that come until there are no more, or the process is told to end."""
    signal.signal(signal.SIGTERM, _leave)
    with suppress(EOFError, OSError, KeyboardInterrupt):
        while True:
            case = connection.recv()
            found: Result | ConformanceError
            try:
                found = run_scenario(case, client, timeout_s=timeout_s)
            except ConformanceError as error:
                found = error
            connection.send(found)


def _leave(number: int, frame: FrameType | None) -> None:
    """Unwind, which ends the client."""
    raise SystemExit(0)
