"""Runs that need credentials or another Host: they get in, and no report shows a secret."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from support.commands import Cli
from support.leaks import is_shown
from support.servers import Start
from v2_conformance.cli.main import main
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response

TOKEN = "Zk9-pQ7w_vX2-mN4-t0ken"
PAIR = "alice-of-wonder:l4nd&key!"
SOME = ("--case", "P2/blob-follows-json[INT32]", "--case", "H6/not-a-number[letters]")


class Guarded(Behaviour):
    """Wants a token or a password, and a Host."""

    def handle(self, request: Request) -> Response:
        basic = "Basic " + base64.b64encode(PAIR.encode()).decode()
        if request.values("authorization") not in ([f"Bearer {TOKEN}"], [basic]):
            return self.error(401, f"not {request.values('authorization')}")
        if request.values("host") != ["model.example"]:
            return self.error(404, "no such host")
        return super().handle(request)


@pytest.mark.parametrize(("scheme", "secret"), [("bearer", TOKEN), ("basic", PAIR)])
@pytest.mark.long
def test_credentials_in_a_file_get_in_and_stay_secret(
    scheme: str, secret: str, start: Start, tmp_path: Path, cli: Cli
) -> None:
    file, reports = tmp_path / "secret", tmp_path / "reports"
    file.write_text(f"{secret}\n")
    target = tmp_path / "target.yaml"
    target.write_text(f"url: {start(Guarded).url}\nauth: {{{scheme}: {{file: secret}}}}\n")
    call = ["run", "--target", target, *SOME, "--report-dir", reports]
    assert "--header 'Host: NAME'" in cli(*call, code=3).err
    printed = cli(*call, "--header", "Host: model.example", code=0)
    assert main(["verify", str(reports / "report.json")]) == 0
    for path in reports.iterdir():
        for part in (secret, *secret.split(":")):
            assert is_shown(path.read_bytes(), part.encode()) is None, path
    assert secret not in printed.out + printed.err
