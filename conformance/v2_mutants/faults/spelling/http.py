"""Faults of reading HTTP that is written in another way than usual (V2)."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import replace

from v2_conformance.protocol.names import HEADER_LENGTH, JSON_TYPE
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.reference.request_reader import InferenceRequest
from v2_conformance.suite.models import ModelContract
from v2_mutants.faults.shared.blobs import all_in_json
from v2_mutants.faults.shared.crashes import CrashingServer, ends_server
from v2_mutants.faults.shared.deliveries import is_coded, is_raw, loses_behind
from v2_mutants.faults.shared.spellings import Sees, crashes, refuses_if
from v2_mutants.registry import Right, What, fault, then

# The chunk that ends a body without trailer fields.
_LAST_CHUNK = re.compile(rb"\r\n0+(;[^\r\n]*)?\r\n\r\n$")
# The trailer fields of a body in chunks, each with the end of its line.
_TRAILERS = re.compile(rb"\r\n0+(?:;[^\r\n]*)?\r\n((?:[^\r\n]+\r\n)+)\r\n\Z")
_MOST_FIELDS = 50
_LONGEST_FIELD = 3000
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


def _in_gzip(server: Behaviour, response: Response) -> Response:
    headers = (*response.headers, *server.coding_headers("gzip"))
    return replace(response, headers=headers, body=server.compress("gzip", response.body))


@fault("refused-codings-used", "V2", Behaviour.encode_response)
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
    fault(_name, "V2", Behaviour.infer)(_text, refuses_if(_when, _status))

fault("trailers-end-server", "V2", Behaviour.infer, base=CrashingServer)(
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
        fault(f"{_kind}-of-{_who}-refused", "V2", Behaviour.infer)(
            f"{_text} from {_client} is rejected.",
            refuses_if(_both(_is, _has)),
        )

fault("many-fields-end-in-a-stack-trace", "V2", Behaviour.infer)(
    f"A request with more than {_MOST_FIELDS} fields is answered with 500 in plain text.",
    crashes(lambda request: len(request.headers) > _MOST_FIELDS),
)
fault("long-field-ends-in-a-stack-trace", "V2", Behaviour.infer)(
    f"A field of more than {_LONGEST_FIELD} characters is answered with 500 in plain text.",
    crashes(lambda request: any(len(value) > _LONGEST_FIELD for _, value in request.headers)),
)
fault("body-lost-with-an-offer-to-upgrade", "V2", Behaviour.handle)(
    "The body of a request with an Upgrade field is lost.",
    lambda right, request: (
        right(replace(request, body=request.body[:0])) if request.values("Upgrade") else right()
    ),
)
fault("line-end-in-a-read-of-its-own-refused", "V2", Behaviour.received)(
    "A read that has nothing but the end of a line, or half of it, is not understood.",
    lambda right, data: b"?" if data in (b"\r", b"\n", b"\r\n") else right(),
)
fault("first-accept-field-alone", "V2", Behaviour.read_request)(
    "Outputs are in JSON if that is what the first Accept field begins with.",
    then(
        lambda inference, model, request, length: (
            all_in_json(inference)
            if any(one.startswith(JSON_TYPE) for one in request.values("Accept")[:1])
            else inference
        )
    ),
)
fault("pipelined-request-lost", "V2", Behaviour.read_ahead)(
    "What comes behind a request before its answer is thrown away.", lambda right, data: b""
)
fault("pipeline-behind-an-error-lost", "V2", Behaviour.received)(
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


fault("trailers-merged-into-head", "V2", Behaviour.infer)(
    "Fields behind a body that came with the head count as fields of the head.",
    _merges_trailers(_came_at_once),
)
fault("trailers-left-on-connection", "V2", Behaviour.left_on_connection)(
    "Fields behind a body are read as the beginning of the connection's next request.",
    lambda right, request, response: (
        found[1] if (found := _TRAILERS.search(request.framing)) else right()
    ),
)
fault("late-trailers-merged-into-head", "V2", Behaviour.infer)(
    "Fields behind a body that came after the head count as fields of the head.",
    _merges_trailers(lambda request: not _came_at_once(request)),
)
fault("expectation-ignored", "V2", Behaviour.before_expected_body)(
    "Whoever waits for 100 Continue gets nothing until the body is there.",
    lambda right, request: b"",
)


@fault.several("id-of-a-pipeline-is-its-last", "V2")
class _IdOfAPipeline(Behaviour):
    """A request that another one is waiting behind is answered with the id of the one before."""

    thread = threading.local()

    def handle(self, request: Request) -> Response:
        self.thread.followed = request.followed
        return super().handle(request)

    def read_request(
        self, model: ModelContract, request: Request, length: int | None
    ) -> InferenceRequest:
        result = super().read_request(model, request, length)
        before = getattr(self.thread, "id", None)
        self.thread.id = result.id
        return replace(result, id=before) if self.thread.followed and result.id else result


def _forgets(name: str, when: Callable[[Request], object]) -> What[Response]:
    """A server that does not know a field in lower case in some requests."""

    def what(right: Right[Response], request: Request) -> Response:
        if name.encode() + b":" not in request.head or not when(request):
            return right()
        kept = tuple(pair for pair in request.headers if pair[0].lower() != name)
        return right(replace(request, headers=kept))

    return what


fault("lower-case-content-encoding-unknown", "V2", Behaviour.handle)(
    "Content-Encoding in lower case is not known.",
    _forgets("content-encoding", lambda request: True),
)
