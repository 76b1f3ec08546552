"""Faults of reading HTTP that is written (V2), or is delivered (V3), in another way than usual."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise, takewhile

from v2_conformance.protocol.datatypes import element_count
from v2_conformance.protocol.message import Tensor
from v2_conformance.protocol.names import HEADER_LENGTH, JSON_TYPE
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Blobs, Headers, Rejected, Request, Response
from v2_conformance.reference.request_reader import InferenceRequest, JsonObject
from v2_conformance.suite.models import ModelContract
from v2_mutants.faults.shared import (
    CrashingServer,
    Sees,
    all_in_json,
    ends_server,
    is_coded,
    is_raw,
    loses_behind,
    refuses_if,
)
from v2_mutants.registry import Right, What, fault, then

# The chunk that ends a body without trailer fields.
_LAST_CHUNK = re.compile(rb"\r\n0+(;[^\r\n]*)?\r\n\r\n$")
# The trailer fields of a body in chunks, each with the end of its line.
_TRAILERS = re.compile(rb"\r\n0+(?:;[^\r\n]*)?\r\n((?:[^\r\n]+\r\n)+)\r\n\Z")
_PATIENCE_S = 0.15


def _head(pattern: bytes) -> Callable[[Request], bool]:
    """Match requests whose head matches somewhere."""
    compiled = re.compile(pattern)
    return lambda request: compiled.search(request.head) is not None


def _field(name: str, pattern: str) -> Callable[[Request], bool]:
    """Match requests in which a value of the field matches somewhere."""
    compiled = re.compile(pattern)
    return lambda request: any(compiled.search(value) for value in request.values(name))


def _both(one: Sees, other: Sees) -> Sees:
    return lambda request: one(request) and other(request)


def _first_chunk_line(request: Request) -> bytes:
    return request.framing.partition(b"\r\n")[0]


def _has_trailers(request: Request) -> bool:
    return request.framing != b"" and not _LAST_CHUNK.search(request.framing)


def _in_gzip(server: Behavior, response: Response) -> Response:
    headers = (*response.headers, *server.coding_headers("gzip"))
    return replace(response, headers=headers, body=server.compress("gzip", response.body))


@fault("refused-codings-used", "V2", Behavior.encode_response)
def _(right: Right[Response], request: Request, response: Response) -> Response:
    """A response is in gzip if Accept-Encoding is there and allows neither gzip nor deflate."""
    allowed = ",".join(request.values("accept-encoding")).replace(" ", "").split(",")
    if allowed == [""] or {"gzip", "deflate"}.intersection(allowed):
        return right()
    return _in_gzip(right.server, response)


for _name, _text, _when, _status in (
    ("upper-case-fields-refused", "A request with Content-Type in upper case is rejected.",
     _head(rb"\nCONTENT-TYPE:"), 400),
    ("mixed-case-fields-refused",
     "A request with Content-Type in letters of both cases by turns is rejected.",
     _head(rb"\ncOnTeNt-tYpE:"), 400),
    ("host-last-refused", "A request whose last field is Host is rejected.",
     _head(rb"\nHost:[^\n]*\r\n\r\n$"), 400),
    ("several-spaces-before-value-refused",
     "A request with two spaces before the value of a field is rejected.",
     _head(rb"\n[A-Za-z-]+:  "), 400),
    ("tab-before-value-refused",
     "A request with a tab before the value of a field is rejected, unless Host has one, too.",
     _head(rb"(?s)\A(?!.*\nHost:[ ]*\t).*\n[A-Za-z-]+:[ ]*\t"), 400),
    ("tab-before-host-refused", "A request with a tab before the value of Host is rejected.",
     _head(rb"\nHost:[ ]*\t"), 400),
    ("value-after-colon-refused",
     "A request with no space between the colon and the value of Host is rejected.",
     _head(rb"\nHost:[^ \t]"), 400),
    ("upper-case-media-type-refused", "A media type in upper case is answered with 415.",
     _field("Content-Type", "APPLICATION/"), 415),
    ("quoted-parameter-refused", "A media type with a parameter in quotes is answered with 415.",
     _field("Content-Type", '"'), 415),
    ("accept-required", "A request without Accept is answered with 406.",
     lambda request: not request.values("Accept"), 406),
    ("weights-refused", "An Accept field with several weights is answered with 406.",
     _field("Accept", ";q=.*;q="), 406),
    ("empty-field-refused", "A request with a field without a value is rejected.",
     _head(rb"\n[A-Za-z-]+:[ ]*\r\n"), 400),
    ("connection-options-refused", "A list of connection options is rejected.",
     _field("Connection", ","), 400),
    ("zeros-in-content-length-refused", "A Content-Length that begins with a zero is rejected.",
     _field("Content-Length", "^0[0-9]"), 400),
    ("keep-alive-refused", "A request with Connection: keep-alive is rejected.",
     _field("Connection", "keep-alive"), 400),
    ("empty-line-refused", "An empty line before a request makes it be rejected.",
     lambda request: request.head.startswith(b"\r\n"), 400),
    ("absolute-form-not-found", "A target in absolute form is answered with 404.",
     _head(rb"^POST http"), 404),
    ("percent-encoding-not-found",
     "A percent-encoded character in a model's name is answered with 404.",
     _head(rb"^POST [^ ]*%"), 404),
    ("http-1.0-refused", "HTTP/1.0 is answered with 400.",
     lambda request: request.version == "1.0", 400),
    ("capital-in-expectation-refused",
     "An Expect field with a capital is answered with 400 where the body is not in chunks.",
     lambda request: request.framing == b"" and request.values("Expect") == ["100-Continue"], 400),
    ("expectation-of-old-client-refused", "An Expect field of HTTP/1.0 is answered with 400.",
     lambda request: request.version == "1.0" and request.values("Expect") != [], 400),
    ("chunk-extension-refused", "A chunk with an extension is rejected.",
     lambda request: b";" in _first_chunk_line(request), 400),
    ("upper-case-chunk-size-refused", "A chunk with an upper-case digit in its size is rejected.",
     lambda request: re.match(rb"[0-9]*[A-F]", _first_chunk_line(request)) is not None, 400),
    ("zeros-in-chunk-size-refused", "A chunk whose size of a few digits begins with 0 is rejected.",
     lambda request: re.match(rb"0[0-9a-fA-F]{,15}(?![0-9a-fA-F])", _first_chunk_line(request))
     is not None, 400),
    ("many-zeros-in-chunk-size-refused", "A chunk whose size has more than 16 digits is rejected.",
     lambda request: re.match(rb"[0-9a-fA-F]{17}", _first_chunk_line(request)) is not None, 400),
    ("trailers-refused", "A body with trailer fields is rejected.", _has_trailers, 400),
    ("expectation-of-chunks-refused",
     "An Expect field is answered with 400 where the body is in chunks.",
     lambda request: request.framing != b"" and request.values("Expect") != [], 400),
    ("upper-case-coding-refused", "A transfer coding in upper case is answered with 501.",
     _head(rb": CHUNKED"), 501),
    ("head-read-once", "A head of which a part comes later is rejected.",
     lambda request: request.head_reads[0] < len(request.head) - 4, 400),
    ("end-of-head-in-one-read",
     "A head of which the empty line at its end comes later is rejected.",
     lambda request: len(request.head) - 4 < request.head_reads[0] < len(request.head), 400),
    ("slow-body-refused",
     f"A body that begins more than {_PATIENCE_S} seconds after its head is rejected.",
     lambda request: request.waited_s > _PATIENCE_S, 408),
):  # fmt: skip
    fault(_name, "V2", Behavior.infer)(_text, refuses_if(_when, _status))

fault("trailers-end-server", "V2", Behavior.infer, base=CrashingServer)(
    "A body with trailer fields crashes the server.",
    ends_server(lambda model, request: _has_trailers(request)),
)

for _who, _client, _is in (
    ("old-client", "a client of HTTP/1.0", lambda request: request.version == "1.0"),
    ("waiting-client", "a client that waits for 100 Continue",
     lambda request: request.framing == b"" and request.values("Expect") != []),
):  # fmt: skip
    for _kind, _text, _has in (
        ("coded-body", "A body in a content coding",
         is_coded),
        ("accepted-coding", "Accept-Encoding",
         lambda request: request.values("Accept-Encoding") != []),
        ("both-forms", "JSON data before blobs",
         lambda request: b'"data"' in bytes(request.body)
         and request.values(HEADER_LENGTH) not in ([], ["0"])),
        ("raw-body", "A raw body", is_raw),
    ):  # fmt: skip
        fault(f"{_kind}-of-{_who}-refused", "V2", Behavior.infer)(
            f"{_text} from {_client} is rejected.",
            refuses_if(_both(_is, _has)),
        )


def _loses_fields(kept: Callable[[Headers], Iterable[tuple[str, str]]]) -> What[Response]:
    return lambda right, model, request: right(
        request=replace(request, headers=tuple(kept(request.headers)))
    )


def _from_parameter(headers: Headers) -> Headers:
    found = [number for number, field in enumerate(headers) if "charset=utf-8" in field[1]]
    return headers[found[0] :] if found else headers


for _name, _text, _kept in (
    ("fields-behind-sixteen-lost", "A request has its first 16 fields.",
     lambda fields: fields[:16]),
    ("fields-behind-a-long-one-lost", "A request ends with a field of 2,000 characters.",
     lambda fields: takewhile(lambda field: len(field[1]) < 2000, fields)),
    ("fields-before-a-parameter-lost", "A request begins with a Content-Type that has a parameter.",
     _from_parameter),
):  # fmt: skip
    fault(_name, "V2", Behavior.infer)(_text, _loses_fields(_kept))

fault("chunks-not-awaited", "V2", Behavior.before_expected_body)(
    "A client is not asked for a body in chunks.",
    lambda right, request: b"" if request.values("Transfer-Encoding") else right(),
)
fault("body-lost-with-an-offer-to-upgrade", "V2", Behavior.handle)(
    "The body of a request with an Upgrade field is lost.",
    lambda right, request: (
        right(replace(request, body=request.body[:0])) if request.values("Upgrade") else right()
    ),
)
fault("line-end-in-a-read-of-its-own-refused", "V2", Behavior.received)(
    "A read that has nothing but the end of a line, or half of it, is not understood.",
    lambda right, data: b"?" if data in (b"\r", b"\n", b"\r\n") else right(),
)
fault("first-accept-field-alone", "V2", Behavior.read_request)(
    "Outputs are in JSON if that is what the first Accept field begins with.",
    then(
        lambda inference, model, request, length: (
            all_in_json(inference)
            if any(one.startswith(JSON_TYPE) for one in request.values("Accept")[:1])
            else inference
        )
    ),
)
fault("pipelined-request-lost", "V2", Behavior.read_ahead)(
    "What comes behind a request before its answer is thrown away.", lambda right, data: b""
)
fault("pipeline-behind-an-error-lost", "V2", Behavior.received)(
    "What comes in the same read behind a request for an unknown input is thrown away.",
    loses_behind(rb"NO_SUCH_INPUT.*?"),
)


def _merges_trailers(when: Callable[[Request], bool]) -> What[Response]:
    """A server in which fields behind a body win over those of the head, if `when` is true."""

    def what(right: Right[Response], model: ModelContract, request: Request) -> Response:
        trailers = _TRAILERS.search(request.framing)
        if trailers is None or not when(request):
            return right()
        pairs = [line.partition(":") for line in trailers[1].decode("latin-1").split("\r\n")[:-1]]
        fields = {name.lower(): value.strip() for name, _, value in pairs}
        headers = tuple({**dict(request.headers), **fields}.items())
        return right(request=replace(request, headers=headers))

    return what


def _came_at_once(request: Request) -> bool:
    return sum(request.head_reads) >= len(request.head) + len(request.framing)


fault("trailers-merged-into-head", "V2", Behavior.infer)(
    "Fields behind a body that came with the head count as fields of the head.",
    _merges_trailers(_came_at_once),
)
fault("trailers-left-on-connection", "V2", Behavior.left_on_connection)(
    "Fields behind a body are read as the beginning of the connection's next request.",
    lambda right, request, response: (
        root[1] if (root := _TRAILERS.search(request.framing)) else right()
    ),
)
fault("late-trailers-merged-into-head", "V2", Behavior.infer)(
    "Fields behind a body that came after the head count as fields of the head.",
    _merges_trailers(lambda request: not _came_at_once(request)),
)
fault("expectation-ignored", "V2", Behavior.before_expected_body)(
    "Whoever waits for 100 Continue gets nothing until the body is there.",
    lambda right, request: b"",
)


def _forgets(name: str, when: Callable[[Request], object]) -> What[Response]:
    """A server that does not know a field in lower case in some requests."""

    def what(right: Right[Response], request: Request) -> Response:
        if name.encode() + b":" not in request.head or not when(request):
            return right()
        kept = tuple(pair for pair in request.headers if pair[0].lower() != name)
        return right(replace(request, headers=kept))

    return what


fault("lower-case-content-encoding-unknown", "V2", Behavior.handle)(
    "Content-Encoding in lower case is not known.",
    _forgets("content-encoding", lambda request: True),
)

_MEMBER = b"\x1f\x8b\x08"
_FLUSH = b"\x00\x00\xff\xff"
_NOTHING = zlib.compress(b"")


def _json_length(request: Request) -> int:
    return int(request.values(HEADER_LENGTH)[0]) if request.values(HEADER_LENGTH) else -1


def _largest_chunk(request: Request) -> int:
    return max((b - a for a, b in pairwise((0, *request.chunk_cuts))), default=0)


def _body_came_alone(request: Request) -> bool:
    return len(request.body) > 0 and sum(request.head_reads) == len(request.head)


def _gzip(request: Request) -> bytes:
    """A body in gzip, in its coding; empty if it is in none."""
    coded = "gzip" in request.values("Content-Encoding")
    return bytes(request.body) if coded else b""


def _deflate(request: Request) -> bytes:
    coded = "deflate" in request.values("Content-Encoding")
    return bytes(request.body) if coded else b""


def _flags(bits: int) -> Callable[[Request], bool]:
    """Match requests whose gzip header has one of these flags (RFC 1952, section 2.3.1)."""
    return lambda request: len(_gzip(request)) > 3 and bool(_gzip(request)[3] & bits)


for _name, _text, _when in (
    ("blobs-in-second-chunk-refused",
     "A body with its JSON in the first of two chunks is rejected.",
     lambda request: len(request.chunk_cuts) == 2
     and request.chunk_cuts[0] == _json_length(request)),
    ("tiny-chunks-refused", "A body in chunks of less than eight bytes is rejected.",
     lambda request: 0 < _largest_chunk(request) < 8),
    ("body-in-one-later-read-refused", "A body that comes whole, but after its head, is rejected.",
     lambda request: not request.chunk_cuts
     and not request.segment_cuts
     and _body_came_alone(request)),
    ("blobs-in-later-read-refused",
     "A body of which the JSON comes first and all else in a second read is rejected.",
     lambda request: request.segment_cuts == (_json_length(request),)),
    ("many-short-reads-refused",
     "A body that comes in three reads or more, the first of 100 bytes, is rejected.",
     lambda request: len(request.segment_cuts) > 1 and request.segment_cuts[0] == 100),
    ("gzip-name-refused", "A gzip stream with a file name is rejected.", _flags(8)),
    ("gzip-comment-refused", "A gzip stream with a comment is rejected.", _flags(16)),
    ("gzip-extra-field-refused", "A gzip stream with an extra field is rejected.", _flags(4)),
    ("gzip-header-checksum-refused", "A gzip stream with a checksum of its header is rejected.",
     _flags(2)),
    ("gzip-stored-blocks-refused",
     "A gzip stream of one member that begins with a stored block is rejected.",
     lambda request: _gzip(request).count(_MEMBER) == 1
     and not _gzip(request)[3]
     and not _gzip(request)[10] & 6),
    ("gzip-flushes-refused", "A gzip stream that was flushed more than four times is rejected.",
     lambda request: _gzip(request).count(_FLUSH) > 4),
    ("deflate-of-lowest-level-refused",
     "A zlib stream that says it was compressed fast is rejected.",
     lambda request: _deflate(request)[:2] == b"\x78\x01"),
    ("deflate-of-best-level-refused",
     "A zlib stream that says it was compressed best is rejected.",
     lambda request: _deflate(request)[:2] == b"\x78\xda"),
    ("long-deflate-refused", "A zlib stream of more than 64 KiB and less than 1 MiB is rejected.",
     lambda request: 2**16 < len(zlib.decompress(_deflate(request) or _NOTHING)) < 2**20),
    ("deflate-of-small-window-refused",
     "A zlib stream with a window of less than 32 KiB is rejected.",
     lambda request: _deflate(request)[:1] not in (b"", b"\x78")),
):  # fmt: skip
    fault(_name, "V3", Behavior.infer)(_text, refuses_if(_when))

fault("gzip-members-lost", "V3", Behavior.is_next_member)(
    "A gzip stream of several members is rejected.", lambda right, coding, rest: False
)


def _size_refused(least: int, most: int) -> type[Behavior]:
    """A server that rejects a tensor with so many elements."""

    class SizeRefused(Behavior):
        def read_inputs(
            self, model: ModelContract, document: JsonObject, blobs: Blobs
        ) -> dict[str, Tensor]:
            return self._limited(super().read_inputs(model, document, blobs))

        def read_raw(self, model: ModelContract, body: memoryview) -> InferenceRequest:
            inference = super().read_raw(model, body)
            self._limited(inference.inputs)
            return inference

        def _limited(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
            if any(least <= element_count(item.shape) <= most for item in tensors.values()):
                raise Rejected("the tensor does not fit")
            return tensors

    return SizeRefused


fault.several(
    "second-buffer-of-a-thousand-refused",
    "V3",
    "A tensor of 1,001 to 2,000 elements, which needs a second buffer, is rejected.",
)(_size_refused(1001, 2000))
fault.several(
    "buffer-of-64-kib-refused",
    "V3",
    "A tensor of 16,385 to 20,000 elements, too long for a buffer of 64 KiB, is rejected.",
)(_size_refused(16_385, 20_000))
fault.several(
    "mebibyte-refused", "V3", "A tensor of more than 200,000 elements is rejected with 400."
)(_size_refused(200_001, 2**31))
fault("no-length-for-response-json-of-a-mebibyte", "V3", Behavior.response_header_length)(
    "A response with more than 1,000,000 bytes of JSON before its blobs has no header length.",
    lambda right, text, blobs: right() if len(text) <= 1_000_000 else None,
)


@fault("mebibyte-of-texts-cut", "V3", Behavior.parse_document)
def _(right: Right[JsonObject], text: memoryview) -> JsonObject:
    """If the JSON of a BYTES tensor has more than 1,000,000 bytes, its last text is lost."""
    document = right()
    if len(text) > 1_000_000 and b'"BYTES"' in bytes(text):
        document["inputs"][-1]["data"][-1] = ""
    return document
