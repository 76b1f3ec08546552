"""What discovery found, derived again from its recorded answers and compared with the report."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from v2_conformance.judging.metadata import (
    plain_body,
    playing,
    server_metadata,
    status_words,
    unnamed_server,
)
from v2_conformance.judging.verdict import Finding
from v2_conformance.protocol.message import MessageError
from v2_conformance.report.evidence import RecordedExchange
from v2_conformance.suite.cases import GetCase
from v2_conformance.suite.cause_base import printable
from v2_conformance.suite.models import ModelContract, models_of_use
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.verifying.exchanges import matching
from v2_conformance.verifying.recorded import ReadExchange, RecordedError, masked_run, read_exchange
from v2_conformance.verifying.setting import Setting
from v2_conformance.wire.encode import Address, Binding, Prepared, get_request
from v2_conformance.wire.endpoint_bindings import EndpointBinding
from v2_conformance.wire.transcript import Response

_SHOWN = 120
_SERVER = "/v2"
_MODEL = re.compile(
    rb"GET [!-~]*?/v2/models/(?P<name>[!-~]+?)(?:/versions/(?P<version>[!-~]+))? "
    rb"HTTP/(?:1\.1|2)\r\n"
)
_MODEL_OF_ENDPOINT = re.compile(rb"GET [!-~]*?/models/(?P<name>[!-~]+?) HTTP/1\.1\r\n")
_REDIRECTED = rb": v2/models/(?P<name>[!-~]+?)(?:/versions/(?P<version>[!-~]+))?\r\n"


@dataclass(frozen=True)
class Discovered:
    """How a report's target differs from what discovery's recorded answers say.

    `edits` cannot be true of any run. `unclear` cannot be shown either way. `believed` has to be
    taken on trust, in words that follow "believed: ".
    """

    edits: tuple[str, ...]
    unclear: tuple[str, ...] = ()
    believed: tuple[str, ...] = ()


def discovered(known: Setting) -> Discovered:
    """Compare the target of a report of this very suite. Never raises for what a report says."""
    edits = list(_address_edits(known))
    unclear: list[str] = []
    try:
        answers = [_read(exchange, known) for exchange in known.report.discovery]
        edits += _server_edits(known, answers[:1])
        roles = list(_roles(known))
        if len(answers) != 1 + len(roles):
            count = f"expected {1 + len(roles)} questions, recorded: {len(answers)}"
            raise RecordedError(f"not every model of the claimed profiles was asked for ({count})")
        for model, answer in zip(roles, answers[1:], strict=True):
            edit, doubt = _of_model(model, answer, known)
            edits += [edit] if edit else []
            unclear += [doubt] if doubt else []
    except RecordedError as error:
        edits.append(f"the record of discovery: {error}")
    unclear += _other_answers(known)
    believed: tuple[str, ...] = ()
    if known.report.relations is not None and known.claims.absent:
        names = ", ".join(printable(role, _SHOWN) for role in known.claims.absent)
        believed = (f"that these models could not be tested: {names}",)
    if known.report.target.host_given:
        url = printable(known.report.target.url, _SHOWN)
        host = printable(known.report.target.host, _SHOWN)
        believed = (
            *believed,
            f"that {url} is where requests with the Host {host} went",
        )
    return Discovered(tuple(edits), tuple(unclear), believed)


def _roles(known: Setting) -> Iterator[ModelContract]:
    if known.report.relations is not None:
        return iter(())  # its models were learned in another way
    return iter(models_of_use(known.claims.profiles, known.claims.unsupported).values())


def _read(exchange: RecordedExchange, known: Setting) -> ReadExchange:
    read = read_exchange(exchange, known.address.binding)
    if exchange.purpose is not Purpose.DISCOVERY or read.transcript.response is None:
        raise RecordedError("an exchange is not one of its own that was answered")
    return read


def _address_edits(known: Setting) -> Iterator[str]:
    """A URL to which requests with the report's Host do not go."""
    target = known.report.target
    if known.address.scheme not in ("http", "https"):
        yield "the URL of the target is not one of HTTP"
    if not target.host_given and urlsplit(target.url).netloc != target.host:
        yield "the URL of the target is not the one that its requests went to"


