"""Targets: where they are, how to get in, what is secret of them, which cannot be used."""

from __future__ import annotations

import base64
import ssl
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trustme

from support.cases import make_case, prepared
from v2_conformance.errors import UsageError
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.targets.making import make_target
from v2_conformance.runs.targets.numbers import LONGEST_RUN_S, seconds, seconds_of_a_run
from v2_conformance.runs.targets.target import Target

TOKEN = "t0ken-0123456789"
PAIR = "alice-of-wonder:p@ss:word"
# openssl genpkey -algorithm ed25519 -aes256 -pass pass:secret
ENCRYPTED_KEY = """\
-----BEGIN ENCRYPTED PRIVATE KEY-----
MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAiGLUJxkYheAQICCAAw
DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEDM8KRjLX9I1HxLpVYUJCLgEQN/H
mugPe8eSIExydqaVK9jhZ1qMsgD/vfhvv5zJ4fzSXOIpGYjuLrLQFiNSgPD7agDL
UM0/g8AoXBP0W1MkUvw=
-----END ENCRYPTED PRIVATE KEY-----
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with credentials, a client's certificate and keys, and target files."""
    authority = trustme.CA()
    leaf = authority.issue_cert("client.example")
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    leaf.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    leaf.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    trustme.CA().issue_cert("x").private_key_pem.write_to_path(str(tmp_path / "other.pem"))
    (tmp_path / "encrypted.pem").write_text(ENCRYPTED_KEY)
    (tmp_path / "no.pem").write_text("x")
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    (tmp_path / "pair").write_text(f"{PAIR}\r\n")
    monkeypatch.setenv("MY_TOKEN", TOKEN)
    monkeypatch.setenv("MY_PAIR", PAIR)
    monkeypatch.delenv("NOT_SET", raising=False)
    return tmp_path


def of_file(folder: Path, text: str, url: str | None = "http://h", **options: Any) -> Target:
    """The target of a target file in `folder`."""
    (folder / "t.yaml").write_text(text)
    return make_target(url, target_file=folder / "t.yaml", **options)


def sent(target: Target) -> dict[str, str]:
    return dict(target.address.fields)


def refused(folder: Path, text: str = "", url: str = "http://h", **options: Any) -> str:
    with pytest.raises(UsageError) as error:
        of_file(folder, text, url, **options) if text else make_target(url, **options)
    assert "\n" not in str(error.value)
    assert TOKEN not in str(error.value)
    return str(error.value)


def test_a_token_comes_from_the_environment_or_a_file(folder: Path) -> None:
    in_file = of_file(folder, "auth: {bearer: {file: token}}")
    for target in (make_target("http://h", bearer_env="MY_TOKEN"), in_file):
        assert sent(target)["Authorization"] == f"Bearer {TOKEN}"
        assert TOKEN in target.secrets


@pytest.mark.parametrize("source", ["env: MY_PAIR", "file: pair"])
def test_user_and_password_come_from_the_environment_or_a_file(source: str, folder: Path) -> None:
    target = of_file(folder, f"auth: {{basic: {{{source}}}}}")
    scheme, _, value = sent(target)["Authorization"].partition(" ")
    assert (scheme, base64.b64decode(value)) == ("Basic", PAIR.encode())
    assert {value, "alice-of-wonder", "p@ss:word"} <= set(target.secrets)


