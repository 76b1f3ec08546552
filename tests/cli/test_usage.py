"""Wrong calls: one line on standard error that says what to do, and exit code 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from v2_conformance.cli.main import main


@pytest.mark.parametrize(
    ("call", "line"),
    [
        ("", "missing command: see `v2-conformance --help`"),
        ("rnu", "unknown command 'rnu': did you mean run? (see `v2-conformance --help`)"),
        ("xyz", "unknown command 'xyz': see `v2-conformance --help`"),
        (
            "--versoin",
            "unknown option '--versoin': did you mean --version? (see `v2-conformance --help`)",
        ),
        (
            "run --timout 5",
            "unknown option '--timout': did you mean --timeout? (see `v2-conformance run --help`)",
        ),
        (
            "run --timeou 5",  # no option is known by its beginning
            "unknown option '--timeou': did you mean --timeout? (see `v2-conformance run --help`)",
        ),
        (
            "run -timeout 5",
            "unknown option '-t': did you mean --target, --timeout, --through or --thorough? "
            "(see `v2-conformance run --help`)",
        ),
        ("diff -x", "unknown option '-x': see `v2-conformance diff --help`"),
        ("run --timeout soon", "--timeout: expected a number of seconds, got 'soon'"),
        ("run --wait soon", "--wait: expected a number of seconds, got 'soon'"),
        ("run --wait -1", "--wait: expected at least 0 seconds, got -1"),
        ("run --wait nan", "--wait: expected a number of seconds, got 'nan'"),
        ("run -n two", "--workers: expected a whole number from 1, got 'two'"),
        ("run -n 0", "--workers: expected a whole number from 1, got 0"),
        ("selftest -n -1", "--workers: expected a whole number from 1, got -1"),
        ("run --fuzz 1.5", "--fuzz: expected a whole number from 1, got '1.5'"),
        ("run --fuzz 9 --seed x", "--seed: expected a whole number, got 'x'"),
        ("serve --port -1", "--port: expected a whole number from 0 to 65535, got -1"),
        ("serve --port 65536", "--port: expected a whole number from 0 to 65535, got 65536"),
        ("run --report-dir", "option '--report-dir' requires an argument"),
        ("run --strict=yes", "option '--strict' does not take a value"),
        ("run --report-dir a-file", "--report-dir: directory 'a-file' is a file"),
        ("verify", "missing argument REPORT: see `v2-conformance verify --help`"),
        ("matrix", "missing argument REPORT: see `v2-conformance matrix --help`"),
        ("kit triton", "missing argument DIR: see `v2-conformance kit --help`"),
        (
            "verify one two",
            "got unexpected extra argument (two): see `v2-conformance verify --help`",
        ),
        (
            "list cass",
            "unknown listing 'cass': did you mean cases? (expected one of requirements, cases, "
            "scenarios, faults, client-faults, variants, variations, relations, models, "
            "traceability)",
        ),
        (
            "completion csh",
            "unknown shell 'csh': did you mean zsh? (expected one of bash, fish, zsh)",
        ),
        (
            "kit trtion new",
            "unknown kit 'trtion': did you mean triton? "
            "(the kits are clients, kserve, kubernetes, mlserver, onnx, openvino, triton)",
        ),
        (
            "run --profile rwa",
            "unknown profile 'rwa': did you mean raw? (the profiles are binary, raw, compression, "
            "compression-responses, bf16, client)",
        ),
        (
            "run --fault respnse-header-length-shrt",
            "unknown fault 'respnse-header-length-shrt': did you mean "
            "response-header-length-short, ",
        ),
        (
            "serve --fault zzz",
            "unknown fault 'zzz': `v2-conformance list faults` lists every fault",
        ),
        (
            "run http://h --fault size-wraps-at-32-bits",
            "--fault breaks only the embedded server: remove the URL, or use `serve`",
        ),
        ("run --seed 1", "--seed needs --fuzz: "),
        ("run --fuzz 1 --case H6", "--fuzz generates its own requests: "),
    ],
)
def test_a_wrong_call_is_one_line_that_helps(
    call: str,
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a-file").touch()
    assert main(call.split()) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    (only,) = printed.err.splitlines()
    expected = f"v2-conformance: {line}"
    assert only.startswith(expected) if line.endswith((" ", ",")) else only == expected
    assert [path.name for path in tmp_path.iterdir()] == ["a-file"]


def test_a_pattern_that_matches_nothing_says_what_would(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--case", "h66"]) == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert line == (
        "v2-conformance: the pattern 'h66' matches no case: did you mean H6? (`v2-conformance list "
        "cases` lists every case)"
    )


def test_an_argument_cannot_write_a_second_line_or_command_a_ci_service(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    for call in (["x\n::error::\x1b[2J"], ["run", "--x\n::error::"], ["list", "\n::error::"]):
        assert main(call) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.isprintable()
        assert "::" not in line
