"""The base of all causes, and the pieces of the sentences that describe them.

Text in a cause that came from a server or a client is printable ASCII of bounded length:
`printable` and `excerpt` make it so where the cause is made.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar

import msgspec

from v2_conformance.protocol.names import EXTENSION, HEADER_LENGTH
from v2_conformance.suite.outcomes import Harm

Count = Annotated[int, msgspec.Meta(ge=0)]

_CAMEL = re.compile(r"(?<!^)(?=[A-Z])")
_LONGEST = 1000
_LONGEST_WORDS = 2000


def _kind(name: str) -> str:
    return _CAMEL.sub("_", name).lower()


class FirstDifference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first element in which an output differs from what was expected.

    `element` counts from 0 in row-major order. `offset` is that of the first differing byte in the
    output's blob, `body_offset` in the response's body; None for an output that came as JSON, whose
    value has no byte there. `expected` and `got` are the element's bytes in wire order, as hex: all
    of a number's, of a BYTES element at most 16 from its first differing byte on. The values are
    those of the whole element as people write them, printable ASCII of bounded length.
    """

    output: str
    datatype: str
    element: Count
    offset: Count
    body_offset: Count | None
    expected: str
    got: str
    expected_value: str
    got_value: str


class CauseBase(
    msgspec.Struct, frozen=True, tag_field="kind", tag=_kind, forbid_unknown_fields=True
):
    """The base of all causes: `kind` names the type in report.json.

    A kind of cause is one class: its members, its words, and what else is known of it. A subclass
    in a module that `suite.causes` imports is a part of `Cause`, unless it has subclasses itself.
    """

    says: ClassVar[str]
    """The cause as one sentence or clause without a full stop, with members in braces.

    Behind a colon stands how a member is shown: as one of `_SHOWN`, as a number with its noun
    (`{received:byte}`), or as `format` has it. A member that is a cause is described.
    """

    stable: ClassVar[tuple[str, ...]] = ()
    """The members that make another failure of a cause of the same kind.

    The others differ from run to run, or from case to case, though the defect is the same: what a
    server says in its own words, times, numbers of bytes, the values of elements, which of several
    answers was the first to be wrong.
    """

    telling: ClassVar[bool] = False
    """True if failures that read alike are one defect whatever their cases are about: it names what
    is missing from a client's request, or is in the client's own words."""

    unsent: ClassVar[bool] = False
    """True if it is why a case was not sent, or got no answer that could be judged."""

    misleads: ClassVar[bool] = False
    """True if a client that relies on the answer continues with it and gets no error."""

    @property
    def kind(self) -> str:
        """The name of this type of cause in report.json and in expectation files."""
        return str(self.__struct_config__.tag)

    def words(self) -> str:
        """Return the sentence; what `says` cannot say overrides this. See `describe`."""
        members = {name: getattr(self, name) for name in self.__struct_fields__}
        return _FORMATTER.vformat(self.says, (), {**_NAMES, **members})

    @property
    def finding_kind(self) -> str:
        """The kind of what was found: failures that one defect makes share it."""
        return self.kind

    @property
    def shows(self) -> str | None:
        """The requirement that this alone shows to be broken, whichever case finds it; None if
        several might be. It is what the cause of an arbitrary model's failures is told by."""
        return None

    @property
    def lacks_basics(self) -> bool:
        """True if a client has no way to do what asks for no option."""
        return False

    @property
    def first_difference(self) -> FirstDifference | None:
        """The first differing element that this is about, wherever it is nested."""
        return None

    def harm(self, said: Harm | None) -> Harm | None:
        """Return what a user loses by this, if the requirement says that it is `said`.

        Only what misleads costs wrong numbers: a rejection gives none, nor does an answer that is
        missing or unreadable. And what misled somebody did not die.
        """
        if self.first_difference is not None or (self.misleads and said == "dies"):
            return "wrong-numbers"
        return "breaks-clients" if said == "wrong-numbers" and not self.misleads else said

    @property
    def lenient(self) -> bool:
        """True if something was accepted that should not be, and read exactly. Then a case is no
        more than a SHOULD.
        """
        return False

    @property
    def rare(self) -> bool:
        """True if only requests that no client of the documents sends show it. Then a case blocks
        no more than *robust*.
        """
        return False

    @property
    def wrong_output(self) -> str | None:
        """The output that is not what it should be, if this is about nothing else."""
        return None


def describe(cause: CauseBase | None) -> str:
    """Return a cause as one sentence or clause without a full stop; "" for None.

    Whatever the cause says, it is printable ASCII of bounded length, with "…" for what is left out.
    """
    if cause is None:
        return ""
    return printable_words(cause.words(), _LONGEST_WORDS)


def printable_words(words: str, limit: int) -> str:
    """Return words of this suite as printable ASCII of at most `limit` characters, then "…". A "…"
    that is in them stays.
    """
    if not (words.isascii() and words.isprintable()):
        words = "".join(_printable(c) for c in words[: limit + 1])
    return words if len(words) <= limit else words[:limit] + "…"


def _printable(character: str) -> str:
    shown = character == "…" or (character.isascii() and character.isprintable())
    return character if shown else ascii(character)[1:-1]


def printable(text: object, limit: int = _LONGEST) -> str:
    """Return text of a server as printable ASCII of at most `limit` characters, then "…"."""
    plain = ascii(text)[1:-1].replace("\\'", "'") if isinstance(text, str) else ascii(text)
    return plain if len(plain) <= limit else plain[:limit] + "…"


def excerpt(body: bytes | bytearray | memoryview, limit: int = 200) -> str:
    """Return the start of a body as one line of printable ASCII; "" for an empty one."""
    text = ascii(bytes(body[:limit]).decode("latin-1"))
    return text[1:-1].replace("\\'", "'") + ("…" if len(body) > limit else "")


def body_words(text: str) -> str:
    """Return what is shown of a body, which may be empty."""
    return text or "(empty body)"


def listed(items: Sequence[object]) -> str:
    """Return names as a list in quotation marks, or "none"."""
    return ", ".join(f"'{item}'" for item in items) or "none"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun in the singular or the plural."""
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"


_NAMES = {"HEADER_LENGTH": HEADER_LENGTH, "EXTENSION": EXTENSION}
_SHOWN: Mapping[str, Callable[[Any], str]] = {
    "body": body_words,
    "commas": ", ".join,
    "list": listed,
    "none": lambda value: "none" if value is None else value,
    "quoted": lambda value: "none" if value is None else repr(value),
    "shape": lambda value: str(list(value)),
}


class _Formatter(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, CauseBase):
            return describe(value)
        if format_spec in _SHOWN:
            return _SHOWN[format_spec](value)
        if len(format_spec) > 1 and format_spec.isalpha():
            return counted(value, format_spec)
        return format(value, format_spec)


_FORMATTER = _Formatter()
