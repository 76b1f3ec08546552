"""The words for what a gateway does, the same on every page and on the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from v2_conformance.report.gateway import (
    CaseEffect,
    Effect,
    GatewayReport,
    PropertyResult,
    Transparency,
)
from v2_conformance.report.proxy_signs import ProxySign, SignKind
from v2_conformance.report.through import Change, Property

PROPERTIES: Mapping[Property, str] = {
    Property.HEADER: "The header-length field arrives, both ways",
    Property.LENGTH: "Its value fits the body that arrives",
    Property.CODING: "Content codings are kept",
    Property.BODIES: "No limit on bodies, with or without a length",
    Property.ERRORS: "Errors keep their status and JSON body",
    Property.EARLY_REJECTION: "Early rejections arrive early",
    Property.CONNECTIONS: "Connections stay open, and every request is answered",
}
CHANGES: Mapping[Change, str] = {
    Change.HEADER_DROPPED: "the response's header-length field is gone",
    Change.LENGTH_WRONG: "the response's header length does not fit its body",
    Change.RECODED: "the response has another content coding",
    Change.BODY_REFUSED: "the gateway refuses the body of the request (413 or 411)",
    Change.ERROR_REPLACED: "the error has another status, or a body that is not the server's JSON",
    Change.ERROR_HIDDEN: "the error arrives as a success",
    Change.REQUEST_SPOILED: "the request is rejected, though the server accepts it directly",
    Change.REJECTED_LATER: "the rejection comes only after the whole request",
    Change.CLOSED: "the connection is closed, though the server keeps it open",
    Change.UNAVAILABLE: "the gateway got no answer (502, 503 or 504)",
    Change.NO_ANSWER: "no complete answer came",
    Change.OTHER_STATUS: "the answer has another status",
}
EFFECTS: Mapping[Effect, str] = {
    Effect.BROKEN: "Broken: works directly, not through the gateway",
    Effect.HIDDEN: "Hidden: fails directly, and through the gateway nobody sees it",
    Effect.MENDED: "Mended: fails directly, works through the gateway",
    Effect.CHANGED: "Changed: another answer, with the same or no effect on the case",
}
EXPLAINED: Mapping[Transparency, str] = {
    Transparency.TRANSPARENT: "Through this gateway, the extension works as it does without.",
    Transparency.NOT_TRANSPARENT: "This gateway changes what the extension needs.",
    Transparency.UNDECIDED: "Nothing was lost that these runs show, but they do not show enough.",
}


def what_changed(case: CaseEffect) -> str:
    """What the gateway changed of a case, and in what words it fails there."""
    changes = "; ".join(CHANGES[change] for change in case.changes)
    return ": ".join(part for part in (changes, case.words) if part)


def state_of(row: PropertyResult) -> str:
    """How a property fares, with numbers."""
    if row.changed:
        return f"not kept in {row.changed} of {row.shown} cases"
    return f"kept in {row.shown} cases" if row.shown else "no case of the direct run shows it"


def outcomes_of(case: CaseEffect) -> str:
    """The outcomes of a case directly and through the gateway."""
    if case.direct is case.through:
        return f"{case.direct.words} both ways"
    return f"{case.direct.words} -> {case.through.words}"


def counts(report: GatewayReport) -> str:
    """How many cases have each effect."""
    return ", ".join(f"{report.effects.get(effect, 0)} {effect}" for effect in Effect)


def signs_line(signs: tuple[ProxySign, ...]) -> str:
    """A sentence that says what betrays a gateway, "" if nothing does."""
    if not signs:
        return ""
    found = "; ".join(sign.words for sign in signs)
    # A server may answer so itself, if it rarely does.
    sure = any(sign.kind is not SignKind.PAGE for sign in signs)
    is_there = "is" if sure else "may be"
    return f"a gateway {is_there} between the suite and the server: {found}"
