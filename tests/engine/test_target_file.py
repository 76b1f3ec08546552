"""Target files: every usable one is understood, every other is one clear line."""

from __future__ import annotations

from pathlib import Path

import pytest

from v2_conformance.engine.target import Target
from v2_conformance.engine.target_file import load_target
from v2_conformance.errors import TargetFileError, UsageError
from v2_conformance.protocol.datatypes import DATATYPES
from v2_conformance.suite.models import contract


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


def test_no_error_message_repeats_what_may_be_a_secret(tmp_path: Path) -> None:
    for text in (
        "url: 'ftp://me:hunter2@h'",
        "url: [hunter2]",
        "headers: {X-Key: [hunter2]}",
        'headers: {X-Key: "hunter2\\n"}',
        "headers: [hunter2]",
    ):
        assert "hunter2" not in bad_file(tmp_path, text)
