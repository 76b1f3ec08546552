"""Targets: every usable URL and file is understood, every other is one clear line."""

from __future__ import annotations

import base64
import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme

from support.cases import make_case, prepared
from v2_conformance.engine.target import Target, load_target, make_target
from v2_conformance.errors import TargetFileError, UsageError
from v2_conformance.protocol.datatypes import DATATYPES
from v2_conformance.suite.models import contract


def refused(url: str | None = None, **options: Any) -> str:
    with pytest.raises(UsageError) as error:
        make_target(url, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


def load(tmp_path: Path, text: str | bytes) -> Target:
    path = tmp_path / "target.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return load_target(path)


def bad_file(tmp_path: Path, text: str | bytes) -> str:
    with pytest.raises((TargetFileError, UsageError)) as error:
        load(tmp_path, text)
    message = str(error.value)
    assert "\n" not in message
    return message


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
    endpoint = target.transport().endpoint
    assert (endpoint.host, endpoint.port) == (host, port)
    assert (endpoint.tls is not None) == url.lower().startswith("https")
    assert (target.address.host, target.address.prefix) == (header, prefix)
    wire = b"".join(prepared(make_case(), target.address).request.http1)
    assert wire.startswith(f"POST {prefix}/v2/models/identity_int32/infer HTTP/1.1\r\n".encode())
    assert wire.count(b"\r\nHost: " + header.encode() + b"\r\n") == 1


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000",
        "localhost",
        "//h",
        "ftp://h",
        "grpc://h",
        "http://",
        "http://:80",
        "http://[",
        "http://h:0",
        "http://h:99999",
        "http://h:port",
        "http://h/a b",
        " http://h",
        "http://h\r\nX: y",
        "http://h/\u00fc",
        "http://h/\x1b[31m",
    ],
)
def test_what_is_not_a_url_is_refused_in_one_line(url: str) -> None:
    assert "is not a URL like http://localhost:8000" in refused(url)


def test_a_wrong_url_is_shown_without_its_password() -> None:
    assert "hunter2" not in refused("ftp://me:hunter2@h")
    assert "hunter2" not in refused("http://me:hunter2@h:99999")
    assert "hunter2" not in refused("http://h/?token=hunter2")
    assert "hunter2" not in refused("http://h/#hunter2")


def test_no_url_at_all_is_refused() -> None:
    assert "no URL" in refused(None)
    assert "no URL" in refused("")


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
    target = make_target("http://h", headers=given, public=("x-plain",))
    assert {"Bearer abc123", "abc123", "value-of-it"} <= set(target.secrets)
    assert "public-value" not in target.secrets
    assert list(target.secrets) == sorted(target.secrets, key=len, reverse=True)


def test_no_error_message_repeats_what_may_be_a_secret(tmp_path: Path) -> None:
    assert "hunter2" not in refused("http://h", headers=("Authorization Bearer hunter2",))
    assert "hunter2" not in refused("http://h", headers=("X-Key: hunter2\x01",))
    for text in (
        "url: 'ftp://me:hunter2@h'",
        "url: [hunter2]",
        "headers: {X-Key: [hunter2]}",
        'headers: {X-Key: "hunter2\\n"}',
        "headers: [hunter2]",
    ):
        assert "hunter2" not in bad_file(tmp_path, text)


# Headers.


def test_headers_of_the_user_replace_the_suites_own() -> None:
    headers = ("user-agent: mine", "authorization: Bearer t", "HOST: model.example.com", "X-A: 1")
    target = make_target("http://me:pw@gateway:80", headers=headers)
    assert target.address.host == "model.example.com"
    assert target.public_url == "http://gateway:80"
    assert target.transport().endpoint.host == "gateway"
    wire = b"".join(prepared(make_case(), target.address).request.http1).lower()
    for name in (b"host", b"user-agent", b"authorization", b"accept", b"x-a"):
        assert wire.count(b"\r\n" + name + b": ") == 1
    assert b"authorization: bearer t\r\n" in wire


@pytest.mark.parametrize(
    "header",
    ["no colon", ": value", "", "Na me: v", "A: b\r\nC: d", "A: b\nc", "A: \u20ac", "\u00e9: b",
     "A(): b"],
)  # fmt: skip
def test_a_header_that_cannot_be_sent_is_refused(header: str) -> None:
    assert "'Name: value'" in refused("http://h", headers=(header,))


def test_a_header_may_have_colons_and_no_value() -> None:
    target = make_target("http://h", headers=("A: b:c", "Empty:"))
    assert target.headers == (("A", "b:c"), ("Empty", ""))


# Options and files.


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), 1e12])
def test_a_time_out_that_cannot_be_kept_is_refused(timeout: float) -> None:
    assert "time-out" in refused("http://h", timeout=timeout)


def test_a_time_out_bounds_the_connection_too() -> None:
    limits = make_target("http://h", timeout=0.5).limits
    assert (limits.connect_s, limits.exchange_s) == (0.5, 0.5)
    limits = make_target("http://h", timeout=300).limits
    assert (limits.connect_s, limits.exchange_s) == (10.0, 300)


def test_an_unknown_profile_is_refused_with_a_hint() -> None:
    assert "did you mean raw" in refused("http://h", profiles=("rav",))
    assert make_target("http://h", profiles=("raw", "raw")).profiles == ("binary", "raw")


