"""Values that the shell offers when somebody presses the tab key in a command line.

Each function yields names, or names with their meaning, that may start with `begun`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from v2_conformance.errors import ConformanceError

if TYPE_CHECKING:
    from v2_conformance.suite.cases import Case

Offers = Iterable[str | tuple[str, str]]

SHELLS = ("bash", "fish", "zsh")


def completion(
    name: str | None,
) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]] | None:
    """Return what click calls to complete a value with the function `name` of this module."""
    if name is None:
        return None
    offers: Callable[[click.Context, str], Offers] = globals()[name]

    def complete(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
        pairs = ((one, "") if isinstance(one, str) else one for one in offers(ctx, begun))
        return [
            CompletionItem(value, help=meaning or None)
            for value, meaning in pairs
            if value.startswith(begun)
        ]

    return complete


def profiles(ctx: click.Context, begun: str) -> Offers:
    """The profiles that a server can claim besides binary."""
    from v2_conformance.protocol.names import OPT_IN_PROFILES

    return OPT_IN_PROFILES


def faults(ctx: click.Context, begun: str) -> Offers:
    """The faults of the embedded server, each with what it does wrong."""
    from v2_mutants.faults import FAULTS

    for fault in FAULTS.values():
        yield fault.name, f"{fault.requirement}: {fault.text}"


def variants(ctx: click.Context, begun: str) -> Offers:
    """The variants of the embedded server, each with what it does."""
    from v2_mutants.variants import VARIANTS

    return [(variant.name, variant.text) for variant in VARIANTS.values()]


def kits(ctx: click.Context, begun: str) -> Offers:
    """The servers for which there is a kit."""
    from v2_conformance.kits import KITS

    return KITS


def listings(ctx: click.Context, begun: str) -> Offers:
    """Return what `list` can list."""
    from v2_conformance.cli.suite.listings import LISTINGS

    return LISTINGS


def shells(ctx: click.Context, begun: str) -> Offers:
    """The shells for which there is a script."""
    return SHELLS


def cases(ctx: click.Context, begun: str) -> Offers:
    """Requirements with their titles; once a requirement and a slash are typed, its cases."""
    from v2_conformance.suite.library import suite_cases

    return _of_requirements(begun, suite_cases(large=True))


def scenarios(ctx: click.Context, begun: str) -> Offers:
    """The same for the scenarios of clients."""
    from v2_conformance.suite.library import client_cases

    return _of_requirements(begun, client_cases())


def _of_requirements(begun: str, planned: Sequence[Case]) -> Offers:
    from v2_conformance.suite.requirements import catalogue

    if "/" in begun:
        return [case.id for case in planned]
    tested = {case.requirement for case in planned}
    return [(one.id, one.title) for one in catalogue().values() if one.id in tested]


def cases_of_report(ctx: click.Context, begun: str) -> Offers:
    """The ids of the cases in the report that is named before."""
    from v2_conformance.report.files import load_report

    report = ctx.params.get("report")
    if not isinstance(report, Path):
        return []
    try:
        return [case.id for case in load_report(report).cases]
    except ConformanceError:  # the command itself will report what is wrong
        return []
