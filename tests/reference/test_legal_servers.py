"""Servers that differ from the reference server in a way that the documents allow: nothing fails.

Each is a small behaviour. The suite's cases must neither fail nor warn, but for those that are
about what the server does not do and that are no MUST.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from support.runs import chosen, made, outcomes, results, said, target_of
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.faults.shared.deliveries import is_chunked
from v2_conformance.reference.http_messages import Rejected, Request, Response
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.suite.cases import Case
from v2_conformance.suite.library import generated_case, suite_cases
from v2_conformance.suite.models import ModelContract
from v2_conformance.suite.outcomes import Outcome

Start = Callable[[type[Behaviour]], ReferenceServer]

# Many pieces or bytes; only servers that treat these differently meet them.
SLOW = ("C2/", "C3/", "C4/", "C6/", "L1/", "M7/", "Z5/")


@dataclass(frozen=True)
class Legal:
    """A server, the starts of ids of slow cases that it meets too, and what does not pass.

    `unsupported` are requirements, or starts of ids, all of whose cases are unsupported. `warns`
    are the starts of ids of the cases that fail, at level SHOULD.
    """

    server: type[Behaviour]
    also: tuple[str, ...] = ()
    unsupported: tuple[str, ...] = ()
    warns: tuple[str, ...] = ()
    profiles: tuple[str, ...] = field(default=("raw", "bf16", "compression"))


class NeedsContentLength(Behaviour):
    """As some servers and gateways: a body in chunks is answered with 411."""

    def infer(self, model: ModelContract, request: Request) -> Response:
        if is_chunked(request):
            raise Rejected("Content-Length is required", 411)
        return super().infer(model, request)


class NeedsContentLengthAndSaysSoInHtml(NeedsContentLength):
    """As a gateway does it: it knows nothing of the protocol's error bodies, and closes."""

    def handle(self, request: Request) -> Response:
        if not is_chunked(request):
            return super().handle(request)
        page = b"<html><h1>411 Length Required</h1></html>"
        return Response(411, (("Content-Type", "text/html"),), (page,), keep_open=False)


class LimitsBodies(Behaviour):
    """No body of more than 64 KiB, as it comes over the wire."""

    def handle(self, request: Request) -> Response:
        if len(request.body) > 2**16:
            page = b"<html><h1>413 Request Entity Too Large</h1></html>"
            return Response(413, (("Content-Type", "text/html"),), (page,), keep_open=False)
        return super().handle(request)


class LimitsDecodedBodies(Behaviour):
    """No body that decodes to more than 64 KiB."""

    def decode_request(self, request: Request) -> Request:
        decoded = super().decode_request(request)
        if len(decoded.body) > 2**16:
            raise Rejected("the body is too large", 413)
        return decoded


IN_CHUNKS = ("B10/cut-inside-a-prefix[chunks", "C1/", "C2/", "C3/", "C5/rejected-in-chunks",
             "C5/kept-connection-after-success[chunks]", "S3/too-short-in-chunks",
             "S4/bytes-after-the-last-blob-in-chunks", "H5/beyond-body-in-chunks",
             "W3/variable-dimension-in-pieces[chunks]", "Z1/compressed-in-chunks")  # fmt: skip
LARGE = ("B12/long-element", "B12/many-elements", "P6/content-length-is-exact[100000]",
         "S1/size-decides-bytes-tensor[long_element]")  # fmt: skip
LEGAL = [
    Legal(NeedsContentLength, also=("C2/", "C3/", "M7/"), unsupported=IN_CHUNKS),
    Legal(NeedsContentLengthAndSaysSoInHtml, also=("C2/", "C3/"), unsupported=IN_CHUNKS),
    Legal(LimitsBodies, also=("L1/", "Z5/"), unsupported=LARGE, warns=("L1/",)),
    Legal(LimitsDecodedBodies, also=("L1/", "Z5/"), unsupported=LARGE, warns=("L1/",)),
]


def cases_for(legal: Legal) -> Sequence[Case]:
    return [
        case
        for case in suite_cases()
        if not case.id.startswith(SLOW) or case.id.startswith(legal.also or ("no case",))
    ]


def test_what_a_server_declines_is_judged_again_from_its_bytes(
    start: Start, tmp_path: Path
) -> None:
    for server in (NeedsContentLength, LimitsBodies):
        cases = [*chosen("C1/", "B12/"), generated_case()]
        found, words = said(made(tmp_path, target_of(start(server).url), cases))
        assert (found.exit_code, "the verdict holds" in words) == (0, True), words


@pytest.mark.parametrize("legal", LEGAL, ids=lambda legal: legal.server.__name__)
def test_a_legal_server_fails_nothing(legal: Legal, start: Start) -> None:
    cases = cases_for(legal)
    found = results(target_of(start(legal.server).url, *legal.profiles), cases)
    expected = {
        case.id: Outcome.UNSUPPORTED
        if case.id.startswith(legal.unsupported or ("no case",))
        else Outcome.FAIL
        if case.id.startswith(legal.warns or ("no case",))
        else Outcome.PASS
        for case in cases
    }
    seen = {id: outcome for id, outcome in outcomes(found).items() if outcome != Outcome.DISPUTED}
    wrong = {
        id: found[id].message or outcome for id, outcome in seen.items() if outcome != expected[id]
    }
    assert wrong == {}
    assert all(found[id].case.level == "SHOULD" for id in seen if seen[id] is Outcome.FAIL)
