"""Assigns the requests of a scenario to the task's requests, in their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from v2_clients.bench.requests import ClientRequest, model_asked, objects
from v2_clients.bench.tasks import Asked
from v2_conformance.suite.outcomes import Purpose

MOST_EXCHANGES = 200
"""Requests that a scenario takes; a client that sends more gets no more answers."""

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
"""The interim response for a client that waits for it before it sends a body."""

NOTES = {
    Purpose.DISCOVERY: "not an inference request of the task",
    Purpose.RETRIED: "sent again by the client",
}
"""The words shown beside an exchange of a client."""


class Turns:
    """Tells the inference requests of a scenario apart, in the order in which they come.

    Of several requests to its model, it is one of its shapes, if there is any, since a client may
    send in any order: the next one that has not come yet; when all have come, it is the last one
    again. One to a model that the task does not have belongs to none.
    """

    def __init__(self, asked: Sequence[Asked]) -> None:
        self._models = [one.request.model for one in asked]
        self._shapes = [
            sorted((list(tensor.shape) for tensor in one.inputs), key=repr) for one in asked
        ]
        self._times = [0] * len(asked)

    def needs_all(self, request: ClientRequest) -> bool:
        """Return True if only the whole request shows which one it is."""
        result = model_asked(request)
        return result is not None and self._models.count(result[0]) > 1

    def next(self, request: ClientRequest) -> tuple[int, int] | None:
        """Return the number of the request in the task, and how often it came before.

        None for any other request, such as for metadata.
        """
        result = model_asked(request)
        if result is None:
            return None
        same = [number for number, model in enumerate(self._models) if model == result[0]]
        if not same:
            return None
        if len(same) > 1:
            shapes = _shapes(request)
            same = [number for number in same if self._shapes[number] == shapes] or same
        number = next((n for n in same if not self._times[n]), same[-1])
        self._times[number] += 1
        return number, self._times[number] - 1


def _shapes(request: ClientRequest) -> list[Any]:
    """Return the shapes of a request's inputs, in any order."""
    return sorted((one.get("shape") for one in objects(request.document.get("inputs"))), key=repr)
