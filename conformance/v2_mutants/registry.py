"""The registry of mutants: what deviates from the reference server and from the plain client.

A mutant is its name, why it exists (the requirement that a fault breaks, or the sentence that
allows a variant), the one decision that it replaces, and by what. A decision is a method of the
right behavior. What replaces it is a function that takes `right`, the decision as it was, and
then the method's own arguments. Its docstring is the sentence that `list` prints:

    @fault("empty-bytes-elements-refused", "B3", Behavior.bytes_blob)
    def _(right: Right[Buffer], entry: RequestInput, blob: Buffer) -> Buffer:
        \"\"\"A binary BYTES input with an empty element is rejected.\"\"\"
        return refuse() if b"" in decode_bytes(blob) else right()

What is a single expression needs no function of its own, and mutants that differ only in a
condition are rows of a table:

    fault("unflagged-output-binary", "O2", Behavior.binary_flag)(
        "A listed output without `binary_data` is binary.",
        lambda right, parameters, default: right() or BINARY_DATA not in parameters,
    )

    for name, sentence, when in TABLE:
        fault(name, "V2", Behavior.infer)(sentence, refuses(when))

`refuses(when)`, `then(change)` and `only(datatypes, change)` make replacements for a decision.
What a mutant has to remember is in `right.state`. Only a mutant that replaces several decisions is
a class of the right behavior, `@fault.several(name, why)`, or has one as its `base`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Concatenate, Generic, NoReturn, ParamSpec, TypeVar, cast, overload

from v2_clients.plain.plain_client import PlainClient
from v2_conformance.errors import UsageError
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Rejected
from v2_conformance.terminal_safe_text import did_you_mean

P = ParamSpec("P")
R = TypeVar("R")
B = TypeVar("B")
T = TypeVar("T")


@dataclass(frozen=True)
class Mutant(Generic[B]):
    """One deviation: `cls` is the right behavior with a decision replaced.

    `why` is the requirement that it breaks, or the sentence that allows it.
    """

    name: str
    why: str
    text: str
    cls: type[B]

    @property
    def requirement(self) -> str:
        """The requirement that a fault breaks."""
        return self.why


@dataclass(frozen=True)
class Right(Generic[R]):
    """A decision as the right behavior makes it, for the call in hand.

    `right()` decides for the arguments as they came. `right(first, third=other)` decides for other
    arguments in place of those that are given, by position or by name. `state` is the mutant's own,
    for as long as the server or client lives.
    """

    decide: Callable[..., R]
    arguments: Mapping[str, Any]
    behavior: Any
    state: dict[object, Any]

    def keep(self, value: T) -> T | None:
        """Keep a value for the next call, and return the one kept before, None if there is none."""
        kept: T | None = self.state.get("kept")
        self.state["kept"] = value
        return kept

    def __call__(self, *others: Any, **named: Any) -> R:
        placed = dict(zip(self.arguments, others, strict=False))
        return self.decide(**{**self.arguments, **placed, **named})

    @property
    def server(self) -> Behavior:
        """The server whose decision it is."""
        return cast(Behavior, self.behavior)

    @property
    def client(self) -> PlainClient:
        """The client whose decision it is."""
        return cast(PlainClient, self.behavior)


Change = Callable[Concatenate[Right[R], P], R]
"""A function that replaces a decision with the arguments P and the result R."""
What = Callable[..., R]
"""The same, as functions return it that make one for several mutants."""


@dataclass(frozen=True)
class Deviation(Generic[R, P]):
    """Registers a mutant by what it does: `(sentence, what)`, or as the decorator of `what`."""

    add: Callable[[str, Change[R, P]], None]

    @overload
    def __call__(self, what: Change[R, P], /) -> Change[R, P]: ...
    @overload
    def __call__(self, text: str, what: Change[R, P], /) -> Change[R, P]: ...
    def __call__(self, *arguments: Any) -> Any:
        *text, what = arguments
        self.add(text[0] if text else _sentence(what), what)
        return what


class Registry(dict[str, Mutant[B]]):
    """All mutants of one kind by name. Calling it registers one."""

    def __init__(self, kind: str, right: type[B]) -> None:
        super().__init__()
        self.kind = kind
        self.right = right

    def __call__(
        self,
        name: str,
        why: str,
        decision: Callable[Concatenate[T, P], R],
        *,
        base: type[T] | None = None,
    ) -> Deviation[R, P]:
        """Begin a mutant that replaces `decision`: what follows says by what.

        With a `base`, a subclass of the right behavior, the mutant also does what that does, and
        the decision may be one that only the base has.
        """

        def add(text: str, what: Change[R, P]) -> None:
            right = base or cast("type[T]", self.right)
            cls = cast("type[B]", replacing(right, decision, what))
            self._add(Mutant(name, why, text, cls))

        return Deviation(add)

    def several(self, name: str, why: str, text: str | None = None) -> Callable[[type[T]], type[T]]:
        """Register a class of the right behavior as a mutant that replaces several decisions.

        Without `text`, the docstring of the class is what `list` prints.
        """

        def register(cls: type[T]) -> type[T]:
            behavior = cast("type[B]", cls)
            self._add(Mutant(name, why, text or _sentence(cls), behavior))
            return cls

        return register

    def find(self, name: str) -> Mutant[B]:
        """Return the mutant called `name`. Raises UsageError if there is none."""
        return find(self.kind, name, self)

    def _add(self, mutant: Mutant[B]) -> None:
        if mutant.name in self:
            raise UsageError(
                f"the {self.kind} {mutant.name} is registered twice: give one of them another name"
            )
        self[mutant.name] = mutant


def _sentence(documented: object) -> str:
    """The docstring on one line."""
    return " ".join((inspect.getdoc(documented) or "").split())


def find(kind: str, name: str, known: Mapping[str, Mutant[B]]) -> Mutant[B]:
    """Return the mutant called `name` of those of this kind. Raises UsageError if there is none."""
    if name in known:
        return known[name]
    listing = f"`v2-conformance list {kind.replace(' ', '-')}s` lists every {kind.split()[-1]}"
    raise UsageError(f"unknown {kind} {name!r}: {did_you_mean(name, known, listing)}")


def replacing(
    right: type[B], decision: Callable[Concatenate[B, P], R], what: Change[R, P]
) -> type[B]:
    """Return the behavior `right` with `what` in place of the method `decision`."""
    method = decision.__name__
    _, *names = inspect.signature(decision).parameters

    def decided(self: B, *args: P.args, **kwargs: P.kwargs) -> R:
        arguments = {**dict(zip(names, args, strict=False)), **kwargs}
        state = vars(self).setdefault(f"state of {id(cls)}", {})
        right = Right(getattr(super(cls, self), method), arguments, self, state)
        return what(right, *args, **kwargs)

    members = {method: decided, "__module__": what.__module__}
    cls = cast("type[B]", type("Mutated" + right.__name__, (right,), members))
    return cls


def refuse(text: str = "this server rejects such a request", status: int = 400) -> NoReturn:
    """Refuse the request in hand. Raises Rejected."""
    raise Rejected(text, status)


def refuses(when: Callable[P, object], status: int = 400) -> Change[Any, P]:
    """Return what refuses a request if `when` is true of the decision's arguments."""

    def what(right: Right[Any], /, *args: P.args, **kwargs: P.kwargs) -> Any:
        return refuse(status=status) if when(*args, **kwargs) else right()

    return what


def then(change: Callable[Concatenate[R, P], R]) -> Change[R, P]:
    """Return what decides as the right behavior does, and then makes `change` of that."""

    def what(right: Right[R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return change(right(), *args, **kwargs)

    return what


def only(datatypes: Sequence[str], change: Change[R, P]) -> Change[R, P]:
    """Return what makes `change` for a tensor or an input of one of these datatypes."""

    def what(right: Right[R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        results = {getattr(getattr(one, "spec", one), "datatype", None) for one in args}
        return change(right, *args, **kwargs) if results.intersection(datatypes) else right()

    return what


fault = Registry("fault", Behavior)
"""A fault of a server, which breaks one requirement."""
variant = Registry("variant", Behavior)
"""How a right server may differ from the reference server."""
client_fault = Registry("client fault", PlainClient)
"""A fault of a client, which breaks one requirement of the family K."""
client_variant = Registry("client variant", PlainClient)
"""How a right client may differ from the plain client; `why` begins with what it comes near."""
