"""A request's HTTP written as the variations of a case say (kind http of cases/variations.yaml).

Some operations change the content of the head, such as its target or a field that no server has to
know. The others decide how head and chunks become bytes, and in which writes these are sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import cycle, pairwise
from typing import Any

from msgspec.structs import replace

from v2_conformance.errors import CaseFileError
from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.suite.variations import Variation
from v2_conformance.wire.transport import Head, Request

Field = tuple[str, str]
_CONTENT_TYPE = "Content-Type"
# Seconds to wait for 100 (RFC 9110, section 10.1.1, gives no number), between the two writes of a
# head, before the last chunk, and between the parts of chunks.
_CONTINUE_S = 1.0
_HEAD_PAUSE_S = 0.02
_END_PAUSE_S = 0.1
_LINE_PAUSE_S = 0.005


class HttpSpelling:
    """Spelling of a request's HTTP in the variations of a case; without any, the usual one.

    A target can be written with the `origin`, with the `model` as the target's path has its name,
    and with the only `version` that the server lists of it, None if it does not.
    """

    def __init__(
        self, given: Sequence[Variation], origin: str, model: str, version: str | None
    ) -> None:
        self._of = {item.operation: item.parameters for item in given}
        of_fields = [item.parameters for item in given if item.operation == "fields"]
        self._added = [(name, value) for how in of_fields for name, value in how.get("add", ())]
        self._padding = [field for how in of_fields for field in _padding(how)]
        self._without = {name.lower() for how in of_fields for name in how.get("without", ())}
        self._origin, self._model, self._version = origin, model, version
        self.minor_version = int(self._of.get("http_version", {}).get("minor", 1))  # of HTTP/1
        self.pipelined = "pipelined" in self._of  # other requests follow in the same write

    def head(self, head: Head) -> Head:
        """Return the head with another target, and with changed and added fields."""
        fields = [
            self._field(name, value)
            for name, value in head.fields
            if name.lower() not in self._without
        ]
        fields = [*_spread(self._padding, fields), *self._added]
        if "expect" in self._of:
            fields.append(("Expect", self._of["expect"].get("value", "100-continue")))
        chunks = self._of.get("chunks", {})
        if "trailers" in chunks:
            fields.append(("Trailer", ", ".join(name for name, _ in chunks["trailers"])))
        if "field_order" in self._of:
            fields.reverse()
        return Head(head.method, self._target(head.target), tuple(fields))

    def _field(self, name: str, value: str) -> Field:
        if name == _CONTENT_TYPE and "media_type" in self._of:
            how = self._of["media_type"]
            value = (value.upper() if how.get("upper") else value) + how.get("parameters", "")
        if name == "Content-Length":
            value = self._of.get("content_length", {}).get("zeros", "") + value
        if name == "Transfer-Encoding":
            value = self._of.get("chunks", {}).get("coding", value)
        return name, value

    def _target(self, target: str) -> str:
        model = self._model
        before, models, after = target.rpartition(f"/v2/models/{model}/")
        if "percent" in self._of and "%" not in model:  # else it is already written this way
            model = "".join(f"%{byte:02{self._of['percent']['digits']}}" for byte in model.encode())
        if "version_path" in self._of and models and not after.startswith("versions/"):
            if self._version is None:
                raise CaseFileError("the version of the model is not known")
            model += f"/versions/{self._version}"
        if models:
            target = f"{before}/v2/models/{model}/{after}"
        return self._origin + target if "absolute_form" in self._of else target

    def write_head(self, head: Head) -> bytes:
        """Return the bytes of a head that `head` has changed."""
        names = NAMES[self._of.get("field_names", {}).get("as", "given")]
        lines = [f"{head.method} {head.target} HTTP/1.{self.minor_version}"]
        lines += [f"{names(name)}:{self._spaced(name, value)}" for name, value in head.fields]
        start = "\r\n" if "empty_line" in self._of else ""
        return (start + "\r\n".join([*lines, "", ""])).encode()

    def _spaced(self, name: str, value: str) -> str:
        space = self._of.get("field_space", {})
        if not space or name not in space.get("of", (name,)):
            return f" {value}"
        return f"{space['before']}{value}{space['after']}"

    def write_chunks(self, body: Sequence[Buffer]) -> tuple[bytes, ...]:
        """Return each piece of a body as a chunk, and the last chunk with its trailer fields."""
        how = self._of.get("chunks", {})
        zeros = how.get("zeros", "")
        size = zeros + ("{:X}" if how.get("upper") else "{:x}")
        extension, trailers = how.get("extension", ""), how.get("trailers", ())
        return chunked(body, size, extension, trailers, last=f"{zeros}0")

    def deliver(self, request: Request, head: int, following: Request | None) -> Request:
        """Return the request, whose head has the length `head`, in the writes that the variations
        ask for; with the one that is `following`, if it is pipelined.
        """
        if following is not None:
            return pipelined(request, following)
        wire = b"".join(request.http1)
        written = self._of.get("chunks", {}).get("written")
        if written == "at_once":
            return replace(request, http1=(wire,))
        if written == "end_late":
            end = request.http1[-1]
            return replace(request, http1=(wire[: -len(end)], end), pause_s=_END_PAUSE_S)
        if written == "lines_cut":
            pieces = [piece for chunk in request.http1[1:] for piece in _lines_cut(bytes(chunk))]
            return replace(request, http1=(wire[:head], *pieces), pause_s=_LINE_PAUSE_S)
        if "expect" in self._of or "pause" in self._of:
            seconds = _CONTINUE_S if "expect" in self._of else self._of["pause"]["seconds"]
            return replace(request, http1=(wire[:head], wire[head:]), pause_s=seconds)
        if "split_head" in self._of:
            before_end = self._of["split_head"].get("before_end")
            at = head // 2 if before_end is None else head - before_end
            return replace(request, http1=(wire[:at], wire[at:]), pause_s=_HEAD_PAUSE_S)
        return request


def chunked(
    body: Sequence[Buffer],
    size: str,
    extension: str,
    trailers: Iterable[tuple[str, str]],
    last: str = "0",
) -> tuple[bytes, ...]:
    """Return each piece of a body as a chunk, and the last chunk with these trailer fields.

    `size` is the format of a chunk's size, `last` the size of the last one, and an `extension`
    follows each.
    """
    lines = {
        length: f"{size.format(length)}{extension}\r\n".encode() for length in {*map(len, body)}
    }
    chunks = [b"".join((lines[len(piece)], piece, b"\r\n")) for piece in body]
    end = "".join(f"{name}: {value}\r\n" for name, value in trailers)
    return (*chunks, f"{last}{extension}\r\n{end}\r\n".encode())


def pipelined(request: Request, following: Request) -> Request:
    """Return a request in one write with the one that follows, and with those after that."""
    whole = b"".join((*request.http1, *following.http1))
    return replace(request, http1=(whole,), pause_s=0.0, answers=1 + following.answers)


def _padding(how: Mapping[str, Any]) -> list[Field]:
    fields = [(f"X-Field-{number}", "value") for number in range(how.get("count", 0))]
    return [*fields, ("X-Long", "x" * how["length"])] if "length" in how else fields


def _spread(padding: Sequence[Field], fields: Sequence[Field]) -> Iterator[Field]:
    """Yield `fields` spread over the padding, so that a server that drops some drops these, too."""
    each = -(-len(padding) // len(fields))
    for number, field in enumerate(fields):
        yield from padding[number * each : (number + 1) * each]
        yield field


def _lines_cut(chunk: bytes) -> list[bytes]:
    """Return a chunk cut after the first digit of its size, and in both of its line ends."""
    places = [0, 1, chunk.index(b"\n"), len(chunk) - 2, len(chunk) - 1, len(chunk)]
    return [chunk[a:b] for a, b in pairwise(places) if b > a]


def _mixed(name: str) -> str:
    sides = cycle((str.lower, str.upper))
    return "".join(side(character) for side, character in zip(sides, name, strict=False))


NAMES: Mapping[str, Callable[[str], str]] = {
    "given": lambda name: name,
    "lower": str.lower,
    "upper": str.upper,
    "mixed": _mixed,
}
"""Ways to write the letters of a field's name."""
