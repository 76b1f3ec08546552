"""Words that people read, kept as rows of tests/snapshots/NAME.yaml, each with what makes them.
`pytest --rewrite-snapshots` writes the words anew; the difference is for a person to read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parents[1] / "snapshots"

Row = dict[str, Any]
Snapshot = Callable[[str, Callable[[Row], object]], list[Row]]
"""The fixture `snapshot`: check, or write, the `words` of every row in a file; returns the rows."""

Texts = Callable[[str, dict[str, str]], None]
"""The fixture `texts`: check, or write, texts of several lines, each by what is typed for it."""


def compare_texts(name: str, shown: dict[str, str], *, rewrite: bool) -> None:
    """Compare texts with those in tests/snapshots/NAME.txt."""
    path = FOLDER / f"{name}.txt"
    now = "\n".join(f"$ {typed}\n{text.rstrip()}\n" for typed, text in shown.items())
    if rewrite:
        path.write_text(now, encoding="utf-8")
    assert now == path.read_text(encoding="utf-8")


class _Dumper(yaml.SafeDumper):
    """Writes text of several lines with \\n, or as a block where there is room."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def compare(name: str, words: Callable[[Row], object], *, rewrite: bool) -> list[Row]:
    """Compare the `words` of each row with those that its other members make now."""
    path = FOLDER / f"{name}.yaml"
    kept: list[Row] = yaml.safe_load(path.read_text(encoding="utf-8"))
    now = [{**row, "words": words(row)} for row in kept]
    if rewrite:
        text = yaml.dump(
            now,
            Dumper=_Dumper,
            sort_keys=False,
            default_flow_style=None,
            width=98,
            allow_unicode=True,
        )
        path.write_text(text, encoding="utf-8")
    else:
        assert now == kept
    return now
