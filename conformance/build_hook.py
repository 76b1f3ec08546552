"""Puts all files of cases/ into a wheel as one JSON file, which takes no time to read. hatchling
calls this when it builds."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import yaml
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_PLACE = "v2_conformance/cases/compiled.json"


class CasesHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the compiled file. An editable installation has none: its YAML files may change."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            with tempfile.NamedTemporaryFile(suffix=".json", delete=False) as file:
                file.write(compiled(Path(self.root) / "cases"))
            build_data["force_include"][file.name] = _PLACE


def compiled(cases: Path) -> bytes:
    """Return the documents of all files in a folder as one JSON object."""
    documents = {
        path.relative_to(cases).as_posix(): yaml.load(path.read_bytes(), yaml.CSafeLoader)
        for path in sorted(cases.rglob("*.yaml"))
    }
    return json.dumps(documents, separators=(",", ":")).encode()
