"""No right model gets a wrong verdict, whatever it computes: each row is a server of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.right_models import RIGHT_MODELS, serving
from v2_conformance.certifying.relations import Asked, start_relations
from v2_conformance.protocol.names import SERVER_PROFILES
from v2_conformance.reference.server import ReferenceServer
from v2_conformance.report.files import REPORT
from v2_conformance.runs.targets.make import make_target
from v2_conformance.suite.library import every_case
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.verifying.verification import verify


@pytest.mark.parametrize("name", RIGHT_MODELS)
def test_a_right_model_fails_nothing(tmp_path: Path, name: str) -> None:
    model = RIGHT_MODELS[name]
    asked = Asked([name], model.choice)
    with ReferenceServer(serving(name), profiles=SERVER_PROFILES) as server:
        target = make_target(server.url, profiles=SERVER_PROFILES)
        started = start_relations(target, asked, tmp_path, patterns=model.patterns)
        report = started.finish()
    good = (Outcome.PASS, Outcome.UNSUPPORTED, Outcome.DISPUTED)
    assert [(case.id, case.message) for case in report.cases if case.outcome not in good] == []
    assert report.verdict.warnings == ()
    assert report.verdict.consistent or model.patterns
    assert verify(tmp_path / REPORT, every_case()).exit_code == 0
