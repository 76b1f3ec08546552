"""Whole runs with secrets: no file, line or replay shows one, and `verify` still holds."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.commands import Cli
from support.leaks import DELIVERIES, FORMS, delivered, is_shown
from support.servers import Start
from v2_conformance.cli.main import main
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.report.files import load_report

TOKEN = "Zk9-pQ7w_vX2/mN4~t0ken"
REJECTED = ["--case", "H6/not-a-number[letters]", "--case", "P2/blob-follows-json[INT32]"]


class Echo(Behaviour):
    """Every error repeats a header field of the request, as a subclass says."""

    field = "authorization"

    def handle(self, request: Request) -> Response:
        self.sent = (request.values(self.field) or [""])[0]
        return super().handle(request)

    def error(self, status: int, message: str, *more: Any) -> Response:
        return super().error(status, f"{message}: {self.told(self.sent)}", *more)

    def told(self, sent: str) -> str:
        return sent


def everything(folder: Path, printed: str) -> dict[str, bytes]:
    """All that a run leaves: its files, what it printed, and each recorded message once."""
    found = {data: name for name, data in _everything(folder, printed)}
    return {name: data for data, name in found.items()}


def _everything(folder: Path, printed: str) -> Iterator[tuple[str, bytes]]:
    yield "printed", printed.encode()
    for path in folder.rglob("*"):
        if path.is_file():
            yield path.name, path.read_bytes()
    for case in load_report(folder / "report.json").cases:
        for exchange in case.exchanges:
            yield f"request {len(exchange.request)} {case.id}", bytes(exchange.request)
            yield f"response {exchange.purpose} {case.id}", bytes(exchange.received)


def run(cli: Cli, folder: Path, *arguments: str) -> tuple[int, str]:
    """The exit code of a run, and what it printed, with that of `show` for a rejected case."""
    ran = cli("run", *arguments, "--report-dir", folder)
    case = "H6/not-a-number[letters]"
    shown = cli("show", folder / "report.json", case, "--full", code=0)
    return ran.code, ran.out + ran.err + shown.out + shown.err


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
    _, printed = run(cli, tmp_path, start(Tells).url, "--header", header, *REJECTED)
    exchanges = 0
    for name, data in everything(tmp_path, printed).items():
        assert is_shown(data, TOKEN.encode()) is None, name
        exchanges += name.startswith("response")
    assert exchanges >= 2
    verified = cli("verify", tmp_path / "report.json")
    assert verified.code in (0, 2)
    text = verified.shown
    assert "DIFFERS" not in text
    assert "EDITED" not in text


@pytest.mark.parametrize("how", ["with its length", "in chunks of five", "in gzip", "in deflate"])
def test_an_error_that_repeats_a_token_is_judged_and_verified_all_the_same(
    how: str, start: Start, tmp_path: Path, cli: Cli
) -> None:
    class Tells(Echo):
        def serialize(self, response: Response, **how_to: Any) -> Any:
            if response.status < 400:
                return super().serialize(response, **how_to)
            body = json.dumps({"error": f"no access with {self.sent}"}).encode()
            return [delivered(how, body).replace(b"401 Unauthorized", b"400 Bad Request")]

    header = f"Authorization: Bearer {TOKEN}"
    run(cli, tmp_path, start(Tells).url, "--header", header, *REJECTED)
    report = load_report(tmp_path / "report.json")
    assert {case.outcome.value for case in report.cases} == {"pass"}
    # A body that was withheld cannot be judged again.
    code = 0 if how == "with its length" else 2
    cli("verify", tmp_path / "report.json", code=code)


QUOTED = 'Token token="Zk9-pQ7w_vX2", user="alice-of-wonder", nonce="n0nce-n0nce"'
SIGNED = (
    "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
    "SignedHeaders=host;range, Signature=fe5f80f77d5fa3beca038a248ff027d0445342fe2855ddc963176630"
)
JWT = "eyJhbGciOiJIUzI1NiJ9xyz.eyJzdWIiOiIxMjM0NTY3ODkwIn0.SflKxwRJSMeKKF2QT4fwpMeJf36P"
BASIC = base64.b64encode(b"alice-of-wonder:l4nd&key!").decode()


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
    code, printed = run(cli, tmp_path, start(Tells).url, *header, *REJECTED)
    assert code == 0
    for name, data in everything(tmp_path, printed).items():
        assert is_shown(data, *map(str.encode, secrets)) is None, name
    assert main(["verify", str(tmp_path / "report.json")]) == 0


def test_user_and_password_of_a_url_are_hidden_in_errors_too(
    start: Start, tmp_path: Path, cli: Cli
) -> None:
    class Redirects(Behaviour):
        def route(self, request: Request) -> Response:
            pair = base64.b64decode(request.values("authorization")[0].partition(" ")[2])
            return Response(302, (("Location", f"http://{pair.decode()}@elsewhere/v2"),))

    url = start(Redirects).url
    for address in (url.replace("//", "//alice-of-w:w0nder%2Bland@"), "http://al:w0nder+land@h:x/"):
        printed = cli("run", address, "--report-dir", tmp_path)
        assert printed.code in (2, 3)
        assert printed.err.count("\n") == 1
        for secret in (b"w0nder+land", b"w0nder%2Bland", b"alice-of-w"):
            assert is_shown((printed.out + printed.err).encode(), secret) is None


# Other secrets, public values.


@pytest.mark.parametrize("way", ["environment", "file", "file, environment"])
def test_more_secrets_are_hidden(
    way: str, start: Start, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Tells(Echo):
        def told(self, sent: str) -> str:
            return "connected as db-user with db-p4ssword"

    monkeypatch.setenv("DB_PASSWORD", "db-p4ssword")
    file = tmp_path / "target.yaml"
    secret = "{env: DB_PASSWORD}" if way.endswith("environment") else "db-p4ssword"
    file.write_text(f"url: {start(Tells).url}\nsecrets: [{secret}]\n")
    given = [start(Tells).url, "--secret-env", "DB_PASSWORD"]
    arguments = given if way == "environment" else ["--target", str(file)]
    folder = tmp_path / "out"
    _, printed = run(cli, folder, *arguments, *REJECTED)
    for name, data in everything(folder, printed).items():
        assert is_shown(data, b"db-p4ssword") is None, name
    assert any(b"as db-user with ****" in data for _, data in everything(folder, printed).items())
    cli("verify", folder / "report.json", code=0)


def test_a_header_from_the_environment_is_sent_and_hidden(
    start: Start, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", f"Bearer {TOKEN}")
    file = tmp_path / "target.yaml"
    file.write_text(f"url: {start(Echo).url}\nheaders: {{Authorization: {{env: MY_TOKEN}}}}\n")
    folder = tmp_path / "out"
    _, printed = run(cli, folder, "--target", str(file), *REJECTED)
    assert any(b": ****" in data for _, data in everything(folder, printed).items())
    assert not any(
        is_shown(data, TOKEN.encode()) for _, data in everything(folder, printed).items()
    )


def test_a_public_value_is_shown(start: Start, tmp_path: Path, cli: Cli) -> None:
    class Tells(Echo):
        field = "x-region"

    url, file = start(Tells).url, tmp_path / "target.yaml"
    file.write_text(f"url: {url}\nheaders: {{X-Region: north-by-northwest}}\npublic: [x-region]\n")
    folder = tmp_path / "out"
    _, printed = run(cli, folder, "--target", str(file), *REJECTED)
    seen = list(everything(folder, printed).items())
    assert any(b"X-Region: north-by-northwest" in data for _, data in seen)
    assert any(b": north-by-northwest" in data for name, data in seen if "response" in name)
    assert "masked" not in cli("verify", folder / "report.json", code=0).out


@pytest.mark.parametrize("value", ["1", "true", "application/json", "identity_int32"])
def test_a_short_or_common_value_leaves_the_report_readable_and_is_warned_of(
    value: str, start: Start, tmp_path: Path, cli: Cli
) -> None:
    class Tells(Echo):
        def told(self, sent: str) -> str:
            return "no"

    header = ["--header", f"X-Custom: {value}"]
    _, printed = run(cli, tmp_path, start(Tells).url, *header, *REJECTED)
    words = " ".join(printed.split())
    assert "warning: the value of X-Custom is too short or too common" in words
    assert "name it in `public` of a target file" in words
    seen = list(everything(tmp_path, printed).items())
    assert any(b"Content-Type: application/json" in data for name, data in seen if "resp" in name)
    assert not any(f"X-Custom: {value}".encode() in data for _, data in seen)
    assert main(["verify", str(tmp_path / "report.json")]) == 0