def test_credentials_replace_those_of_the_file_and_the_url(folder: Path) -> None:
    text = "url: http://me:pw@h\nheaders: {authorization: Basic b2xk, X-A: b}\n"
    target = of_file(folder, text, None, bearer_env="MY_TOKEN")
    values = [value for name, value in target.address.fields if name.lower() == "authorization"]
    assert values == [f"Bearer {TOKEN}"]
    assert sent(target)["X-A"] == "b"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b" \n", "is empty"),
        (b"two\nlines", "more than one line"),
        (b"\xff\xfe", "more than one line of printable ASCII"),
        (b"hidden-token \x01", "more than one line"),
        (b"x" * 100_000, "it has more than"),
        (b"Bearer hidden-token", "leave out `Bearer`"),
    ],
)
def test_a_file_without_a_token_is_one_line_without_its_content(
    content: bytes, words: str, folder: Path
) -> None:
    (folder / "token").write_bytes(content)
    message = refused(folder, "auth: {bearer: {file: token}}")
    assert words in message
    assert "hidden-token" not in message


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("auth: {bearer: {env: MY_TOKEN}}\npublic: [Authorization]\n", {}, "always secret"),
        ("", {"bearer_env": "NOT_SET"}, "variable NOT_SET is not set"),
        ("auth: {basic: {env: MY_TOKEN}}", {}, "must be USER:PASSWORD"),
        ("auth: {basic: {file: missing}}", {}, "cannot read"),
        ("", {"headers": ("Authorization: x",), "bearer_env": "MY_TOKEN"}, "given twice"),
        ('host: "a\\r\\nX: y"', {}, "printable ASCII"),
        ("key: cert.pem", {}, "'cert' is a dependency of 'key'"),
        ("cert: cert.pem", {}, "needs a URL that begins with https://"),
        ("", {"cacert": Path("ca.pem")}, "--cacert needs a URL that begins with https://"),
        ("cert: missing.pem", {"url": "https://h"}, "cannot read the client cert"),
        ("cert: no.pem", {"url": "https://h"}, "cannot use the client cert"),
        ("cert: cert.pem", {"url": "https://h"}, "cannot use the client cert"),
        ("cert: cert.pem\nkey: other.pem", {"url": "https://h"}, "cannot use"),
        # Nobody is asked for its passphrase.
        ("cert: cert.pem\nkey: encrypted.pem", {"url": "https://h"}, "without a passphrase"),
        ("verify: missing.pem", {"url": "https://h"}, "cannot read the CA file"),
        ("", {"url": "https://h"}, "which SSL_CERT_FILE names"),
        (
            "",
            {"url": "https://h", "insecure": True, "cacert": Path("ca.pem")},
            "remove it, or --cacert",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_line(
    text: str, options: dict[str, Any], words: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "SSL_CERT_FILE" in words:
        monkeypatch.setenv("SSL_CERT_FILE", str(folder / "missing.pem"))
    assert words in refused(folder, text, **options)


def test_a_target_file_says_how_to_get_in(folder: Path) -> None:
    target = of_file(
        folder,
        "url: https://h\nhost: model.example\nauth: {bearer: {file: token}}\nverify: ca.pem\n"
        "cert: cert.pem\nkey: key.pem\nheaders: {X-Key: {file: token}}\n",
        None,
    )
    assert sent(target)["Host"] == "model.example"
    assert sent(target)["Authorization"] == f"Bearer {TOKEN}"
    assert sent(target)["X-Key"] == TOKEN
    for name, value in (("ca", target.verify), ("cert", target.cert), ("key", target.key)):
        assert value == str(folder / f"{name}.pem")  # wherever the command was started
    assert target.place.tls is not None


@pytest.mark.parametrize("headers", [(), ("Host: b.example",)])
def test_host_is_what_a_gateway_chooses_by(headers: tuple[str, ...], folder: Path) -> None:
    target = of_file(folder, f"host: {'a' if headers else 'b.example'}", headers=headers)
    assert [value for name, value in target.address.fields if name == "Host"] == ["b.example"]
    assert target.public_url == "http://h"


# Where a target is, and what is secret of it.


@pytest.mark.parametrize(
    ("url", "host", "port", "header", "prefix"),
    [
        ("http://localhost:8000", "localhost", 8000, "localhost:8000", ""),
        ("https://localhost", "localhost", 443, "localhost", ""),
        ("https://h:8443/a/b/", "h", 8443, "h:8443", "/a/b"),
        ("HTTP://Host:1", "host", 1, "Host:1", ""),
        ("http://[::1]:8000/x", "::1", 8000, "[::1]:8000", "/x"),
        ("http://user@h", "h", 80, "h", ""),
        ("http://u:p%40s@127.0.0.1:1//", "127.0.0.1", 1, "127.0.0.1:1", ""),
    ],
)
def test_a_url_says_where_to_connect_and_what_to_send(
    url: str, host: str, port: int, header: str, prefix: str
) -> None:
    target = make_target(url)
    address = target.place
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
    assert Target("http://u:secret@h/x?token=secret#secret").public_url == "http://h/x"


@pytest.mark.parametrize("name", ["authorization", "Cookie", "X-Auth-Token", "X-Custom"])
def test_values_of_headers_are_secrets_unless_they_are_public(name: str) -> None:
    given = (f"{name}: Bearer abc123", "X-Plain: public-value", "X-Tenant-Jwt: value-of-it")
    target = replace(make_target("http://h", headers=given), public=("x-plain",))
    assert {"Bearer abc123", "abc123", "value-of-it"} <= set(target.secrets)
    assert "public-value" not in target.secrets
    assert list(target.secrets) == sorted(target.secrets, key=len, reverse=True)


# What is given.


def test_headers_of_the_user_replace_the_suites_own() -> None:
    headers = ("user-agent: mine", "authorization: Bearer t", "HOST: model.example.com", "X-A: 1")
    target = make_target("http://me:pw@gateway:80", headers=headers)
    assert target.address.host == "model.example.com"
    assert target.public_url == "http://gateway:80"
    assert target.place.host == "gateway"
    wire = b"".join(prepared(make_case(), target.address).request.http1).lower()
    for name in (b"host", b"user-agent", b"authorization", b"accept", b"x-a"):
        assert wire.count(b"\r\n" + name + b": ") == 1
    assert b"authorization: bearer t\r\n" in wire


def test_a_header_may_have_colons_and_no_value() -> None:
    target = make_target("http://h", headers=("A: b:c", "Empty:"))
    assert target.headers == (("A", "b:c"), ("Empty", ""))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"url": None}, "no URL"),
        ({"url": ""}, "no URL"),
        *(
            ({"headers": (header,)}, "'Name: value'")
            for header in ("no colon", ": value", "Na me: v", "A: b\r\nC: d", "A: \u20ac", "A(): b")
        ),
        *(({"timeout": timeout}, "time-out") for timeout in (0, -1, float("nan"), 1e12)),
        ({"profiles": ("rav",)}, "did you mean raw"),
    ],
)
def test_options_that_cannot_be_used_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as error:
        make_target(**{"url": "http://h", **given})
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_time_out_bounds_the_connection_too_and_a_run_may_last_longer() -> None:
    for given, connect_s in ((0.5, 0.5), (300, 10.0)):
        limits = make_target("http://h", timeout=given).limits
        assert (limits.connect_s, limits.exchange_s) == (connect_s, given)
    assert seconds_of_a_run(str(LONGEST_RUN_S)) == LONGEST_RUN_S
    for function, given in ((seconds, LONGEST_RUN_S), (seconds_of_a_run, LONGEST_RUN_S + 1)):
        with pytest.raises(ValueError, match="above 0, at most "):
            function(str(given))


