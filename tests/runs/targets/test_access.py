"""How to get in: credentials from the environment or a file, certificates and Host."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import trustme

from support.servers import free_port
from v2_conformance.errors import UsageError
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.runs.discovery import discover
from v2_conformance.runs.targets.making import make_target
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


def sent(target: Target) -> dict[str, str]:
    return dict(target.address.fields)


def with_access(url: str = "http://h", **access: Any) -> Target:
    return make_target(url, **access)


def of_file(folder: Path, text: str, **options: Any) -> Target:
    """The target of a target file in `folder`."""
    (folder / "t.yaml").write_text(text)
    return make_target(**{"url": "http://h", **options}, target_file=folder / "t.yaml")


def refused_file(folder: Path, text: str) -> str:
    with pytest.raises(UsageError) as error:
        of_file(folder, text)
    assert "\n" not in str(error.value)
    return str(error.value)


def refused(file: Path | None = None, url: str | None = "http://h", **access: Any) -> str:
    with pytest.raises(UsageError) as error:
        make_target(url, target_file=file, **access)
    assert "\n" not in str(error.value)
    return str(error.value)


# Credentials.


def test_a_token_comes_from_the_environment_or_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", TOKEN)
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    in_file = of_file(tmp_path, "auth: {bearer: {file: token}}")
    for target in (with_access(bearer_env="MY_TOKEN"), in_file):
        assert sent(target)["Authorization"] == f"Bearer {TOKEN}"
        assert TOKEN in target.secrets


def test_user_and_password_come_from_the_environment_or_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_PAIR", PAIR)
    (tmp_path / "pair").write_text(f"{PAIR}\r\n")
    for source in ("env: MY_PAIR", "file: pair"):
        target = of_file(tmp_path, f"auth: {{basic: {{{source}}}}}")
        scheme, _, value = sent(target)["Authorization"].partition(" ")
        assert (scheme, base64.b64decode(value)) == ("Basic", PAIR.encode())
        assert {value, "alice-of-wonder", "p@ss:word"} <= set(target.secrets)


def test_credentials_replace_those_of_the_file_and_the_url(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", TOKEN)
    path = tmp_path / "t.yaml"
    path.write_text("url: http://me:pw@h\nheaders: {authorization: Basic b2xk, X-A: b}\n")
    target = make_target(target_file=path, bearer_env="MY_TOKEN")
    values = [value for name, value in target.address.fields if name.lower() == "authorization"]
    assert values == [f"Bearer {TOKEN}"]
    assert sent(target)["X-A"] == "b"


def test_credentials_cannot_be_public(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MY_TOKEN", TOKEN)
    path = tmp_path / "t.yaml"
    path.write_text("auth: {bearer: {env: MY_TOKEN}}\npublic: [Authorization]\n")
    assert "always secret" in refused(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"two\nlines", "more than one line"),
        (b"\xff\xfe", "more than one line of printable ASCII"),
        (b"hidden-token \x01", "more than one line"),
        (b"x" * 100_000, "it has more than"),
        (b"Bearer hidden-token", "leave out `Bearer`"),
    ],
)
def test_a_file_without_a_token_is_one_line_without_its_content(
    content: bytes, words: str, tmp_path: Path
) -> None:
    (tmp_path / "token").write_bytes(content)
    message = refused_file(tmp_path, "auth: {bearer: {file: token}}")
    assert words in message
    assert "hidden-token" not in message


def test_credentials_that_cannot_be_used_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", TOKEN)
    monkeypatch.delenv("NOT_SET", raising=False)
    assert "variable NOT_SET is not set" in refused(bearer_env="NOT_SET")
    message = refused_file(tmp_path, "auth: {basic: {env: MY_TOKEN}}")
    assert "must be USER:PASSWORD" in message
    assert TOKEN not in message
    assert "cannot read" in refused_file(tmp_path, "auth: {basic: {file: missing}}")
    with pytest.raises(UsageError, match="given twice"):
        make_target("http://h", headers=("Authorization: x",), bearer_env="MY_TOKEN")


# The target file.


def test_a_target_file_says_how_to_get_in(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    leaf = authority.issue_cert("client.example")
    leaf.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    leaf.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    (tmp_path / "token").write_text(TOKEN)
    path = tmp_path / "t.yaml"
    path.write_text(
        "url: https://h\nhost: model.example\nauth: {bearer: {file: token}}\nverify: ca.pem\n"
        "cert: cert.pem\nkey: key.pem\nheaders: {X-Key: {file: token}}\n"
    )
    target = make_target(target_file=path)
    assert sent(target)["Host"] == "model.example"
    assert sent(target)["Authorization"] == f"Bearer {TOKEN}"
    assert sent(target)["X-Key"] == TOKEN
    for name, value in (("ca", target.verify), ("cert", target.cert), ("key", target.key)):
        assert value == str(tmp_path / f"{name}.pem")  # wherever the command was started
    assert target.transport().address.tls is not None


# Certificates.


def test_certificates_that_cannot_be_used_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "no.pem").write_text("x")
    leaf = trustme.CA().issue_cert("client.example")
    leaf.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    trustme.CA().issue_cert("x").private_key_pem.write_to_path(str(tmp_path / "other.pem"))
    cert, url = tmp_path / "cert.pem", "https://h"
    assert "'cert' is a dependency of 'key'" in refused_file(tmp_path, "key: cert.pem")
    assert "needs a URL that begins with https://" in refused(cert=cert)
    assert "--cacert needs a URL that begins with https://" in refused(cacert=cert)
    assert "cannot read the client cert" in refused(url=url, cert=tmp_path / "missing.pem")
    assert "cannot use the client cert" in refused(url=url, cert=tmp_path / "no.pem")
    assert "cannot use the client cert" in refused(url=url, cert=cert)
    pair = "url: https://h\ncert: cert.pem\nkey: other.pem"
    with pytest.raises(UsageError, match="cannot use"):
        of_file(tmp_path, pair, url=None)
    assert "cannot read the CA file" in refused(url=url, cacert=tmp_path / "missing.pem")
    with pytest.raises(UsageError, match="remove it, or --cacert"):
        make_target(url, insecure=True, cacert=cert)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
    assert "which SSL_CERT_FILE names" in refused(url=url)


def test_nobody_is_asked_for_the_passphrase_of_a_key(tmp_path: Path) -> None:
    leaf = trustme.CA().issue_cert("client.example")
    leaf.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    (tmp_path / "key.pem").write_text(ENCRYPTED_KEY)
    with pytest.raises(UsageError) as error:
        of_file(tmp_path, "cert: cert.pem\nkey: key.pem", url="https://h")
    assert str(error.value).endswith("is encrypted: give one without a passphrase")


# Host and versions.


@pytest.mark.parametrize("headers", [(), ("Host: b.example",)])
def test_host_is_what_a_gateway_chooses_by(headers: tuple[str, ...], tmp_path: Path) -> None:
    text = f"host: {'a' if headers else 'b.example'}"
    target = of_file(tmp_path, text, headers=headers)
    assert [value for name, value in target.address.fields if name == "Host"] == ["b.example"]
    assert target.public_url == "http://h"
    assert "printable ASCII" in refused_file(tmp_path, r'host: "a\r\nX: y"')


@pytest.mark.parametrize("version", ["'1'", "1"])
def test_a_version_in_a_target_file_is_in_every_url_of_the_model(
    version: str, tmp_path: Path, server: ReferenceServer
) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(
        f"url: {server.url}\nmodels:\n  identity/INT32: {{model: identity_int32, "
        f"version: {version}}}\n  identity/FP32: {{model: identity_fp32, version: 77}}\n"
    )
    found = discover(make_target(target_file=path))
    binding = found.present["identity/INT32"]
    assert binding.path == "/v2/models/identity_int32/versions/1"
    assert "identity/FP32" not in found.present
    assert found.absent["identity/FP32"].startswith(
        "no model identity_fp32: GET /v2/models/identity_fp32/versions/77 answered with status 4"
    )


def test_a_port_that_is_closed_is_not_asked_for_its_certificate() -> None:
    assert with_access(f"https://127.0.0.1:{free_port()}").transport().address.tls is not None
