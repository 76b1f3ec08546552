"""Targets: where they are, what is secret of them, and which of them cannot be used."""

from __future__ import annotations

import base64
import ssl
from dataclasses import replace
from pathlib import Path

import pytest
import trustme

from support.cases import make_case, prepared
from v2_conformance.errors import UsageError
from v2_conformance.runs.targets.making import make_target
from v2_conformance.runs.targets.target import Target

# URLs.


@pytest.mark.parametrize(
    ("url", "host", "port", "header", "prefix"),
    [
        ("http://localhost:8000", "localhost", 8000, "localhost:8000", ""),
        ("http://localhost", "localhost", 80, "localhost", ""),
        ("https://localhost", "localhost", 443, "localhost", ""),
        ("https://h:8443/a/b/", "h", 8443, "h:8443", "/a/b"),
        ("HTTP://Host:1", "host", 1, "Host:1", ""),
        ("http://[::1]:8000/x", "::1", 8000, "[::1]:8000", "/x"),
        ("http://user:pass@h:1/x", "h", 1, "h:1", "/x"),
        ("http://user@h", "h", 80, "h", ""),
        ("http://u:p%40s@127.0.0.1:1//", "127.0.0.1", 1, "127.0.0.1:1", ""),
    ],
)
def test_a_url_says_where_to_connect_and_what_to_send(
    url: str, host: str, port: int, header: str, prefix: str
) -> None:
    target = make_target(url)
    address = target.transport().address
    assert (address.host, address.port) == (host, port)
    assert (address.tls is not None) == url.lower().startswith("https")
    assert (target.address.host, target.address.prefix) == (header, prefix)
    wire = b"".join(prepared(make_case(), target.address).request.http1)
    assert wire.startswith(f"POST {prefix}/v2/models/identity_int32/infer HTTP/1.1\r\n".encode())
    assert wire.count(b"\r\nHost: " + header.encode() + b"\r\n") == 1


# Secrets.


def test_user_and_password_become_a_header_and_leave_the_public_url() -> None:
    target = make_target("https://me:p%40ss:x@h:1/base")
    value = dict(target.address.headers)["Authorization"]
    assert base64.b64decode(value.removeprefix("Basic ")) == b"me:p@ss:x"
    assert target.public_url == "https://h:1/base"
    assert {"p@ss:x", "p%40ss:x", value, value.removeprefix("Basic ")} <= set(target.secrets)


def test_a_token_in_a_url_that_a_file_gave_is_not_public() -> None:
    assert Target("http://u:secret@h/x?token=secret#secret").public_url == "http://h/x"


@pytest.mark.parametrize(
    "name",
    ["Authorization", "authorization", "Proxy-Authorization", "Cookie", "X-Api-Key", "X-Auth-Token",
     "X-Auth", "X-Secret", "X-Password", "Session-Id", "X-Credentials", "X-Custom"],
)  # fmt: skip
def test_values_of_headers_are_secrets_unless_they_are_public(name: str) -> None:
    given = (f"{name}: Bearer abc123", "X-Plain: public-value", "X-Tenant-Jwt: value-of-it")
    target = replace(make_target("http://h", headers=given), public=("x-plain",))
    assert {"Bearer abc123", "abc123", "value-of-it"} <= set(target.secrets)
    assert "public-value" not in target.secrets
    assert list(target.secrets) == sorted(target.secrets, key=len, reverse=True)


# Headers.


def test_headers_of_the_user_replace_the_suites_own() -> None:
    headers = ("user-agent: mine", "authorization: Bearer t", "HOST: model.example.com", "X-A: 1")
    target = make_target("http://me:pw@gateway:80", headers=headers)
    assert target.address.host == "model.example.com"
    assert target.public_url == "http://gateway:80"
    assert target.transport().address.host == "gateway"
    wire = b"".join(prepared(make_case(), target.address).request.http1).lower()
    for name in (b"host", b"user-agent", b"authorization", b"accept", b"x-a"):
        assert wire.count(b"\r\n" + name + b": ") == 1
    assert b"authorization: bearer t\r\n" in wire


def test_tls_checks_the_certificate_unless_told_not_to(tmp_path: Path) -> None:
    context = make_target("https://h").transport().address.tls
    assert context is not None
    assert (context.check_hostname, context.verify_mode) == (True, ssl.CERT_REQUIRED)
    context = make_target("https://h", insecure=True).transport().address.tls
    assert context is not None
    assert (context.check_hostname, context.verify_mode) == (False, ssl.CERT_NONE)
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    context = Target("https://h", verify=str(tmp_path / "ca.pem")).transport().address.tls
    assert context is not None
    assert context.cert_store_stats()["x509_ca"] >= 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("profiles: [raw]\nunsupported: [raw]", "profile raw is both claimed and declared"),
        ("profiles: [compression]\nunsupported: [gzip, deflate]", "every content coding"),
        ("profiles: [bf16]\nunsupported: [BF16]", "the datatype BF16 declared unsupported"),
    ],
)
def test_what_is_claimed_cannot_be_declared_unsupported_too(
    tmp_path: Path, text: str, words: str
) -> None:
    path = tmp_path / "target.yaml"
    path.write_text(f"url: http://h\n{text}\n")
    with pytest.raises(UsageError, match=words):
        make_target(target_file=path)
