"""Judges rules for every request of a client over all scenarios of a run. Pure.

This works as for a server's exchanges (`observed`): a scenario's requests are examined once they
are there, and only the findings are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from v2_clients.bench.requests import (
    ClientRequest,
    UnreadableRequestError,
    model_asked,
    read_client_request,
)
from v2_clients.findings import InvalidRequestHttp, RequestRule
from v2_clients.judging.requests import read_blobs, read_document
from v2_conformance.judging.observed.exchanges import Observation
from v2_conformance.judging.observed.http_syntax import bare_line, wrong_in_chunk
from v2_conformance.judging.verdict import Finding
from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.protocol.names import TOKEN
from v2_conformance.suite.cases import ClientCase
from v2_conformance.suite.causes.base import excerpt
from v2_conformance.suite.causes.causes import Cause
from v2_conformance.suite.causes.kinds import BlobPastBody, InvalidTensor, LeftoverBytes
from v2_conformance.wire.messages import read_chunks, read_head

_REQUEST_LINE = re.compile(rb"%s [!-~]+ HTTP/1\.[01]" % TOKEN.encode())
_FIELD = re.compile(rb"%s:[\t -~\x80-\xff]*" % TOKEN.encode())
_ADDRESS = re.compile(r"(?:127\.0\.0\.1|localhost):[0-9]{2,5}", re.ASCII)
_SHOWN = 80
# What is not the fault of the JSON or of its elements.
_OF_BLOBS = (BlobPastBody, InvalidTensor, LeftoverBytes)
_MAY_REFUSE = ("error_or_exact", "refused")


def _broken(rule: RequestRule, shown: Buffer) -> Finding:
    """Return the finding of a rule that a request breaks, and where."""
    return Finding(InvalidRequestHttp(rule, excerpt(shown, _SHOWN)))


def observe_client(case: ClientCase, received: Iterable[Buffer]) -> tuple[Observation, ...]:
    """Return what the requests of a scenario, each as its raw bytes, show about every observed
    rule.

    Return nothing if the caller asks for what the client may refuse: a wrong request then concerns
    only that scenario.
    """
    if any(one["expect"].get("reading") in _MAY_REFUSE for one in case.requests):
        return ()
    looks = [_Look(bytes(data)) for data in received if data]
    results = []
    for what, check in CHECKS.items():
        wrong: list[Cause] = []
        judged = 0
        for look in looks:
            try:
                judged += check(look)
            except Finding as finding:
                judged += 1
                wrong.append(finding.cause)
        if judged:
            results.append(Observation(what, case.id, judged, len(wrong), next(iter(wrong), None)))
    return tuple(results)


@dataclass(frozen=True)
class _Look:
    """A request as it came, read once."""

    data: bytes

    @cached_property
    def request(self) -> ClientRequest | None:
        """The request, read tolerantly; None if nothing can be read."""
        try:
            return read_client_request(self.data)
        except UnreadableRequestError:
            return None


# A check returns False for a request that its rule is not about. It raises Finding.


def _syntax(look: _Look) -> bool:
    """Request line, field lines, line ends and chunks (RFC 9112, sections 2 to 7)."""
    head = read_head(look.data)
    if not head.whole:
        raise _broken("request_line", look.data[:_SHOWN])
    if head.start:
        raise _broken("line_end", look.data[:_SHOWN])
    bare = bare_line(head)
    if bare is not None:
        raise _broken("line_end", bare)
    if not _REQUEST_LINE.fullmatch(head.first):
        raise _broken("request_line", head.first)
    for line in (line for one in head.fields for line in one.lines):
        if not _FIELD.fullmatch(line):
            raise _broken("field", line)
    request = look.request
    if request is not None and request.whole and request.values("transfer-encoding"):
        for chunk in read_chunks(look.data, head.end):
            wrong = wrong_in_chunk(look.data, chunk)
            if wrong is not None:
                raise _broken("chunk", look.data[wrong : wrong + _SHOWN])
        if not look.data[chunk.data : chunk.end].endswith(b"\r\n"):
            raise _broken("chunk", look.data[chunk.data : chunk.data + _SHOWN])
    return True


def _host(look: _Look) -> bool:
    """Exactly one Host, with the bench's address (RFC 9112, section 3.2); before HTTP/1.1 none is
    needed."""
    if look.request is None:
        return True
    hosts = look.request.values("host")
    shown = " and ".join(hosts).encode("latin-1")
    if len(hosts) > 1 or (not hosts and look.request.version != "1.0"):
        raise _broken("host", shown)
    # By hand, a client may reach the bench under any name; then its paths do not begin with /v2.
    of_the_bench = look.request.path.startswith("/v2")
    if hosts and of_the_bench and not _ADDRESS.fullmatch(hosts[0]):
        raise _broken("address", shown)
    return True


def _lengths(look: _Look) -> bool:
    """One length, or chunks, never both (RFC 9112, sections 6.1 to 6.3)."""
    request = look.request
    if request is None:
        return True
    lengths = request.values("content-length")
    codings = request.values("transfer-encoding")
    shown = ", ".join(lengths).encode("latin-1")
    if lengths and codings:
        raise _broken("two_lengths", shown)
    if len(lengths) > 1 or any(not re.fullmatch("[0-9]+", value) for value in lengths):
        raise _broken("content_length", shown)
    listed = ",".join(codings).lower().replace(" ", "")
    if codings and listed != "chunked":
        raise _broken("transfer_coding", listed.encode("latin-1"))
    if request.method == "POST" and not lengths and not codings:
        raise _broken("content_length", b"")
    return True


def _inference(read: Callable[[ClientRequest], object]) -> Callable[[_Look], bool]:
    """Return a check of whole inference requests, for which `read` raises Finding."""

    def check(look: _Look) -> bool:
        request = look.request
        if request is None or not request.whole or model_asked(request) is None:
            return False
        read(request)
        return True

    return check


def _blobs(request: ClientRequest) -> None:
    """Each blob where it belongs, as long as its shape. The JSON and the elements are others'."""
    try:
        read_blobs(request)
    except Finding as finding:
        if isinstance(finding.cause, _OF_BLOBS):
            raise


CHECKS: Mapping[str, Callable[[_Look], bool]] = {
    "request_blobs": _inference(_blobs),
    "request_hosts": _host,
    "request_json": _inference(read_document),
    "request_lengths": _lengths,
    "request_syntax": _syntax,
}
