"""A server that cannot be tested: the cause in a whole sentence, and the option that helps."""

from __future__ import annotations

import datetime
import json
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import trustme

from support.responses import http
from support.servers import Peer, always, answering, serving, steps
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
    name: str,
    first: int,
    last: int,
    words: str,
    authority: trustme.CA,
    cacert: Path,
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
    own = authority.issue_cert("client.example")
    own.private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "both.pem"))
    own.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    own.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    foreign = trustme.CA().issue_cert("client.example")
    foreign.private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "foreign.pem"))
    with serving(always(http(METADATA, 404)), tls=context) as server:
        message = met(target_for(server.url, cacert=cacert))
        assert "--cert" in message
        assert "client certificate" in message
        both = target_for(server.url, cacert=cacert, cert=tmp_path / "both.pem")
        assert "status 404" in met(both)
        (tmp_path / "t.yaml").write_text("cert: cert.pem\nkey: key.pem\n")
        pair = target_for(server.url, cacert=cacert, target_file=tmp_path / "t.yaml")
        assert "status 404" in met(pair)
        foreign_target = target_for(server.url, cacert=cacert, cert=tmp_path / "foreign.pem")
        assert "status 404" not in met(foreign_target)


def test_https_to_a_plain_port_is_said(cacert: Path, server: ReferenceServer) -> None:
    url = server.url.replace("http:", "https:")
    message = met(target_for(url, cacert=cacert))
    assert "does not speak TLS; the URL must begin with http://" in message


def test_http_to_a_grpc_port_is_said() -> None:
    settings = bytes.fromhex("000006 04 00 00000000 0004 00400000")
    with serving(answering(settings)) as server:
        message = met(target_for(server.url))
    assert "as a gRPC port does" in message


def test_http_to_a_tls_port_is_said_if_the_server_sends_an_alert() -> None:
    alert = b"\x15\x03\x01\x00\x02\x02\x46"
    with serving(answering(alert)) as server:
        message = met(target_for(server.url))
    assert "this port speaks TLS; the URL must begin with https://" in message


def test_http_to_a_real_tls_port_says_what_may_help(authority: trustme.CA) -> None:
    context = server_context(authority.issue_cert("127.0.0.1"))
    with serving(answering(http(METADATA)), tls=context) as server:
        message = met(target_for(server.url.replace("https:", "http:")))
    assert "must begin with https://" in message


@pytest.mark.parametrize(
    "body",
    [
        b"<html><center>The plain HTTP request was sent to HTTPS port</center></html>",
        b"Client sent an HTTP request to an HTTPS server.\n",
    ],
)
def test_http_to_the_tls_port_of_common_servers_is_said(body: bytes) -> None:
    with serving(always(http(body, 400))) as server:
        message = met(target_for(server.url))
    assert "status 400: this port speaks TLS; the URL must begin with https://" in message


@pytest.mark.parametrize(("status", "body"), [(400, b"no"), (500, b"an HTTPS server")])
def test_another_error_is_not_said_to_come_from_a_tls_port(status: int, body: bytes) -> None:
    with serving(always(http(body, status))) as server:
        message = met(target_for(server.url))
    assert "is this the base URL of a V2 server?" in message
    assert "TLS" not in message


def test_waiting_for_a_server_ends_with_the_cause_too(authority: trustme.CA) -> None:
    context = server_context(authority.issue_cert("127.0.0.1"))
    with (
        serving(answering(http(b"")), tls=context) as server,
        pytest.raises(UnreachableError, match="--cacert FILE"),
    ):
        wait_until_ready(target_for(server.url), 0.2, pause=lambda s: None)


# Statuses.


def said(
    status: int,
    *fields: tuple[str, str],
    headers: Sequence[str] = (),
    body: bytes = b"",
    path: str = "",
) -> str:
    with serving(always(http(body, status, *fields))) as server:
        with pytest.raises(UnreachableError) as error:
            discover(make_target(server.url + path, timeout=5, headers=tuple(headers)))
        return str(error.value).replace(server.url, "URL")


TOKEN = "Authorization: Bearer Zk9-pQ7w_vX2-token"


def test_401_says_which_options_give_credentials() -> None:
    message = said(401, ("WWW-Authenticate", 'Bearer realm="models"'))
    assert message == (
        'GET URL/v2 answered with status 401: it wants credentials (Bearer realm="models"); give '
        "them with --bearer-env, --header or `auth` in a target file"
    )
    assert "it did not accept the credentials; give others" in said(401, headers=[TOKEN])


def test_401_that_repeats_the_token_does_not_show_it() -> None:
    message = said(401, ("WWW-Authenticate", "Bearer bad=Zk9-pQ7w_vX2-token"), headers=[TOKEN])
    assert "Zk9-pQ7w_vX2-token" not in message


def test_a_hostile_challenge_is_short_and_printable() -> None:
    message = said(401, ("WWW-Authenticate", "x\x1b[31m" + "y" * 5000))
    assert "\x1b" not in message
    assert len(message) < 300


def test_403_says_what_may_be_missing() -> None:
    assert "another Host (--header 'Host: NAME')" in said(403)
    assert "these credentials have no access" in said(403, headers=[TOKEN])


def test_404_says_that_the_path_or_the_host_is_wrong() -> None:
    message = said(404)
    assert "no V2 server is at this path" in message
    assert "--header 'Host: NAME'" in message


def test_404_says_that_v2_does_not_belong_into_the_url() -> None:
    message = said(404, path="/v2/")
    assert message.endswith(": leave /v2 out of the URL, because the suite adds it")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirection_names_its_target(status: int) -> None:
    message = said(status, ("Location", "https://models.example/base/v2"))
    assert "a redirect to https://models.example/base/v2; a run follows no redirect" in message


@pytest.mark.parametrize(
    "location",
    [
        "/login?next=/v2",
        "https://sso.example/authorize",
        "http://[/v2",
        "javascript:alert(1)/v2",
        "//me:password@h/v2",
        "https://h/" + "x" * 5000 + "/v2",
        "https://h\x1b[31m/v2",
        "/v2",
        "/v2/",
    ],
)
def test_a_redirection_to_anything_is_one_line(location: str) -> None:
    message = said(302, ("Location", location))
    assert message.endswith(
        "use the URL of the server itself, or give credentials with --bearer-env, --header or "
        "`auth` in a target file"
    )
    assert "\x1b" not in message
    assert len(message) < 600


@pytest.mark.parametrize("reply", [b"", b"\x15", b"\x15\x03"])
def test_a_server_that_closes_early_is_said_in_one_line(reply: bytes) -> None:
    with serving(steps(Peer.request, reply)) as server:
        message = met(target_for(server.url))
    assert "gave no answer that can be read" in message or "speaks TLS" in message
