"""Result of discovery, derived again from its recorded answers and compared with the report."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from v2_conformance.conversations.discovery import SERVER, Found, Look, Wanted, discovery
from v2_conformance.conversations.steps import play
from v2_conformance.judging.metadata import (
    ServerName,
    server_name,
)
from v2_conformance.judging.verdict import Finding
from v2_conformance.protocol.message import MessageError
from v2_conformance.report.evidence import RecordedExchange
from v2_conformance.suite.cases import GetCase
from v2_conformance.suite.causes.base import printable
from v2_conformance.suite.models import ModelContract, models_of_use
from v2_conformance.suite.outcomes import Purpose
from v2_conformance.verifying.exchanges import matching
from v2_conformance.verifying.recorded.transcripts import (
    ReadExchange,
    RecordedError,
    read_exchange,
    same_as_masked,
)
from v2_conformance.verifying.setting import Setting
from v2_conformance.wire.encode.deployment import DeployedModel
from v2_conformance.wire.encode.requests import Prepared, get_request
from v2_conformance.wire.transcript import Response

_SHOWN = 120
_MODEL = re.compile(
    rb"GET [!-~]*?/v2/models/(?P<name>[!-~]+?)(?:/versions/(?P<version>[!-~]+))? "
    rb"HTTP/1\.1\r\n"
)


@dataclass(frozen=True)
class Discovered:
    """Differences between a report's target and discovery's recorded answers.

    `edits` cannot be true of any run. `unclear` cannot be shown either way. `believed` has to be
    taken on trust, worded to follow "believed: ".
    """

    edits: tuple[str, ...]
    unclear: tuple[str, ...] = ()
    believed: tuple[str, ...] = ()


def discovered(known: Setting) -> Discovered:
    """Compare the target of a report of this very suite. Never raises for a report's content."""
    edits = list(_address_edits(known))
    unclear: list[str] = []
    left = deque(known.report.discovery)
    statuses: dict[str, int] = {}

    def answer(look: Look) -> Response:
        if not left:
            raise RecordedError("not every model of the claimed profiles was asked for")
        read = _read(left.popleft())
        path_matches(look.path, read, known)
        response = read.transcript.response
        assert response is not None
        if look.wanted is not None:
            statuses[look.wanted.model.role] = response.status
        return response

    try:
        found = play(discovery(_wanted(known, left)), answer)
        if left:
            raise RecordedError("more was asked for than the models of the claimed profiles")
        edits += _server_edits(found.server, known)
        for role, status in statuses.items():
            edit, doubt = _of_model(role, found, status, known)
            edits += [edit] if edit else []
            unclear += [doubt] if doubt else []
    except (Finding, MessageError) as error:
        edits.append(f"the record of discovery: the answer to GET /v2 is not metadata: {error}")
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


def _wanted(known: Setting, left: Sequence[RecordedExchange]) -> Iterator[Wanted]:
    """Yield each model that the run asked for, as the report or the next of `left` names it."""
    if known.report.relations is not None:
        return  # its models were learned differently
    target = known.report.target
    for role, model in models_of_use(known.claims.profiles, known.claims.unsupported).items():
        if (role in target.models) == (role in target.absent):
            raise RecordedError(f"the model for {role} is not either there or absent")
        stated = known.claims.present.get(role)
        if role in target.absent:
            stated = _usual(model, left, known)
        if stated is None:
            raise RecordedError(f"the model for {role} has other numbers of tensors than the role")
        yield Wanted(model, stated)


def _read(exchange: RecordedExchange) -> ReadExchange:
    read = read_exchange(exchange)
    if exchange.purpose is not Purpose.DISCOVERY or read.transcript.response is None:
        raise RecordedError("an exchange is not an answered request of discovery")
    return read


def _address_edits(known: Setting) -> Iterator[str]:
    """Yield an edit for a URL to which requests with the report's Host would not go."""
    target = known.report.target
    if known.address.scheme not in ("http", "https"):
        yield "the URL of the target is not one of HTTP"
    if not target.host_given and urlsplit(target.url).netloc != target.host:
        yield "the URL of the target is not the one that its requests went to"


def _server_edits(found: ServerName, known: Setting) -> Iterator[str]:
    stated = known.report.target.server
    for name in ServerName.__struct_fields__:
        if not _same(getattr(stated, name), getattr(found, name), known):
            yield f"the server's {name} is not that of its recorded answer to GET /v2"


def path_matches(path: str, exchange: ReadExchange, known: Setting) -> None:
    """Raise RecordedError unless the request is the suite's GET of `path`."""
    asked = Prepared(get_request(known.address, path))
    matching([asked], exchange, known, f"the request for {printable(path, _SHOWN)}")


def _of_model(
    role: str, found: Found, status: int, known: Setting
) -> tuple[str | None, str | None]:
    """Return what cannot be true of the model in a role, and what cannot be shown to be."""
    absent = known.report.target.absent
    stated = absent[role] if role in absent else known.claims.present[role]
    shown = found.absent[role] if role in found.absent else found.present[role]
    if _same(stated, shown, known):
        return None, None
    if (
        isinstance(stated, str)
        and isinstance(shown, str)
        and (status == 200 or not known.same_words)
    ):
        # Its tensors may have had names other than the contract's, which a report does not record,
        # or another build may word the reason differently.
        return None, f"why the model for {role} was taken to be absent"
    return f"the model for {role} is not what its recorded metadata says", None


def _usual(model: ModelContract, left: Sequence[RecordedExchange], known: Setting) -> DeployedModel:
    """Return the binding of a model that was considered absent, with the contract's tensors."""
    found = _asked_for(left[0].request) if left else None
    if found is None:
        raise RecordedError(f"the model for {model.role} was not asked for")
    names = [tuple(spec.name for spec in specs) for specs in (model.inputs, model.outputs)]
    given = found.groupdict().get("version")
    version = None if given is None else given.decode("ascii")
    name = found["name"].decode("ascii")
    return DeployedModel(model.role, name, names[0], names[1], version, version is not None)


def _asked_for(request: bytes) -> re.Match[bytes] | None:
    """Return the name and the version of the model that a request of discovery is about."""
    return _MODEL.match(request)


def _other_answers(known: Setting) -> Iterator[str]:
    """Return the cases whose answer to GET /v2 differs from the one that names the
    report's server.
    """
    for recorded in known.report.cases:
        case = known.cases.get(recorded.id)
        if not isinstance(case, GetCase) or case.path != SERVER:
            continue
        for exchange in recorded.exchanges:
            try:
                response = read_exchange(exchange).transcript.response
                found = None if response is None else server_name(response)
            except (Finding, MessageError, RecordedError):
                continue  # the case says what is wrong with it
            if found is not None and any(_server_edits(found, known)):
                yield f"which server answered {recorded.id}: it gave another name, version or list"


def _same(stated: object, found: object, known: Setting) -> bool:
    """Return True if they are equal, as far as masks show."""
    if stated == found:
        return True
    return known.masks and same_as_masked(stated, found)
