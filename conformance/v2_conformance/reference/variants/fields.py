"""Variants of the status line and the header fields of responses."""

from __future__ import annotations

from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Headers, Request, Response
from v2_conformance.reference.variants.registry import variant


@variant(
    "lower-case-field-names",
    allowed_by="RFC 9110, section 5.1",
    text="The names of header fields are in lower case, as hyper and node write them.",
)
class _LowerCaseFieldNames(Behaviour):
    def field_line(self, name: str, value: str) -> str:
        return super().field_line(name.lower(), value)


@variant(
    "upper-case-field-names",
    allowed_by="RFC 9110, section 5.1",
    text="The names of header fields are in upper case.",
)
class _UpperCaseFieldNames(Behaviour):
    def field_line(self, name: str, value: str) -> str:
        return super().field_line(name.upper(), value)


@variant(
    "no-space-before-values",
    allowed_by="RFC 9112, section 5",
    text="Nothing stands between the colon and the value of a header field.",
)
class _NoSpaceBeforeValues(Behaviour):
    def field_line(self, name: str, value: str) -> str:
        return f"{name}:{value}"


@variant(
    "space-around-values",
    allowed_by="RFC 9112, section 5",
    text="Tabs and spaces surround the values of header fields.",
)
class _SpaceAroundValues(Behaviour):
    def field_line(self, name: str, value: str) -> str:
        return f"{name}:\t  {value} \t "


@variant(
    "fields-in-reverse",
    allowed_by="RFC 9110, section 5.3",
    text="The header fields come in reverse order, those of the framing first.",
)
class _FieldsInReverse(Behaviour):
    def fields_to_send(self, response: Response, *, keep_open: bool) -> Headers:
        return super().fields_to_send(response, keep_open=keep_open)[::-1]


@variant(
    "many-fields",
    allowed_by="RFC 9110, section 5.4",
    text="Responses have 120 more header fields, some of them repeated, empty or 8,000 bytes long.",
)
class _ManyFields(Behaviour):
    def fields_to_send(self, response: Response, *, keep_open: bool) -> Headers:
        more = [(f"X-Field-{number}", "value") for number in range(115)]
        more += [("Set-Cookie", "a=1; Path=/"), ("Set-Cookie", "b=2; HttpOnly")]
        more += [("X-Empty", ""), ("X-Long", "x" * 8000), ("X-Text", "Grüße")]
        return (*more, *super().fields_to_send(response, keep_open=keep_open))


@variant(
    "fields-of-a-proxy",
    allowed_by="RFC 9110, sections 6.6.1, 7.6.3, 7.8 and 8.8.3, and RFC 9111, section 5",
    text="Responses have the fields of gateways: Date, Server, Via, ETag, an offer to upgrade.",
)
class _FieldsOfAProxy(Behaviour):
    def fields_to_send(self, response: Response, *, keep_open: bool) -> Headers:
        fields = super().fields_to_send(response, keep_open=keep_open)
        more = [
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
        ]
        if keep_open:
            more += [("Connection", "Upgrade, Keep-Alive"), ("Keep-Alive", "timeout=5, max=1000")]
        else:
            fields = tuple(field for field in fields if field != ("Connection", "close"))
            more.append(("Connection", "Upgrade, Close"))
        return (*more, *fields)


@variant(
    "no-reason-phrase",
    allowed_by="RFC 9112, section 4",
    text="The status line has no reason phrase.",
)
class _NoReasonPhrase(Behaviour):
    def status_line(self, response: Response) -> str:
        return f"HTTP/1.1 {response.status} "


@variant(
    "reason-phrase-of-its-own",
    allowed_by="RFC 9112, section 4",
    text="The status line has a long reason phrase with characters other than ASCII.",
)
class _ReasonPhraseOfItsOwn(Behaviour):
    def status_line(self, response: Response) -> str:
        return f"HTTP/1.1 {response.status} Ergebnis \xfc\t{response.status}: {'so ' * 40}"


class Interim(Behaviour):
    """Sends `interim` before each response to HTTP/1.1."""

    interim = b""

    def interim_responses(self, request: Request) -> bytes:
        sent = super().interim_responses(request)
        return sent + self.interim if request.version == "1.1" else sent


@variant(
    "continue-before-each-response",
    allowed_by="RFC 9110, section 15.2",
    text="Each response is preceded by 100 Continue, asked for or not.",
)
class _ContinueBeforeEachResponse(Interim):
    interim = b"HTTP/1.1 100 Continue\r\n\r\n"


@variant(
    "interim-responses",
    allowed_by="RFC 9110, section 15.2, RFC 2518, section 10.1, and RFC 8297",
    text="Each response is preceded by 102 Processing and 103 Early Hints.",
)
class _InterimResponses(Interim):
    interim = (
        b"HTTP/1.1 102 Processing\r\n\r\n"
        b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"
        b"HTTP/1.1 103 \r\nInference-Header-Content-Length: 7\r\n\r\n"
    )
