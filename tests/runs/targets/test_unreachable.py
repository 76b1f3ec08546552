"""A server that cannot be tested, or not yet: the cause in a sentence, the option that helps."""

from __future__ import annotations

import datetime
import json
import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme

from support.responses import http
from support.servers import PATIENT, Script, always, answering, free_port, serving
from v2_conformance.errors import UnreachableError
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.targets.making import make_target
from v2_conformance.runs.targets.reaching import wait_until_ready
from v2_conformance.runs.targets.target import Target

DAY = datetime.timedelta(days=1)
TODAY = datetime.datetime.now(datetime.timezone.utc)
METADATA = json.dumps({"name": "s", "version": "1", "extensions": []}).encode()


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def cacert(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ca") / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return path


def server_context(leaf: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    leaf.configure_cert(context)
    return context


def met(target: Target) -> str:
    """Return what discovery reports of a target."""
    with pytest.raises(UnreachableError) as error:
        discover(target)
    message = str(error.value)
    assert "\n" not in message
    assert "…" not in message
    return message


def target_for(url: str, **access: Any) -> Target:
    return make_target(url, timeout=5, **access)


# TLS.


def test_an_unknown_authority_is_named_and_cacert_helps(
    authority: trustme.CA, cacert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = server_context(authority.issue_cert("127.0.0.1"))
    with serving(always(http(METADATA, 503)), tls=context) as server:
        message = met(target_for(server.url))
        assert "was not issued by an authority that this machine trusts" in message
        assert "--cacert FILE or SSL_CERT_FILE" in message
        assert "status 503" in met(target_for(server.url, cacert=cacert))
        monkeypatch.setenv("SSL_CERT_FILE", str(cacert))
        assert "status 503" in met(target_for(server.url))


@pytest.mark.parametrize(
    ("name", "first", "last", "words"),
    [
        ("127.0.0.1", -9, -1, "its certificate has expired; have it renewed"),
        ("127.0.0.1", 1, 9, "not valid yet; set the clock"),
        ("other.example", -9, 9, "its certificate is not for this"),
    ],
)
def test_what_is_wrong_with_a_certificate_is_said(
    name: str, first: int, last: int, words: str, authority: trustme.CA, cacert: Path
) -> None:
    leaf = authority.issue_cert(name, not_before=TODAY + first * DAY, not_after=TODAY + last * DAY)
    with serving(answering(http(METADATA)), tls=server_context(leaf)) as server:
        message = met(target_for(server.url, cacert=cacert))
    assert words in message
    assert "--insecure" in message


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_server_that_wants_a_client_certificate_gets_one(
    version: ssl.TLSVersion, authority: trustme.CA, cacert: Path, tmp_path: Path
) -> None:
    context = server_context(authority.issue_cert("127.0.0.1"))
    context.maximum_version = version
    context.verify_mode = ssl.CERT_REQUIRED
    authority.configure_trust(context)
    for name, issuer in (("own", authority), ("foreign", trustme.CA())):
        leaf = issuer.issue_cert("client.example")
        leaf.private_key_and_cert_chain_pem.write_to_path(str(tmp_path / f"{name}.pem"))
        leaf.cert_chain_pems[0].write_to_path(str(tmp_path / f"{name}-cert.pem"))
        leaf.private_key_pem.write_to_path(str(tmp_path / f"{name}-key.pem"))
    (tmp_path / "t.yaml").write_text("cert: own-cert.pem\nkey: own-key.pem\n")
    with serving(always(http(METADATA, 404)), tls=context) as server:
        message = met(target_for(server.url, cacert=cacert))
        assert "--cert" in message
        assert "client certificate" in message
        for given in ({"cert": tmp_path / "own.pem"}, {"target_file": tmp_path / "t.yaml"}):
            assert "status 404" in met(target_for(server.url, cacert=cacert, **given))
        foreign = target_for(server.url, cacert=cacert, cert=tmp_path / "foreign.pem")
        assert "status 404" not in met(foreign)


def test_the_wrong_scheme_is_said(
    authority: trustme.CA, cacert: Path, server: ReferenceServer
) -> None:
    message = met(target_for(server.url.replace("http:", "https:"), cacert=cacert))
    assert "does not speak TLS; the URL must begin with http://" in message
    context = server_context(authority.issue_cert("127.0.0.1"))
    with serving(answering(http(METADATA)), tls=context) as tls_server:
        assert "must begin with https://" in met(
            target_for(tls_server.url.replace("https:", "http:"))
        )


SPEAKS_TLS = "this port speaks TLS; the URL must begin with https://"
CREDENTIALS = (
    "use the URL of the server itself, or give credentials with --bearer-env, --header or "
    "`auth` in a target file"
)
TOKEN = "Zk9-pQ7w_vX2-token"


def challenge(value: str) -> bytes:
    return http(b"", 401, ("WWW-Authenticate", value))


def moved(location: str, status: int = 302) -> bytes:
    return http(b"", status, ("Location", location))


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (bytes.fromhex("000006 04 00 00000000 0004 00400000"), "as a gRPC port does"),
        (b"\x15\x03\x01\x00\x02\x02\x46", SPEAKS_TLS),
        (http(b"<center>The plain HTTP request was sent to HTTPS port</center>", 400), SPEAKS_TLS),
        (http(b"Client sent an HTTP request to an HTTPS server.\n", 400), SPEAKS_TLS),
        (http(b"no", 400), "status 400, not with V2 server metadata; is this the base URL"),
        (http(b"an HTTPS server", 500), "status 500, not with V2 server metadata; is this"),
        (
            challenge('Bearer realm="models"'),
            'GET URL/v2 answered with status 401: it wants credentials (Bearer realm="models"); '
            "give them with --bearer-env, --header or `auth` in a target file",
        ),
        (challenge("x\x1b[31m" + "y" * 5000), "it wants credentials (x"),
        (http(b"", 403), "another Host (--header 'Host: NAME')"),
        (http(b"", 404), "no V2 server is at this path"),
        (http(b"", 404), "--header 'Host: NAME'"),
        (
            moved("https://models.example/base/v2", 308),
            "a redirect to https://models.example/base/v2; a run follows no redirect",
        ),
        (moved("/login?next=/v2"), CREDENTIALS),
        (moved("http://[/v2"), CREDENTIALS),
        (moved("//me:password@h/v2"), CREDENTIALS),
        (moved("https://h/" + "x" * 5000 + "/v2"), CREDENTIALS),
        (moved("https://h\x1b[31m/v2"), CREDENTIALS),
        (moved("/v2/"), CREDENTIALS),
    ],
)
def test_an_answer_that_is_none_of_v2_says_what_may_help(reply: bytes, words: str) -> None:
    with serving(always(reply)) as server, pytest.raises(UnreachableError) as error:
        discover(target_for(server.url))
    message = str(error.value).replace(server.url, "URL")
    assert words in message
    assert message.isprintable()
    assert len(message) < 600


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (challenge(""), "it did not accept the credentials; give others"),
        (challenge(f"Bearer bad={TOKEN}"), "it did not accept the credentials"),
        (moved(f"/login?token={TOKEN}"), "/login?token=***"),
        (http(b"", 403), "these credentials have no access"),
    ],
)
def test_credentials_that_do_not_help_are_not_shown(reply: bytes, words: str) -> None:
    with serving(always(reply)) as server:
        message = met(target_for(server.url, headers=(f"Authorization: Bearer {TOKEN}",)))
    assert words in message
    assert TOKEN not in message


