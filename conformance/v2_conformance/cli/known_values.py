"""What the shell offers when somebody presses the tab key in the middle of a call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from v2_conformance.errors import ConformanceError

if TYPE_CHECKING:
    from v2_conformance.suite.cases import Case


def profiles(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """The profiles that a server can claim besides binary."""
    from v2_conformance.suite.library import suite_cases

    names = dict.fromkeys(case.profile for case in suite_cases())
    return _beginning(begun, (name for name in names if name != "binary"))


def faults(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """The faults of the embedded server, each with what it does wrong."""
    from v2_mutants.faults import FAULTS, FAULTS_UNDER_LOAD

    return [
        CompletionItem(fault.name, help=f"{fault.requirement}: {fault.text}")
        for fault in (*FAULTS.values(), *FAULTS_UNDER_LOAD.values())
        if fault.name.startswith(begun)
    ]


def variants(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """The variants of the embedded server, each with what it does."""
    from v2_mutants.variants import VARIANTS

    return [
        CompletionItem(variant.name, help=variant.text)
        for variant in VARIANTS.values()
        if variant.name.startswith(begun)
    ]


def variations(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """The variations of requests, each with what it changes."""
    from v2_conformance.suite.variations import variations

    return [
        CompletionItem(variation.name, help=variation.does)
        for variation in variations().values()
        if variation.name.startswith(begun)
    ]


def kits(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """The servers for which there is a kit."""
    from v2_conformance.kits import KITS

    return _beginning(begun, KITS)


def listings(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """What `list` can list."""
    from v2_conformance.cli.suite.listing import LISTINGS

    return _beginning(begun, LISTINGS)


def shells(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """The shells for which there is a script."""
    from v2_conformance.cli.completion import SHELLS

    return _beginning(begun, SHELLS)


def cases(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Requirements with their titles; once a requirement and a slash are typed, its cases."""
    from v2_conformance.suite.library import suite_cases

    return _of_requirements(begun, suite_cases(large=True, huge=True, thorough=True))


def scenarios(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """The same for the scenarios of clients."""
    from v2_conformance.suite.library import client_cases

    return _of_requirements(begun, client_cases())


def _of_requirements(begun: str, planned: Sequence[Case]) -> list[CompletionItem]:
    from v2_conformance.suite.requirements import catalogue

    if "/" in begun:
        return _beginning(begun, (case.id for case in planned))
    tested = {case.requirement for case in planned}
    return [
        CompletionItem(requirement.id, help=requirement.title)
        for requirement in catalogue().values()
        if requirement.id in tested and requirement.id.startswith(begun)
    ]


def cases_of_report(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """The ids of the cases in the report that is named before."""
    from v2_conformance.report.files import load_report

    report = ctx.params.get("report")
    if not isinstance(report, Path):
        return []
    try:
        return _beginning(begun, (case.id for case in load_report(report).cases))
    except ConformanceError:  # the call itself will say what is wrong with it
        return []


def _beginning(begun: str, names: Iterable[str]) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(begun)]