def test_a_file_says_all_that_a_target_has(tmp_path: Path) -> None:
    target = load(
        tmp_path,
        """
        url: https://h:1/x
        headers: {X-A: b}
        verify: false
        timeout: 2.5
        profiles: [raw]
        unsupported: [BF16, FP16]
        models:
          identity/INT32: my model/1
          mixed: {model: m, inputs: [a, b, c], outputs: [d, e, f]}
        """,
    )
    assert target.url == "https://h:1/x"
    assert target.headers == (("X-A", "b"),)
    assert target.verify is False
    assert target.limits.exchange_s == 2.5
    assert target.profiles == ("binary", "raw")
    assert target.unsupported == {"BF16", "FP16"}
    assert target.binding("identity/INT32").model == "my%20model%2F1"
    assert target.binding("identity/INT32").inputs == ("INPUT0",)
    assert target.binding("mixed").outputs == ("d", "e", "f")
    assert target.binding("identity/FP32").model == contract()["identity/FP32"].model


def test_the_command_line_wins_over_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(
        '{"url": "http://file", "timeout": 9, "headers": {"A": "1"}, "profiles": ["raw"]}'
    )
    target = make_target("http://given", file=path, timeout=1, headers=("B: 2",), insecure=True)
    assert (target.url, target.limits.exchange_s, target.verify) == ("http://given", 1, False)
    assert target.headers == (("A", "1"), ("B", "2"))
    assert target.profiles == ("binary", "raw")
    assert make_target(file=path).url == "http://file"


@pytest.mark.parametrize("text", ["", "# nothing\n", "{}"])
def test_an_empty_file_is_a_target_without_a_url(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(text)
    assert "no URL" in refused(None, file=path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [b", ":1: not YAML"),
        ("url: http://h\n\tx: 1", ":2: not YAML"),
        (b"\xff\xfe\x00", "not YAML"),
        ("timeout: 2024-13-45", ":1: timeout: "),
        ("[" * 700, ":1: it is nested more than 64 levels deep"),
        ("- a", "the file: "),
        ("just text", "the file: "),
        ("nope: 1", "there is no member 'nope'"),
        ("1: 2", "there is no member '1'"),
        ("url: h:8000", "url: "),
        ("timeout: 0", "timeout: "),
        ("timeout: .nan", "timeout: "),
        ("timeout: .inf", "timeout: "),
        ("timeout: fast", "timeout: "),
        ("timeout: true", "timeout: "),
        ("profiles: raw", "profiles: "),
        ("unsupported: [FP99]", "FP99"),
        ("headers: {A: 5}", "headers.A: "),
        ("headers: {'': x}", "headers: "),
        ('headers: {A: "b\\nC: d"}', "headers: "),
        ("headers: {A B: x}", "headers: "),
        ("models: {nope: x}", "models.nope: unknown role: "),
        ("models: {mixed: {inputs: [a]}}", "models.mixed: "),
        (
            "models: {mixed: {model: m, inputs: [a]}}",
            "models.mixed.inputs: expected 3 names, got 1",
        ),
        ("models: {mixed: {model: m, x: 1}}", "models.mixed: "),
        ("models: {mixed: ''}", "models.mixed: "),
    ],
)
def test_a_wrong_file_is_one_line_that_names_the_member(
    tmp_path: Path, text: str | bytes, words: str
) -> None:
    assert words in bad_file(tmp_path, text)


def test_a_mistake_has_its_line_and_a_role_a_suggestion(tmp_path: Path) -> None:
    text = "url: http://h\nmodels:\n  mixed: m\n  identity/INT23: x\n"
    message = bad_file(tmp_path, text)
    assert ":4: models.identity/INT23: unknown role: did you mean identity/INT32" in message


def test_no_value_of_a_private_member_is_quoted(tmp_path: Path) -> None:
    for text in ("headers: {Authorization: [hush-hush]}", "url: [http://u:hush-hush@h]"):
        assert "hush" not in bad_file(tmp_path, text)


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.yaml", tmp_path):
        assert f"cannot read {path}: " in refused(file=path)


def test_a_ca_file_that_is_missing_or_no_ca_file_is_refused_before_anything_runs(
    tmp_path: Path,
) -> None:
    path = tmp_path / "t.yaml"
    (tmp_path / "not-a-ca.pem").write_text("x")
    for name in ("missing.pem", "not-a-ca.pem"):
        path.write_text(f"url: https://h\nverify: {tmp_path / name}\n")
        assert "cannot read the CA file" in refused(file=path)


def test_tls_checks_the_certificate_unless_told_not_to(tmp_path: Path) -> None:
    context = make_target("https://h").transport().endpoint.tls
    assert context is not None
    assert (context.check_hostname, context.verify_mode) == (True, ssl.CERT_REQUIRED)
    context = make_target("https://h", insecure=True).transport().endpoint.tls
    assert context is not None
    assert (context.check_hostname, context.verify_mode) == (False, ssl.CERT_NONE)
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    context = Target("https://h", verify=str(tmp_path / "ca.pem")).transport().endpoint.tls
    assert context is not None
    assert context.cert_store_stats()["x509_ca"] >= 1


@pytest.mark.parametrize(
    ("left_out", "words"),
    [
        ("INT32", "INT32 cannot be left out"),
        ("FP16, INT32, BYTES", "INT32 cannot be left out"),
        (", ".join(DATATYPES), "INT32 cannot be left out"),
        ("binary", "the profile binary cannot be left out"),
    ],
)
def test_what_most_cases_need_cannot_be_declared_unsupported(
    tmp_path: Path, left_out: str, words: str
) -> None:
    path = tmp_path / "target.yaml"
    path.write_text(f"url: http://h\nunsupported: [{left_out}]\n")
    with pytest.raises(TargetFileError, match=f"target.yaml:2: unsupported: {words}"):
        load_target(path)


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
        make_target(file=path)
