"""Whole runs with secrets: no file, line or replay shows one, and `verify` still holds."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from support.commands import Cli
from support.leaks import DELIVERIES, FORMS, delivered, is_shown
from support.servers import Start
from v2_conformance.reference.behavior import Behavior
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.files import load_report

TOKEN = "Zk9-pQ7w_vX2/mN4~t0ken"
PAIR = "alice-of-wonder:l4nd&key!"
REJECTED = ["--case", "H6/not-a-number[letters]", "--case", "P2/blob-follows-json[INT32]"]


class Echo(Behavior):
    """Every error repeats a header field of the request, as a subclass says."""

    field = "authorization"

    def handle(self, request: Request) -> Response:
        self.sent = (request.values(self.field) or [""])[0]
        return super().handle(request)

    def error(self, status: int, message: str, *more: Any) -> Response:
        return super().error(status, f"{message}: {self.told(self.sent)}", *more)

    def told(self, sent: str) -> str:
        return sent


def everything(cli: Cli, folder: Path, *arguments: str) -> dict[str, bytes]:
    """All that a run leaves: its files, what it and `show` print, and each recorded message."""
    ran = cli("run", *arguments, "--report-dir", folder)
    assert ran.code in (0, 1)
    shown = cli("show", folder / "report.json", "H6/not-a-number[letters]", "--full", code=0)
    found = {"printed": (ran.out + ran.err + shown.out + shown.err).encode()}
    found |= {path.name: path.read_bytes() for path in folder.iterdir()}
    for case in load_report(folder / "report.json").cases:
        for number, exchange in enumerate(case.exchanges):
            found[f"request {number} {case.id}"] = bytes(exchange.request)
            found[f"response {number} {case.id}"] = bytes(exchange.received)
    return found


@pytest.mark.parametrize("how", DELIVERIES)
def test_no_form_of_a_token_is_in_anything_that_a_run_leaves(
    how: str, start: Start, tmp_path: Path, cli: Cli
) -> None:
    class Tells(Echo):
        def serialize(self, response: Response, **how_to: Any) -> Any:
            if response.status < 400:
                return super().serialize(response, **how_to)
            token = self.sent.partition(" ")[2].encode()
            forms = b"\n".join(b"%b: %b" % (n.encode(), form(token)) for n, form in FORMS.items())
            return [delivered(how, b'{"error": "' + token + b'", "forms": ' + forms + b"}")]

        def keeps_open(self, request: Request, response: Response) -> bool:
            return response.status < 400

    header = f"Authorization: Bearer {TOKEN}"
    left = everything(cli, tmp_path, start(Tells).url, "--header", header, *REJECTED)
    assert sum(name.startswith("response") for name in left) >= 2
    for name, data in left.items():
        assert is_shown(data, TOKEN.encode()) is None, name
    verified = cli("verify", tmp_path / "report.json")
    assert verified.code in (0, 2)  # a body that was withheld cannot be judged again
    assert "DIFFERS" not in verified.shown
    assert "EDITED" not in verified.shown


QUOTED = 'Token token="Zk9-pQ7w_vX2", user="alice-of-wonder", nonce="n0nce-n0nce"'
SIGNED = (
    "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
    "SignedHeaders=host;range, Signature=fe5f80f77d5fa3beca038a248ff027d0445342fe2855ddc963176630"
)
JWT = "eyJhbGciOiJIUzI1NiJ9xyz.eyJzdWIiOiIxMjM0NTY3ODkwIn0.SflKxwRJSMeKKF2QT4fwpMeJf36P"
BASIC = base64.b64encode(PAIR.encode()).decode()


@pytest.mark.parametrize(
    ("field", "value", "secrets"),
    [
        ("Authorization", QUOTED, ["Zk9-pQ7w_vX2", "alice-of-wonder", "n0nce-n0nce"]),
        ("Authorization", SIGNED, ["AKIAIOSFODNN7EXAMPLE", SIGNED.rpartition("=")[2]]),
        ("Authorization", f"Bearer {JWT}", JWT.split(".")),
        ("Authorization", f"Basic {BASIC}", [BASIC, "alice-of-wonder", "l4nd&key!"]),
        ("X-Tenant-Jwt", JWT, JWT.split(".")),
        ("X-Custom", "open-Sesame", ["open-Sesame"]),
        ("Cookie", "sid=9f8e7d6c5b4a3210; theme=d4rk-deep", ["9f8e7d6c5b4a3210", "d4rk-deep"]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("telling", ["whole", "parsed", "repr", "upper"])
def test_every_part_of_a_structured_value_is_hidden(
    field: str, value: str, secrets: list[str], telling: str, start: Start, tmp_path: Path, cli: Cli
) -> None:
    class Tells(Echo):
        def told(self, sent: str) -> str:
            if telling == "parsed":
                pairs = [base64.b64decode(BASIC).decode()] if BASIC in sent else []
                return " and ".join([*reversed(secrets), *pairs]) if sent else ""
            return {"whole": sent, "repr": repr({"value": sent}), "upper": sent.upper()}[telling]

    Tells.field = field.lower()
    header = ["--header", f"{field}: {value}"]
    for name, data in everything(cli, tmp_path, start(Tells).url, *header, *REJECTED).items():
        assert is_shown(data, *map(str.encode, secrets)) is None, name
    cli("verify", tmp_path / "report.json", code=0)


@pytest.mark.parametrize("way", ["environment", "file", "file, environment"])
def test_more_secrets_are_hidden(
    way: str, start: Start, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Tells(Echo):
        def told(self, sent: str) -> str:
            return f"connected as db-user with db-p4ssword for {sent}"

    monkeypatch.setenv("DB_PASSWORD", "db-p4ssword")
    monkeypatch.setenv("MY_TOKEN", f"Bearer {TOKEN}")
    file, url = tmp_path / "target.yaml", start(Tells).url
    secret = "{env: DB_PASSWORD}" if way.endswith("environment") else "db-p4ssword"
    text = f"url: {url}\nsecrets: [{secret}]\nheaders: {{Authorization: {{env: MY_TOKEN}}}}\n"
    file.write_text(text)
    given = [url, "--secret-env", "DB_PASSWORD"]
    arguments = given if way == "environment" else ["--target", str(file)]
    left = everything(cli, tmp_path / "out", *arguments, *REJECTED)
    for name, data in left.items():
        assert is_shown(data, b"db-p4ssword", TOKEN.encode()) is None, name
    assert any(b"as db-user with ****" in data for data in left.values())
    cli("verify", tmp_path / "out" / "report.json", code=0)


def test_a_public_value_is_shown(start: Start, tmp_path: Path, cli: Cli) -> None:
    class Tells(Echo):
        field = "x-region"

    url, file = start(Tells).url, tmp_path / "target.yaml"
    file.write_text(f"url: {url}\nheaders: {{X-Region: north-by-northwest}}\npublic: [x-region]\n")
    left = everything(cli, tmp_path / "out", "--target", str(file), *REJECTED)
    assert any(b"X-Region: north-by-northwest" in data for data in left.values())
    assert any(b": north-by-northwest" in left[name] for name in left if "response" in name)
    assert "masked" not in cli("verify", tmp_path / "out" / "report.json", code=0).out


@pytest.mark.parametrize("value", ["1", "true", "application/json", "identity_int32"])
def test_a_short_or_common_value_leaves_the_report_readable_and_is_warned_of(
    value: str, server: ReferenceServer, tmp_path: Path, cli: Cli
) -> None:
    left = everything(cli, tmp_path, server.url, "--header", f"X-Custom: {value}", *REJECTED)
    words = " ".join(left["printed"].decode().split())
    assert "warning: the value of X-Custom is too short or too common" in words
    assert "name it in `public` of a target file" in words
    json = b"Content-Type: application/json"
    assert any(json in left[name] for name in left if "response" in name)
    assert not any(f"X-Custom: {value}".encode() in data for data in left.values())
    cli("verify", tmp_path / "report.json", code=0)