def _server_edits(known: Setting, answers: Sequence[ReadExchange]) -> Iterator[str]:
    if not answers:
        raise RecordedError("no answer to GET /v2 is recorded")
    path_matches(_SERVER, answers[0], known)
    stated = known.report.target.server
    try:
        found = _server(answers[0].transcript.response, known.address.binding)
    except (Finding, MessageError) as error:
        raise RecordedError(f"the answer to GET /v2 is no server metadata: {error}") from error
    for name, said in found.items():
        if not _same(getattr(stated, name), said, known):
            yield f"the server's {name} is not that of its recorded answer to GET /v2"


def path_matches(path: str, exchange: ReadExchange, known: Setting) -> None:
    """Raise RecordedError unless the request is the suite's GET of `path`."""
    asked = Prepared(get_request(known.address, path))
    matching([asked], exchange, known, f"the request for {printable(path, _SHOWN)}")


def _server(response: Response | None, binding: EndpointBinding | None) -> dict[str, object]:
    if response is None:
        raise MessageError("nothing was answered")
    if binding is not None and not binding.metadata:
        if response.status != 200:
            raise MessageError(status_words(response))
        return unnamed_server(binding)
    document = server_metadata(plain_body(response))
    return {
        "name": document["name"],
        "version": document["version"],
        "extensions": tuple(document["extensions"]),
    }


def _of_model(
    model: ModelContract, asked: ReadExchange, known: Setting
) -> tuple[str | None, str | None]:
    """What cannot be true of the model in a role, and what cannot be shown to be."""
    role, response = model.role, asked.transcript.response
    assert response is not None
    target = known.report.target
    stated: Binding | str | None = known.claims.present.get(role)
    if (role in target.models) == (role in target.absent):
        return f"the model for {role} is not either there or absent", None
    if role in target.absent:
        stated = target.absent[role]
        binding = _usual(model, asked, known.address)
    elif isinstance(stated, Binding):
        binding = stated
    else:
        return f"the model for {role} has other numbers of tensors than the role", None
    path_matches(binding.path, asked, known)
    found = playing(response, binding, model, known.address.binding)
    if _same(stated, found, known):
        return None, None
    if isinstance(stated, str) and isinstance(found, str) and response.status == 200:
        # Its tensors may have had other names than the contract's, which a report does not tell.
        return None, f"why the model for {role} was taken to be absent"
    return f"the model for {role} is not what its recorded metadata says", None


def _usual(model: ModelContract, asked: ReadExchange, address: Address) -> Binding:
    """The binding of a model that was taken to be absent, with the contract's tensors."""
    found = _asked_for(asked, address.binding)
    if found is None:
        raise RecordedError(f"the model for {model.role} was not asked for")
    names = [tuple(spec.name for spec in specs) for specs in (model.inputs, model.outputs)]
    given = found.groupdict().get("version")
    version = None if given is None else given.decode("ascii")
    name = found["name"].decode("ascii")
    return Binding(model.role, name, names[0], names[1], version, version is not None)


def _asked_for(asked: ReadExchange, binding: EndpointBinding | None) -> re.Match[bytes] | None:
    """The name and the version of the model that a request of discovery is about."""
    head = bytes(asked.transcript.request).partition(b"\r\n\r\n")[0] + b"\r\n"
    if binding is None:
        return _MODEL.match(head)
    if binding.redirect is None:
        return _MODEL_OF_ENDPOINT.match(head)
    return re.search(binding.redirect.encode() + _REDIRECTED, head)


def _other_answers(known: Setting) -> Iterator[str]:
    """Cases that got another answer to GET /v2 than that by which the report names its server."""
    stated, binding = known.report.target.server, known.address.binding
    for recorded in known.report.cases:
        case = known.cases.get(recorded.id)
        if not isinstance(case, GetCase) or case.path != _SERVER:
            continue
        for exchange in recorded.exchanges:
            try:
                found = _server(read_exchange(exchange, binding).transcript.response, binding)
            except (Finding, MessageError, RecordedError):
                continue  # the case says what is wrong with it
            if not all(_same(getattr(stated, name), said, known) for name, said in found.items()):
                yield f"which server answered {recorded.id}: it gave another name, version or list"


def _same(stated: object, found: object, known: Setting) -> bool:
    """Whether they are equal, as far as masks let it be seen."""
    if stated == found:
        return True
    return known.masks and masked_run(stated, found)
