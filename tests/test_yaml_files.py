"""YAML files as people write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from v2_conformance.errors import CaseFileError
from v2_conformance.yaml_files import read_yaml


@pytest.mark.parametrize(
    ("text", "document"),
    [
        ("\ufeffa: 1\r\nb: [x]\r\n", {"a": 1, "b": ["x"]}),
        ("a: &x {b: 1}\nc: {<<: *x, d: 2}\n", {"a": {"b": 1}, "c": {"b": 1, "d": 2}}),
        ("- &a [x]\n- *a\n- *a\n", [["x"], ["x"], ["x"]]),
        ("a: 010\nb: 1:30\nc: 0x1f\nd: -7\ne: 1.5e+3\n", {"a": "010", "b": "1:30", "c": "0x1f",
         "d": -7, "e": 1500.0}),
        ("a: [no, True, true, .nan, 1_000]", {"a": ["no", "True", True, ".nan", "1_000"]}),
        ("%YAML 1.1\n---\na: 2024-01-02\n", {"a": "2024-01-02"}),
        ('{"a": [[[[1]]]], "b": null, "c": true}', {"a": [[[[1]]]], "b": None, "c": True}),
        ("", None),
    ],
)  # fmt: skip
def test_what_people_write_is_read(text: str, document: object, tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(text, newline="")
    assert read_yaml(path, CaseFileError).document == document
