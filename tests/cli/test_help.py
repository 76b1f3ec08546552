"""The help of every command: complete, in sentences, as wide as the terminal, and quick."""

from __future__ import annotations

import shlex
import subprocess
import sys

import click
import pytest

from support.commands import Cli
from v2_conformance.cli.completion import SHELLS
from v2_conformance.cli.main import main, program
from v2_conformance.cli.suite.listing import LISTINGS
from v2_conformance.kits import KITS
from v2_conformance.protocol.names import PROFILES
from v2_conformance.suite.library import every_case
from v2_conformance.wire.transcript import Limits

# Other programs rely on these names, and people on these defaults.
OPTIONS: dict[str, dict[str, str]] = {
    "run": {
        "--target": "",
        "--profile": "",
        "--header": "",
        "--public": "",
        "--secret": "",
        "--secret-env": "",
        "--max-time": "a tenth of --timeout for each case, and twenty times --timeout; at least 10 "
        "minutes",
        "--timeout": f"{Limits().exchange_s:.0f}",
        "--wait-ready": "30, but a server that is not there is not waited for",
        "--binding": "",
        "--start": "",
        "--insecure": "",
        "--through": "",
        "--bearer-env": "",
        "--bearer-file": "",
        "--basic-env": "",
        "--basic-file": "",
        "--host-header": "",
        "--cacert": "those of the system, or of SSL_CERT_FILE",
        "--cert": "",
        "--key": "",
        "--rate": "",
        "--http2": "",
        "--model": "",
        "--shape": "3 for each variable dimension",
        "--range": "floats from 0 to 1, integers from 0 to 9",
        "--input": "",
        "--rtol": "0",
        "--atol": "0",
        "--case": "",
        "--large": "",
        "--huge": "",
        "--thorough": "",
        "--variation": "",
        "--shard": "",
        "--cases": "",
        "-n, --workers": "one for each 10 ms that the server is away, up to 8",
        "--restart-command": "",
        "--wait": "0",
        "--soak": "",
        "--pid": "",
        "--report-dir": "reports",
        "--expect": "",
        "--sign": "",
        "--strict": "",
        "--junit-xml": "",
        "--ctrf": "",
        "--sarif": "",
        "--fuzz": "",
        "--seed": "a random one",
        "--fault": "",
    },
    "client": {
        "--scenario": "",
        "--profile": "",
        "--scenarios": "",
        "--timeout": "10",
        "--port": "0",
        "--secret": "",
        "--secret-env": "",
        "--report-dir": "reports",
        "--expect": "",
        "--sign": "",
        "--strict": "",
    },
    "target": {},
    "target init": {
        "--bearer-env": "",
        "--bearer-file": "",
        "--basic-env": "",
        "--basic-file": "",
        "--host-header": "",
        "--cacert": "those of the system, or of SSL_CERT_FILE",
        "--cert": "",
        "--key": "",
        "--rate": "",
        "--http2": "",
        "--model": "",
        "--output": "target.yaml",
        "--timeout": "",
        "--insecure": "",
    },
    "serve": {"--port": "8000", "--fault": "", "--variant": ""},
    "list": {},
    "kit": {"--image": "", "--server-image": ""},
    "report": {},
    "merge": {"--report-dir": "reports", "--expect": "", "--sign": "", "--strict": ""},
    "diff": {"--markdown": "", "--strict": "", "--exit-zero": ""},
    "gateway": {"--output": ""},
    "expect": {"--write": "", "--strict": ""},
    "show": {"--full": "", "--replay": ""},
    "replay": {
        "--case": "",
        "--target": "",
        "--header": "",
        "--timeout": "",
        "--wait-ready": "",
        "--start": "",
        "--insecure": "",
        "-n, --workers": "1",
        "--restart-command": "",
        "--wait": "0",
        "--bearer-env": "",
        "--bearer-file": "",
        "--basic-env": "",
        "--basic-file": "",
        "--host-header": "",
        "--cacert": "those of the system, or of SSL_CERT_FILE",
        "--cert": "",
        "--key": "",
        "--rate": "",
        "--http2": "",
    },
    "matrix": {"--output": "matrix.html", "--link-base": "relative links"},
    "matrix run": {"--report-dir": "reports", "--jobs": "4"},
    "badge": {},
    "verify": {"--allowed-signers": ""},
    "sign": {},
    "publish": {"--base-url": "", "--allowed-signers": "", "--newest": "", "--outdated": ""},
    "selftest": {"-n, --workers": "one for each core", "--full": "", "--any-model": ""},
    "completion": {},
}
EXIT_CODES = {
    "": "01234",
    "run": "01234",
    "replay": "01234",
    "client": "01234",
    "target init": "023",
    "matrix run": "01234",
    "serve": "023",
    "diff": "0123",
    "gateway": "0123",
    "expect": "01234",
    "merge": "01234",
    "verify": "012",
    "sign": "02",
    "publish": "0123",
    "selftest": "0123",
}


@pytest.fixture(params=OPTIONS)
def name(request: pytest.FixtureRequest) -> str:
    """The name of each command."""
    return str(request.param)


