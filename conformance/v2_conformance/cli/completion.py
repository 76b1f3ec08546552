"""The command `completion`: prints what makes a shell complete calls of this program."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from v2_conformance.cli.command import PROGRAM, command
from v2_conformance.cli.known_values import SHELLS
from v2_conformance.cli.usage import unknown
from v2_conformance.options.others import CompletionOptions

# The shell's script sets this to its question, and calls the program.
VARIABLE = "_V2_CONFORMANCE_COMPLETE"


@command(
    "completion",
    CompletionOptions,
    examples={
        'eval "$(v2-conformance completion bash)"': "Add this line to ~/.bashrc.",
        'eval "$(v2-conformance completion zsh)"': "Add this line to ~/.zshrc, after compinit.",
        "v2-conformance completion fish | source": "Add this line to ~/.config/fish/config.fish.",
    },
)
def completion(options: CompletionOptions) -> int:
    """Print a script that makes a shell complete this command.

    It completes commands, options and files, and the names of cases, requirements, faults,
    profiles, kits and listings.
    """
    if options.shell not in SHELLS:
        raise unknown("shell", options.shell, SHELLS)
    root = click.get_current_context().find_root().command
    complete = get_completion_class(options.shell)
    assert complete is not None, options.shell
    print(complete(root, {}, PROGRAM, VARIABLE).source())
    return 0


def answer_shell(program: click.Command, question: str) -> int:
    """Answer the `question` that a shell's script asks in VARIABLE, and return the exit code."""
    shell, _, instruction = question.partition("_")
    complete = get_completion_class(shell)
    if complete is None or instruction != "complete":
        return 1
    # Not click's own `shell_complete`, which since 8.5 writes bytes, past PatientOutput.
    print(complete(program, {}, PROGRAM, VARIABLE).complete())
    return 0
