"""Variants of the status line and the header fields of responses."""

from __future__ import annotations

from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Headers, Response
from v2_mutants.registry import Right, variant

_PROXIES = "RFC 9110, sections 6.6.1, 7.6.3, 7.8 and 8.8.3, and RFC 9111, section 5"
_INTERIM = "RFC 9110, section 15.2, RFC 2518, section 10.1, and RFC 8297"
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_HINTS = (
    b"HTTP/1.1 102 Processing\r\n\r\n"
    b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"
    b"HTTP/1.1 103 \r\nInference-Header-Content-Length: 7\r\n\r\n"
)
_FIELDS_OF_A_PROXY = (
    ("Date", "Sun, 06 Nov 1994 08:49:37 GMT"),
    ("Server", "envoy"),
    ("Via", "1.1 varnish, 1.1 example.org (nginx/1.27)"),
    ("ETag", 'W/"123"'),
    ("Cache-Control", "no-store"),
    ("Age", "0"),
    ("Alt-Svc", 'h3=":443"; ma=2592000'),
    ("Strict-Transport-Security", "max-age=31536000"),
    ("Access-Control-Allow-Origin", "*"),
    ("Upgrade", "h2c"),
)
_SO = "so " * 40

variant("lower-case-field-names", "RFC 9110, section 5.1", Behaviour.field_line)(
    "The names of header fields are in lower case, as hyper and node write them.",
    lambda right, name, value: right(name.lower()),
)
variant("upper-case-field-names", "RFC 9110, section 5.1", Behaviour.field_line)(
    "The names of header fields are in upper case.",
    lambda right, name, value: right(name.upper()),
)
variant("no-space-before-values", "RFC 9112, section 5", Behaviour.field_line)(
    "Nothing stands between the colon and the value of a header field.",
    lambda right, name, value: f"{name}:{value}",
)
variant("space-around-values", "RFC 9112, section 5", Behaviour.field_line)(
    "Tabs and spaces surround the values of header fields.",
    lambda right, name, value: f"{name}:\t  {value} \t ",
)
variant("fields-in-reverse", "RFC 9110, section 5.3", Behaviour.fields_to_send)(
    "The header fields come in reverse order, those of the framing first.",
    lambda right, response, *, keep_open: right()[::-1],
)


@variant("many-fields", "RFC 9110, section 5.4", Behaviour.fields_to_send)
def _(right: Right[Headers], response: Response, *, keep_open: bool) -> Headers:
    """Responses have 120 more header fields, some of them repeated, empty or 8,000 bytes long."""
    more = [(f"X-Field-{number}", "value") for number in range(115)]
    more += [("Set-Cookie", "a=1; Path=/"), ("Set-Cookie", "b=2; HttpOnly")]
    more += [("X-Empty", ""), ("X-Long", "x" * 8000), ("X-Text", "Grüße")]
    return (*more, *right())


@variant("fields-of-a-proxy", _PROXIES, Behaviour.fields_to_send)
def _(right: Right[Headers], response: Response, *, keep_open: bool) -> Headers:
    """Responses have the fields of gateways: Date, Server, Via, ETag, an offer to upgrade."""
    if keep_open:
        kept = (("Connection", "Upgrade, Keep-Alive"), ("Keep-Alive", "timeout=5, max=1000"))
        return (*_FIELDS_OF_A_PROXY, *kept, *right())
    return (*_FIELDS_OF_A_PROXY, ("Connection", "Upgrade, Close"), *right(keep_open=True))


variant("no-reason-phrase", "RFC 9112, section 4", Behaviour.status_line)(
    "The status line has no reason phrase.",
    lambda right, response: f"HTTP/1.1 {response.status} ",
)
variant("reason-phrase-of-its-own", "RFC 9112, section 4", Behaviour.status_line)(
    "The status line has a long reason phrase with characters other than ASCII.",
    lambda right, response: f"HTTP/1.1 {response.status} Ergebnis \xfc\t{response.status}: {_SO}",
)
variant("continue-before-each-response", "RFC 9110, section 15.2", Behaviour.interim_responses)(
    "Each response is preceded by 100 Continue, asked for or not.",
    lambda right, request: right() + (_CONTINUE if request.version == "1.1" else b""),
)
variant("interim-responses", _INTERIM, Behaviour.interim_responses)(
    "Each response is preceded by 102 Processing and 103 Early Hints.",
    lambda right, request: right() + (_HINTS if request.version == "1.1" else b""),
)
