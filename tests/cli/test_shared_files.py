"""The manual page and the completions that the wheel brings say what the command says."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from v2_conformance.cli.exit_codes import OF_A_RUN
from v2_conformance.cli.main import main, program
from v2_conformance.formats.registry import file_names

SHARED = Path(__file__).parents[2] / "conformance" / "shared"
COMPLETIONS = {
    "bash": "v2-conformance.bash",
    "zsh": "_v2-conformance",
    "fish": "v2-conformance.fish",
}


def compare(name: str, text: str, request: pytest.FixtureRequest) -> None:
    path = SHARED / name
    if request.config.getoption("--rewrite-snapshots"):
        path.write_text(text, "utf-8", newline="\n")
    assert path.read_text("utf-8") == text


def escaped(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "")
    return "\n".join(f"\\&{line}" if line[:1] in (".", "'") else line for line in text.splitlines())


def manual_page() -> str:
    """The page: what each command is for. Its options are what `--help` says, and change."""
    about = (program.help or "").splitlines()[0]
    lines = [
        '.TH V2\\-CONFORMANCE 1 "" "" "User Commands"',
        ".SH NAME",
        escaped(f"v2-conformance - {about[:1].lower()}{about[1:].rstrip('.')}"),
        ".SH SYNOPSIS",
        ".B v2\\-conformance",
        ".I COMMAND",
        "[\\fIOPTIONS\\fR]",
        ".SH DESCRIPTION",
        escaped("Tests a model server, or a client, and writes a report that anybody can verify."),
        escaped("v2-conformance COMMAND --help describes the options of a command."),
        ".SH COMMANDS",
    ]
    for name, command in program.commands.items():
        if not command.hidden:
            said = command.get_short_help_str(limit=300)
            lines += [".TP", f".B {escaped(name)}", escaped(said)]
    lines.append(".SH EXIT STATUS")
    for code, meaning in dict(OF_A_RUN).items():
        lines += [".TP", f".B {code}", escaped(meaning)]
    lines += [
        ".SH FILES",
        escaped(f"A run writes these to reports/: {', '.join(sorted(file_names()))}."),
        escaped("It reads v2-conformance.toml, or pyproject.toml, in the current folder."),
    ]
    return "\n".join(lines) + "\n"


def test_the_manual_page_has_every_command(request: pytest.FixtureRequest) -> None:
    compare("v2-conformance.1", manual_page(), request)
    context = click.Context(program)
    for name in program.list_commands(context):
        assert f".B {name}\n" in manual_page().replace("\\-", "-")


@pytest.mark.parametrize("shell", COMPLETIONS)
def test_the_completions_are_what_the_command_prints(
    shell: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    compare(COMPLETIONS[shell], capsys.readouterr().out, request)
