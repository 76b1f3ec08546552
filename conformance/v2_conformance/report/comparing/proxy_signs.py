"""Signs in a report of a gateway between the suite and the server.

`Via` is what HTTP asks of every gateway for requests, and lets it add to responses (RFC 9110,
section 7.6.3); few do. `Server` often is the gateway's. 502, 503 and 504 in words that no inference
server uses are a gateway's as well.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Annotated

from msgspec import Meta

from v2_conformance.judging.availability import GATEWAY_STATUSES
from v2_conformance.report.document import Report
from v2_conformance.report.document_part import Part
from v2_conformance.report.evidence import RecordedExchange
from v2_conformance.report.kept_bytes import beginning
from v2_conformance.suite.causes.base import Count, printable
from v2_conformance.suite.outcomes import Word
from v2_conformance.wire.messages import read_head

_HEAD = 64 * 1024
_LONGEST = 80
_MOST = 5
_GATEWAYS = re.compile(
    r"nginx|openresty|caddy|envoy|traefik|haproxy|varnish|cloudflare|cloudfront|awselb|akamai"
    r"|apisix|kong|squid|google frontend|gws|istio|apache|microsoft-azure-application-gateway"
    r"|litespeed|h2o|tengine|vercel|fly/",
    re.IGNORECASE,
)
_JSON = re.compile(rb"\s*[{\[]")


class SignKind(Word):
    """A sign of a gateway."""

    VIA = "via"
    SERVER = "server"
    PAGE = "page"
    """An answer 502, 503 or 504 that is not JSON."""


class ProxySign(Part, frozen=True):
    """Something that `exchanges` of a report's answers have, and that a gateway has written."""

    kind: SignKind
    value: Annotated[str, Meta(description="The field's value, or the status of the page.")]
    exchanges: Count

    @property
    def words(self) -> str:
        """The sign in words."""
        if self.kind is SignKind.PAGE:
            return f"status {self.value} with a body that is not JSON"
        return f"{self.kind.capitalize()}: {self.value}"


def proxy_signs(report: Report) -> tuple[ProxySign, ...]:
    """Return every sign of a gateway in a report, most frequent first, at most five; none for a
    report on a client, whose answers the suite makes.
    """
    if report.target.client is not None:
        return ()
    found: Counter[tuple[SignKind, str]] = Counter()
    for exchange in _exchanges(report):
        found.update(set(_signs(beginning(exchange.response_kept, _HEAD))))
    return tuple(ProxySign(kind, value, n) for (kind, value), n in found.most_common(_MOST))


def signs_line(signs: tuple[ProxySign, ...]) -> str:
    """Return a sentence about the signs of a gateway, "" if there are none."""
    if not signs:
        return ""
    found = "; ".join(sign.words for sign in signs)
    # A server may also answer this way itself, though rarely.
    sure = any(sign.kind is not SignKind.PAGE for sign in signs)
    is_there = "is" if sure else "may be"
    return f"a gateway {is_there} between the suite and the server: {found}"


def _exchanges(report: Report) -> Iterator[RecordedExchange]:
    calibrations = (one.exchanges for one in report.calibration)
    cases = (case.exchanges for case in report.cases)
    return chain(report.discovery, *calibrations, *cases)


def _signs(answer: bytes) -> Iterator[tuple[SignKind, str]]:
    head = read_head(answer)
    for value in filter(None, head.values("via")):
        yield SignKind.VIA, printable(value, _LONGEST)
    for value in filter(_GATEWAYS.search, head.values("server")):
        yield SignKind.SERVER, printable(value, _LONGEST)
    if head.status in GATEWAY_STATUSES and not _JSON.match(answer, head.end):
        yield SignKind.PAGE, str(head.status)
