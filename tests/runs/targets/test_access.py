"""How to get in: credentials from the environment or a file, certificates and Host."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import trustme

from v2_conformance.errors import UsageError
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
        (
            "",
            {"url": "https://h", "insecure": True, "cacert": Path("ca.pem")},
            "remove it, or --cacert",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_line(
    text: str, options: dict[str, Any], words: str, folder: Path
) -> None:
    assert words in refused(folder, text, **options)


def test_a_file_of_authorities_in_the_environment_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "missing.pem"))
    assert "which SSL_CERT_FILE names" in refused(folder, url="https://h")


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
    assert target.transport().address.tls is not None


@pytest.mark.parametrize("headers", [(), ("Host: b.example",)])
def test_host_is_what_a_gateway_chooses_by(headers: tuple[str, ...], folder: Path) -> None:
    target = of_file(folder, f"host: {'a' if headers else 'b.example'}", headers=headers)
    assert [value for name, value in target.address.fields if name == "Host"] == ["b.example"]
    assert target.public_url == "http://h"