def test_tls_checks_the_certificate_unless_told_not_to(tmp_path: Path) -> None:
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    for insecure, modes in ((False, (True, ssl.CERT_REQUIRED)), (True, (False, ssl.CERT_NONE))):
        context = make_target("https://h", insecure=insecure).place.tls
        assert context is not None
        assert (context.check_hostname, context.verify_mode) == modes
    context = Target("https://h", verify=str(tmp_path / "ca.pem")).place.tls
    assert context is not None
    assert context.cert_store_stats()["x509_ca"] >= 1


# The target file.


def test_the_command_line_wins_over_the_file(tmp_path: Path) -> None:
    text = "{url: http://file, timeout: 9, headers: {A: '1'}, profiles: [raw]}"
    given = of_file(tmp_path, text, "http://given", timeout=1, headers=("B: 2",), insecure=True)
    assert (given.url, given.limits.exchange_s, given.verify) == ("http://given", 1, False)
    assert given.headers == (("A", "1"), ("B", "2"))
    assert given.profiles == ("binary", "raw")
    assert of_file(tmp_path, text, None).url == "http://file"


@pytest.mark.parametrize("version", ["'1'", "1"])
def test_a_version_in_a_target_file_is_in_every_url_of_the_model(
    version: str, tmp_path: Path, server: ReferenceServer
) -> None:
    text = (
        f"models:\n  identity/INT32: {{model: identity_int32, version: {version}}}\n"
        "  identity/FP32: {model: identity_fp32, version: 77}\n"
    )
    found = discover(of_file(tmp_path, text, server.url))
    assert found.present["identity/INT32"].path == "/v2/models/identity_int32/versions/1"
    assert "identity/FP32" not in found.present
    assert found.absent["identity/FP32"].startswith(
        "no model identity_fp32: GET /v2/models/identity_fp32/versions/77 answered with status 4"
    )
