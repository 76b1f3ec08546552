"""`run --fuzz`: what it says of a failure, and whether that reproduces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.servers import Start
from v2_conformance.cli.main import main
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.suite.causes.causes import COUNTEREXAMPLE


def test_a_server_that_is_wrong_only_once_is_not_said_to_reproduce(
    start: Start, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Once(Behaviour):
        answers = 0

        def infer(self, model: Any, request: Request) -> Response:
            self.answers += 1
            if self.answers == 15:
                return self.error(500, "once")
            return super().infer(model, request)

    url = start(Once).url
    code = main(["run", url, "--fuzz", "30", "--seed", "7", "--report-dir", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    assert code == 1
    assert lines[-1].startswith("run alone, it does not fail the same way: pass")
    assert lines[-2] == f"wrote {tmp_path / COUNTEREXAMPLE}"