def test_404_says_that_v2_does_not_belong_into_the_url() -> None:
    with serving(always(http(b"", 404))) as server:
        message = met(target_for(server.url + "/v2/"))
    assert message.endswith(f": did you mean {server.url}? (the suite adds /v2 itself)")


# Readiness.


def wait(url: str, within_s: float | None = None) -> list[float]:
    """The pauses that are made until the server is ready; no time passes in them."""
    pauses: list[float] = []
    wait_until_ready(
        Target(url, limits=PATIENT), within_s, pause=pauses.append, clock=lambda: sum(pauses, 0.0)
    )
    return pauses


def statuses(ready: list[int], live: int = 200) -> Script:
    """A script: the statuses of /ready in turn, and that of /live."""
    left = list(ready)

    def answer(request: bytes) -> bytes:
        if b" /v2/health/live " in request:
            return http(b"", live)
        assert b" /v2/health/ready " in request
        return http(b"", left.pop(0) if len(left) > 1 else left[0])

    return always(answer)


@pytest.mark.parametrize(
    ("ready", "live", "pauses"),
    [
        *(([status], 200, 0) for status in (200, 204, 301, 401, 403, 404, 405, 501)),
        *(([status, status, 200], 200, 2) for status in (400, 429, 500, 502, 503, 504)),
        ([400], 400, 0),  # it has no such endpoint
    ],
)
def test_only_a_server_that_says_that_it_is_not_ready_is_waited_for(
    ready: list[int], live: int, pauses: int
) -> None:
    with serving(statuses(ready, live)) as server:
        assert len(wait(server.url)) == pauses


def test_a_server_that_never_becomes_ready_is_told_in_one_line() -> None:
    with serving(statuses([503])) as server:
        with pytest.raises(UnreachableError) as error:
            wait(server.url, 7)
        assert str(error.value) == (
            f"{server.url} is not ready: GET /v2/health/ready still gets status 503 after 7 s; "
            "--wait-ready changes the limit"
        )


def test_a_server_that_is_not_there_is_waited_for_only_if_the_user_says_so() -> None:
    for scheme in ("http", "https"):
        assert wait(f"{scheme}://127.0.0.1:{free_port()}") == []
    with pytest.raises(UnreachableError, match="still gets no answer after 2 s"):
        wait(f"http://127.0.0.1:{free_port()}", 2)


def test_waiting_for_a_server_ends_with_the_cause_too(authority: trustme.CA) -> None:
    context = server_context(authority.issue_cert("127.0.0.1"))
    with (
        serving(answering(http(b"")), tls=context) as server,
        pytest.raises(UnreachableError, match="--cacert FILE"),
    ):
        wait(server.url, 0.2)
