"""The command `completion`: prints what makes a shell complete calls of this program."""

from __future__ import annotations

import click
import cloup
from click.shell_completion import get_completion_class, shell_complete

from v2_conformance.cli.command import PROGRAM, Command, one_of

# The shell's script puts into this what it wants to know, and calls the program.
VARIABLE = "_V2_CONFORMANCE_COMPLETE"
SHELLS = ("bash", "fish", "zsh")


@cloup.command(
    "completion",
    cls=Command,
    examples={
        'eval "$(v2-conformance completion bash)"': "Add this line to ~/.bashrc.",
        'eval "$(v2-conformance completion zsh)"': "Add this line to ~/.zshrc, after compinit.",
        "v2-conformance completion fish | source": "Add this line to ~/.config/fish/config.fish.",
    },
)
@cloup.argument(
    "shell",
    type=one_of("shell", SHELLS),
    shell_complete=lambda ctx, param, begun: [x for x in SHELLS if x.startswith(begun)],
    help="The shell: bash (4.4 or newer), fish or zsh.",
)
@click.pass_context
def completion(context: click.Context, *, shell: str) -> int:
    """Print a script that makes a shell complete this command.

    It completes commands, options and files, and the names of cases, requirements, faults,
    profiles, kits and listings.
    """
    complete = get_completion_class(shell)
    assert complete is not None, shell
    print(complete(context.find_root().command, {}, PROGRAM, VARIABLE).source())
    return 0


def answer_shell(program: click.Command, question: str) -> int:
    """Answer the `question` that a shell's script asks in VARIABLE; the exit code."""
    return shell_complete(program, {}, PROGRAM, VARIABLE, question)
