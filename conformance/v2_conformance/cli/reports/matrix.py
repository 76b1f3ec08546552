"""The command `matrix`: writes one page that compares servers, from their reports."""

from __future__ import annotations

from typing import Any

import click

from v2_conformance.cli.command import Command, command
from v2_conformance.cli.reports.matrix_page import write_matrix
from v2_conformance.cli.reports.matrix_run import matrix_run
from v2_conformance.options.reports import MatrixOptions


class _Matrix(Command):
    """The command, which has another one: `matrix run`."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Make the context: see click.Command. A report with the name of the other command is
        ./run.
        """
        if args[:1] == [matrix_run.name]:
            return matrix_run.make_context(f"{info_name} run", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@command(
    "matrix",
    MatrixOptions,
    cls=_Matrix,
    examples={
        "v2-conformance matrix */report.json --output index.html": "Compare several servers.",
        "v2-conformance matrix run targets": (
            "Certify every target in a folder, and compare them: see `matrix run --help`."
        ),
    },
)
def matrix(options: MatrixOptions) -> int:
    """Write one page with requirements as rows and servers as columns.

    Each cell links to its requirement in the report.html beside that server's report. `matrix run
    FOLDER` makes the reports first.
    """
    for line in write_matrix(options.reports, options.output, options.link_base):
        print(line)
    return 0
