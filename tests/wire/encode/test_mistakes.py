"""What an author gets wrong is an error of the case, which it names; a bug of the suite is not."""

from __future__ import annotations

from typing import Any

import pytest

from support.cases import binding, make_case, prepared
from v2_conformance.protocol.datatypes import Buffer
from v2_conformance.runs.discovery import Server
from v2_conformance.runs.scheduling.engine import Engine
from v2_conformance.runs.targets.target import Target
from v2_conformance.suite.outcomes import Outcome
from v2_conformance.wire.encode import inputs as encode_inputs
from v2_conformance.wire.encode import requests as encode


def broken(*_: object, **__: object) -> Buffer:
    raise KeyError("INT32")


@pytest.mark.parametrize("module", [encode, encode_inputs])
def test_bug_is_not_the_authors_mistake(monkeypatch: pytest.MonkeyPatch, module: Any) -> None:
    name = "compose" if module is encode else "value_pattern"
    monkeypatch.setattr(module, name, broken)
    case = make_case(inputs=[{"shape": [3]}])
    with pytest.raises(KeyError):
        prepared(case)
    server = Server("s", "1", (), {case.model: binding(case.model)})
    result = Engine(Target("http://nowhere.invalid"), server).run(case)
    assert result.outcome == Outcome.ERROR
    assert result.message.startswith("error in the suite: KeyError('INT32') at test_mistakes.py:")
