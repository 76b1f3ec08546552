"""Servers that do not survive a request."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NoReturn

from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Rejected, Request, Response
from v2_conformance.suite.models import ModelContract
from v2_mutants.registry import Change, P, Right


class CrashingServer(Behaviour):
    """A server that stops accepting connections as soon as `crashed` is set."""

    crashed = False

    def listening(self) -> bool:
        return super().listening() and not self.crashed


def ends_server(when: Callable[P, object]) -> Change[Any, P]:
    """Return what ends a CrashingServer if `when` is true of the decision's arguments."""

    def what(right: Right[Any], /, *args: P.args, **kwargs: P.kwargs) -> Any:
        if when(*args, **kwargs):
            right.behaviour.crashed = True
        return right()

    return what


class FatalRequest(Rejected):
    """The request is answered with an error, and it crashes its model."""


class CrashingModels(Behaviour):
    """A server whose models stop working after a request that raises `fatal`."""

    fatal: type[Exception] = FatalRequest

    def __init__(self, profiles: Collection[str] = SERVER_PROFILES) -> None:
        super().__init__(profiles)
        self.dead: set[str] = set()

    def infer(self, model: ModelContract, request: Request) -> Response:
        if model.model in self.dead:
            raise Rejected(f"the model {model.model} has crashed", 503)
        try:
            return super().infer(model, request)
        except self.fatal:
            self.dead.add(model.model)
            raise


def die(status: int = 400) -> NoReturn:
    """Let the model of CrashingModels die of the request in hand. Raises FatalRequest."""
    raise FatalRequest("the model crashed while it served this request", status)


def kills_model(when: Callable[P, object], status: int = 400) -> Change[Any, P]:
    """Return what kills a model of CrashingModels if `when` is true of the decision's arguments."""

    def what(right: Right[Any], /, *args: P.args, **kwargs: P.kwargs) -> Any:
        return die(status) if when(*args, **kwargs) else right()

    return what
