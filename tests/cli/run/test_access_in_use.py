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
from v2_conformance.reference.server import ReferenceServer

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


def test_wrong_credentials_are_said_to_be_wrong_and_not_shown(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setenv("MY_TOKEN", "wr0ng-token-of-mine")
    call = ["run", start(Guarded).url, "--bearer-env", "MY_TOKEN", "--report-dir", str(tmp_path)]
    line = cli(*call, code=3).line
    assert "status 401: it did not accept the credentials; give others" in line
    assert "wr0ng-token" not in line


def test_refused_mapping_names_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "target.yaml"
    with ReferenceServer() as server:
        file.write_text(
            f"url: {server.url}\nmodels: {{identity/FP32: all_types, identity/INT8: my model}}\n"
        )
        main(["run", "--target", str(file), *SOME, "--report-dir", str(tmp_path)])
    printed = capsys.readouterr().err
    assert (
        "no model for identity/FP32: INPUT0 of all_types: expected datatype FP32, got 'BOOL'"
    ) in printed
    assert "no model for identity/INT8: no model my model: GET /v2/models/my%20model" in printed
