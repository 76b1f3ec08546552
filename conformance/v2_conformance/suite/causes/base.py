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
from v2_conformance.suite.models import name_of

Count = Annotated[int, msgspec.Meta(ge=0)]

_CAMEL = re.compile(r"(?<!^)(?=[A-Z])")
_CLAUSE = re.compile(r"\[(.*?)\]")
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
    """The base of all causes. A subclass without subclasses is a kind of cause: a row.

    Its name is the `kind` in report.json, in snake case. Its docstring is the sentence, or clause,
    without a period, with members and properties in braces: `{status}`. What follows a colon says
    how a value is shown: a noun that is counted (`{received:byte}`), the texts for 1 and for other
    numbers (`{judged:the only one|all #}`, a text for 0 may come first), a name in `_SHOWN`, or
    what `format` takes. A cause is described. A part in brackets is left out if a value in it is
    None or False; True shows nothing.
    """

    HEADER_LENGTH: ClassVar[str] = HEADER_LENGTH
    EXTENSION: ClassVar[str] = EXTENSION

    stable: ClassVar[tuple[str, ...]] = ()
    """The members that tell two failures with the same kind of cause apart.

    The others differ from run to run, or from case to case, though the defect is the same: what a
    server says in its own words, times, numbers of bytes, the values of elements, which of several
    answers was the first to be wrong.
    """

    about: ClassVar[str | None] = None
    """The member that tells what was found, None if that is this cause itself."""

    counts_as: ClassVar[str | None] = None
    """The common name of several kinds that one defect causes. See `causes.finding_of`."""

    telling: ClassVar[bool] = False
    """True if failures with the same words are one defect, whatever the cases: it names what
    is missing from a client's request, or is in the client's own words."""

    unsent: ClassVar[bool] = False
    """True if it is why a case was not sent, or got no answer that could be judged."""

    misleads: ClassVar[bool] = False
    """True if a client that relies on the answer continues with it and gets no error."""

    of_path: ClassVar[bool] = False
    """True if only a whole answer is missing, which the path to the server may have lost."""

    lenient: ClassVar[bool] = False
    """True if what should not be accepted was read exactly. Then a case is at most a SHOULD."""

    @property
    def kind(self) -> str:
        """The name of this type of cause in report.json and in expectation files."""
        return str(self.__struct_config__.tag)

    @property
    def root(self) -> CauseBase:
        """What was found, without the causes that are about it."""
        result: CauseBase = self if self.about is None else getattr(self, self.about).root
        return result

    @property
    def shows(self) -> str | None:
        """The requirement that this alone shows to be broken, whichever case finds it; None if
        several might be. With an arbitrary model, it names the cause of the failures."""
        return None

    @property
    def lacks_basics(self) -> bool:
        """True if a client cannot even send and receive tensors in binary form without options."""
        return False

    def words(self) -> str:
        """Return the sentence, of any length and not always printable; see `describe`."""
        sentence = " ".join(str(self.__doc__).split())
        sentence = _CLAUSE.sub(lambda clause: self._shown(clause[1]), sentence)
        return _FORMATTER.vformat(sentence, (self,), {})

    def _shown(self, clause: str) -> str:
        names = [name for _, name, _, _ in _FORMATTER.parse(clause) if name]
        values = [_FORMATTER.get_field(name, (self,), {})[0] for name in names]
        return "" if any(value is None or value is False for value in values) else clause


if CauseBase.__doc__ is None:
    raise ImportError("v2-conformance needs docstrings, which are its sentences: run without -OO")


def describe(cause: CauseBase | None) -> str:
    """Return a cause as one sentence or clause without a period; "" for None.

    Whatever the cause says, it is printable ASCII of bounded length, with "…" for what is left out.
    """
    return "" if cause is None else printable_words(cause.words(), _LONGEST_WORDS)


def printable_words(words: str, limit: int) -> str:
    """Return words of this suite as printable ASCII and "…", cut at `limit` characters."""
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


_SHOWN: Mapping[str, Callable[[Any], str]] = {
    "and": " and ".join,
    "body": body_words,
    "commas": ", ".join,
    "id": lambda value: "no id" if value == "None" else value,
    "list": listed,
    "model": name_of,
    "none": lambda value: "none" if value is None else value,
    "or no coding": lambda codings: " or ".join(codings) or "no coding",
    "or none": lambda text: text or "none",
    "or the server": lambda role: role or "the server",
    "quoted": lambda value: "none" if value is None else repr(value),
    "quoted commas": lambda items: ascii(", ".join(items)),
    "shape": lambda value: str(list(value)),
    "size": lambda value: str(len(value)),
    "tail": lambda text: f": {text}" if text else "",
    "the id": lambda value: "no id" if value == "None" else f"the id {value}",
}


class _Formatter(string.Formatter):
    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return getattr(args[0], str(key))

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, CauseBase):
            return describe(value)
        if value is True:
            return ""
        if format_spec in _SHOWN:
            return _SHOWN[format_spec](value)
        if "|" in format_spec:
            *none, one, many = format_spec.split("|")
            text = none[0] if none and value == 0 else one if value == 1 else many
            return text.replace("#", str(value))
        if len(format_spec) > 1 and format_spec.isalpha():
            return counted(value, format_spec)
        return format(value, format_spec)


_FORMATTER = _Formatter()
