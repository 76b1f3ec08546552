"""Reads error responses: {"error": string}, and successes that are really errors."""

from __future__ import annotations

from v2_conformance.judging.messages.response import violation
from v2_conformance.judging.messages.response_json import parse_response_json
from v2_conformance.judging.verdict import Finding, Unread, not_read
from v2_conformance.protocol.message import MessageError
from v2_conformance.suite.causes.base import excerpt, printable
from v2_conformance.suite.causes.kinds import ConnectionClosed, InvalidErrorBody
from v2_conformance.wire.response import Response

# No error needs more; longer bodies are not parsed a second time to look for one.
_LONGEST = 64 * 1024


def check_error_body(response: Response) -> None:
    """Raise Finding unless the body of an error is {"error": string} (R2).

    One that a reset cut off shows nothing.
    """
    if not response.whole:
        raise Unread(ConnectionClosed(len(response.body), "in the body of an error"))
    try:
        document = parse_response_json(response.body, unique=False)
    except MessageError as error:
        shown = excerpt(response.body)
        problem = printable(str(error))
        raise not_read(error, InvalidErrorBody(response.status, problem, shown)) from error
    result = violation("error", document)
    if result is not None:
        shown = excerpt(response.body)
        raise Finding(InvalidErrorBody(response.status, result.problem, shown))


def has_error_body(response: Response) -> bool:
    """Return True if the body is {"error": string}."""
    try:
        check_error_body(response)
    except Finding:
        return False
    return True


def is_error(response: Response) -> bool:
    """Return True if a response says that the request failed: by its status or, wrongly, only in
    its body.

    A 2xx with {"error": string} is the defect that R1 is about. Every other case treats it as a
    rejection.
    """
    if response.status >= 300:
        return response.status >= 400
    if len(response.body) > _LONGEST or b'"error"' not in bytes(response.body):
        return False
    return has_error_body(response) and b'"outputs"' not in bytes(response.body)
