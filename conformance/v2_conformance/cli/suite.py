"""The commands about the suite itself: what it has, its reference server, its kits of models."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from v2_conformance.cli.command import FOLDER, Checked, command, unknown
from v2_conformance.elsewhere import elsewhere
from v2_conformance.errors import UnreachableError
from v2_conformance.runs.targets.numbers import number
from v2_conformance.terminal_safe_text import for_people

if TYPE_CHECKING:
    from v2_conformance.suite.models import TensorSpec


@command(
    "kit",
    examples={
        "v2-conformance kit triton models": (
            "Write a model repository for Triton into the folder models."
        ),
        "v2-conformance kit clients adapters": (
            "Write scripts that put clients on the bench into the folder adapters."
        ),
    },
)
@click.argument(
    "name",
    help="The server: kserve, lite-server, mlserver, openvino or triton; python, a server as a "
    "model for your own; or clients.",
)
@click.argument(
    "directory",
    metavar="DIR",
    type=FOLDER,
    help="New or empty folder. Its README.md will say what to do with the files.",
)
def kit(name: str, directory: Path) -> int:
    """Write the models for a real server, or scripts for clients."""
    from v2_conformance.kits.registry import KITS, write_kit

    files = write_kit(name, directory)
    print(f"wrote {len(files)} files; next: {directory / 'README.md'}")
    print(f"then: {KITS[name].command}")
    return 0


@command(
    "serve",
    examples={
        "v2-conformance serve --port 0 --fault response-header-length-short": (
            "Run a broken server on a free port."
        ),
        "v2-conformance serve --variant chunked-responses --variant json-indented": (
            "Run a correct server that does two things in another legal way."
        ),
    },
    exit_codes={
        0: "Stopped with Ctrl-C, or ended by a fault.",
        2: "Wrong usage.",
        3: "Cannot listen on the port.",
    },
)
@click.option(
    "--port",
    type=Checked("PORT", number(int, 0, 2**16 - 1)),
    default=8000,
    help="Listen on this port of 127.0.0.1; 0 chooses a free one.",
)
@click.option(
    "--fault",
    "faults",
    metavar="NAME",
    multiple=True,
    help="Break the server in this way; `v2-conformance list faults` lists the names. Repeatable.",
)
@click.option(
    "--variant",
    "variants",
    metavar="NAME",
    multiple=True,
    help="Make the server behave in this other legal way; `v2-conformance list variants` lists the "
    "names. Repeatable.",
)
def serve(port: int, faults: tuple[str, ...], variants: tuple[str, ...]) -> int:
    """Run the reference server until it is interrupted.

    The first line of its output is `serving on URL`.
    """
    server = elsewhere("server")(faults, variants=variants, port=port)
    try:
        server.start()
    except OSError as error:
        reason = os.strerror(error.errno).lower() if error.errno else str(error)
        raise UnreachableError(
            f"cannot listen on port {port}: {reason}; choose another with --port, or a "
            "free one with --port 0"
        ) from error
    try:
        print(f"serving on {server.url} (Ctrl-C stops)", flush=True)
        server.wait()  # a fault may also end it
    except KeyboardInterrupt:
        pass
    finally:
        server.stop()
    return 0


@command("list", examples={"v2-conformance list faults": "List the names that --fault takes."})
@click.argument(
    "what",
    help="One of requirements, cases, scenarios (for clients), faults and variants (of the "
    "embedded server), client-faults, client-variants (of the plain client), variations (of "
    "requests), relations (which `run --model` tests) and models (that a server must have).",
)
@click.option("--json", "as_json", is_flag=True, help="Print an array of JSON objects.")
def listing(what: str, as_json: bool) -> int:
    """List what the suite has: requirements, cases, scenarios, faults and more."""
    if what not in LISTINGS:
        raise unknown("listing", what, LISTINGS)
    rows = LISTINGS[what]()
    if as_json:
        items = [item for item, _ in rows if item is not None]
        print(json.dumps(msgspec.to_builtins(items), indent=2))  # ASCII, whatever is in them
        return 0
    fitted = sys.stdout.isatty()  # a program that reads this wants one item a line
    for line in "\n".join(text for _, text in rows).split("\n"):
        print(for_people(line, "      ") if fitted else line)
    return 0


Rows = Iterator[tuple[object, str]]
"""The items of a listing, each with its line; a line about all of them has the item None."""


def _requirements() -> Rows:
    from v2_conformance.suite.requirements import catalogue, catalogue_version, grade

    yield None, f"requirement catalogue {catalogue_version()}"
    for item in catalogue().values():
        level = grade(item.level, item.blocks if item.level == "MUST" else None)
        columns = f"{item.id:<4}{level:<25}{item.basis:<8}{item.profile:<22}{item.since:<7}"
        others = ", ".join(item.superseded_by)
        yield item, columns + item.title + (f" (superseded by {others})" if others else "")


def _cases(*, of_clients: bool) -> Rows:
    from v2_conformance.suite.library import client_cases, suite_cases

    for case in client_cases() if of_clients else suite_cases(large=True):
        names = ("id", "requirement", "grade", "profile", "expects", "why")
        yield _members(case, *names), f"{case.id}  {case.grade} {case.expects}"


def _members(item: object, *names: str) -> dict[str, object]:
    return {name: getattr(item, name) for name in names}


def _faults(what: str) -> Rows:
    for fault in elsewhere(what).values():
        members = _members(fault, "name", "requirement", "text")
        yield members, f"{fault.requirement:<3} {fault.name}: {fault.text}"


def _variants(what: str) -> Rows:
    for variant in elsewhere(what).values():
        members = _members(variant, "name", "text", "why")
        yield members, f"{variant.name}: {variant.text} ({variant.why})"


def _variations() -> Rows:
    from v2_conformance.suite.variations import variations

    for variation in variations().values():
        yield variation, f"{variation.kind:<9}{variation.name}: {variation.does}"


def _relations() -> Rows:
    from v2_conformance.suite.relations import relations

    for relation in relations().values():
        members = _members(relation, "name", "holds", "requirements")
        yield members, f"{relation.name}: {relation.holds}\n    {' '.join(relation.requirements)}"


_FIRST_THREE = "the first three elements of INPUT0 as [3, 1], and their negation"


def _models() -> Rows:
    from v2_conformance.suite.models import contract

    models = contract().values()
    needed = sum(model.profile == "binary" and not model.optional for model in models)
    others = sum(model.does != "identity" for model in models)
    words = (
        f"{needed} needed ({len(models)} with optional ones and those of profiles), all but "
        f"{others} identity: one generic handler serves them (`v2-conformance kit python DIR`)"
    )
    yield None, words
    for model in models:
        inputs, outputs = _tensors(model.inputs), _tensors(model.outputs)
        note = "" if model.profile == "binary" else f"  (profile {model.profile})"
        if model.stands_in_for is not None:
            note += f"  (stands in for {model.stands_in_for} without one of its datatypes)"
        elif model.optional:
            note += "  (optional)"
        does = model.does.replace("first_three", _FIRST_THREE)
        does += ", batching" if model.batching else ""
        members = _members(model, "role", "model", "does", "inputs", "outputs", "profile")
        members |= _members(model, "batching", "optional", "stands_in_for")
        yield members, f"{model.role}: {model.model}{note}\n    {inputs}\n    -> {outputs}, {does}"


def _tensors(specs: tuple[TensorSpec, ...]) -> str:
    return ", ".join(f"{s.name} {s.datatype} {list(s.dims)}".replace(" ,", ",") for s in specs)


LISTINGS: dict[str, Callable[[], Rows]] = {
    "requirements": _requirements,
    "cases": partial(_cases, of_clients=False),
    "scenarios": partial(_cases, of_clients=True),
    "faults": partial(_faults, "faults"),
    "client-faults": partial(_faults, "client faults"),
    "variants": partial(_variants, "variants"),
    "client-variants": partial(_variants, "client variants"),
    "variations": _variations,
    "relations": _relations,
    "models": _models,
}