@pytest.fixture(params=["80", "40"])
def columns(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The width of the terminal."""
    monkeypatch.setenv("COLUMNS", request.param)
    return int(request.param)


def help_of(capsys: pytest.CaptureFixture[str], *command: str) -> list[str]:
    assert main([*command, "--help"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out.splitlines()


def command(name: str) -> click.Command:
    """The command with this name, which may be one of another command."""
    first, _, second = name.partition(" ")
    found = program.commands[first]
    if not second:
        return found
    if isinstance(found, click.Group):
        return found.commands[second]
    return found.make_context(first, [second], resilient_parsing=True).command


def declared(name: str) -> list[click.Parameter]:
    return list(command(name).params)


def spelled(option: click.Parameter) -> str:
    return ", ".join(option.opts)


def test_every_command_is_there_with_its_first_line(
    columns: int, capsys: pytest.CaptureFixture[str]
) -> None:
    text = " ".join(" ".join(help_of(capsys)).split())
    assert set(program.commands) == {name for name in OPTIONS if " " not in name}
    for name, found in program.commands.items():
        first = (found.help or "").splitlines()[0]
        assert first.endswith(".")
        assert f"{name} {first}" in text


def test_every_option_is_there_with_a_sentence_and_its_default(
    name: str, columns: int, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = help_of(capsys, *name.split())
    text = "".join("".join(lines).split())  # a line may end after any hyphen
    options = {spelled(p): p for p in declared(name) if isinstance(p, click.Option)}
    assert options.keys() == OPTIONS[name].keys()
    for option, param in options.items():
        assert any(line.startswith(f"  {option}") for line in lines), option
        sentence = " ".join((param.help or "").partition("  [")[0].split())
        assert sentence[:1].isupper(), option
        assert sentence.endswith("."), option
        default = OPTIONS[name][option]
        shown = f"{sentence} [default: {default}]" if default else sentence
        assert "".join(shown.split()) in text, option


def test_every_argument_is_there_with_a_sentence(
    name: str, columns: int, capsys: pytest.CaptureFixture[str]
) -> None:
    text = " ".join(" ".join(help_of(capsys, *name.split())).split())
    for argument in declared(name):
        if isinstance(argument, click.Argument):
            (shown,) = argument.get_usage_pieces(click.Context(command(name)))
            sentence = " ".join(str(getattr(argument, "help", "")).partition("  [")[0].split())
            assert sentence.endswith((".", "http://localhost:8000."))
            assert f"{shown} {sentence}" in text


def test_no_line_is_wider_than_the_terminal(
    name: str, columns: int, capsys: pytest.CaptureFixture[str]
) -> None:
    examples = getattr(command(name), "examples", {})
    for line in (*help_of(capsys), *help_of(capsys, *name.split())):
        # An example stays in one line, so that it can be copied.
        assert len(line) <= columns or (columns < 80 and line.strip() in examples), line


@pytest.mark.parametrize("name", EXIT_CODES)
def test_exit_codes_are_explained(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = help_of(capsys, *name.split())
    below = lines[lines.index("Exit codes:") + 1 :]
    assert "".join(line[2] for line in below if line[2].isdigit()) == EXIT_CODES[name]


def test_examples_are_calls_that_the_command_takes(name: str) -> None:
    for example in getattr(command(name), "examples", {}):
        call = example.removeprefix('eval "$(').removesuffix(')"').partition(" |")[0]
        words = shlex.split(call)
        own = name.split()
        assert words[: 1 + len(own)] == ["v2-conformance", *own]
        command(name).make_context(name, words[1 + len(own) :], parent=click.Context(program))


def test_names_in_the_help_are_those_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    def text(name: str) -> str:
        return " ".join(" ".join(help_of(capsys, name)).split())

    profiles = dict.fromkeys(case.profile for case in every_case())
    assert set(profiles) == set(PROFILES)
    assert "besides binary: raw, compression, compression-responses or bf16." in text("run")
    assert all(name in text("kit") for name in KITS)
    assert all(name in text("list") for name in LISTINGS)
    assert all(name in text("completion") for name in SHELLS)


@pytest.mark.parametrize("option", ["--version", "-h", "--help"])
def test_what_only_informs_is_a_success(option: str, cli: Cli) -> None:
    assert "v2-conformance" in cli(option, code=0).out


HEAVY = {"h11", "hypothesis", "jinja2", "jsonschema", "numpy", "pytest", "requests", "rich"}


@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (["--version"], {*HEAVY, "yaml", "jsonschema_rs"}),
        (["--help"], {*HEAVY, "yaml", "jsonschema_rs"}),
        *((([*name.split(), "--help"]), {*HEAVY, "yaml", "jsonschema_rs"}) for name in OPTIONS),
        (["list", "requirements"], HEAVY),
        (["rnu"], {*HEAVY, "yaml", "jsonschema_rs"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_nothing_is_loaded_that_is_not_needed(arguments: list[str], heavy: set[str]) -> None:
    code = (
        "import sys; from v2_conformance.cli.main import main;"
        f"main({arguments}); print('loaded', *sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = done.stdout.splitlines()[-1].split()
    assert loaded[0] == "loaded"
    assert not heavy & set(loaded)
