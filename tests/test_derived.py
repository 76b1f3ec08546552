"""What is made of the suite's own files is kept, and made anew whenever that could be wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from v2_conformance.derived import derived
from v2_conformance.errors import CaseFileError
from v2_conformance.resources import PACKAGE, folder

TAG = sys.implementation.cache_tag
KEPT = f"conformance/v2_conformance/__pycache__/derived-cases.{TAG}.pickle"
SAME = """
from v2_conformance.suite.entries.case_files import load_cases
from v2_conformance.suite.library import every_case, suite_cases
from v2_conformance.suite.entries.scenario_files import load_scenarios
from v2_conformance.suite import library, models, requirements, variations

read = load_cases(large=True, huge=True)
made = [*read, library._read_generated(), *load_scenarios()]
assert repr(list(every_case())) == repr(made)
assert [case.content for case in every_case()] == [case.content for case in made]
ordinary = [*load_cases(), library._read_generated()]
assert repr(suite_cases()) == repr(ordinary)
assert repr(models.contract()) == repr(models._read_contract())
assert repr(variations.variations()) == repr(variations._read_variations())
assert repr(requirements._data()) == repr(requirements._file().document)
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the package and its data, in which nothing is kept yet."""
    # An installed package has its data within. What Python compiled may come along.
    nothing_made = shutil.ignore_patterns("derived-*", "cases", "schemas")
    shutil.copytree(PACKAGE, tmp_path / "conformance/v2_conformance", ignore=nothing_made)
    for name in ("cases", "schemas"):
        shutil.copytree(folder(name), tmp_path / name)
    return tmp_path


def start(checkout: Path, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(checkout / "conformance")}
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=checkout,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def printed(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    return out


def list_cases(checkout: Path) -> str:
    return printed(start(checkout, "-m", "v2_conformance", "list", "cases"))


@pytest.mark.long
def test_what_is_kept_is_what_the_files_say(checkout: Path) -> None:
    first = list_cases(checkout)
    kept = (checkout / KEPT).read_bytes()
    assert list_cases(checkout) == first
    printed(start(checkout, "-c", SAME))
    printed(start(checkout, "-c", SAME))  # all of it is kept now
    assert (checkout / KEPT).read_bytes() == kept


def test_an_edited_case_and_edited_code_are_noticed_at_once(checkout: Path) -> None:
    before = list_cases(checkout)
    path = checkout / "cases/survival.yaml"
    text = path.read_text(encoding="utf-8")
    slug = next(line for line in text.splitlines() if "id: " in line).split("/")[1]
    path.write_text(text.replace(f"/{slug}", f"/edited-{slug}"), encoding="utf-8")
    assert list_cases(checkout) == before.replace(f"/{slug}", f"/edited-{slug}") != before
    path.write_text(text, encoding="utf-8")
    path = checkout / "conformance/v2_conformance/suite/entries/case_files.py"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"id": entry["id"] + labels', '"id": entry["id"] + labels + "!"'))
    assert list_cases(checkout) == before.replace("  ", "!  ").replace("generated!", "generated")


def test_processes_that_begin_together_keep_one_whole_file(checkout: Path) -> None:
    together = [start(checkout, "-m", "v2_conformance", "list", "cases") for _ in range(3)]
    assert len({printed(process) for process in together}) == 1
    assert len(list((checkout / KEPT).parent.glob("derived-cases*"))) == 1
    printed(start(checkout, "-c", SAME))


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1000])


def change_a_byte(path: Path) -> None:
    data = bytearray(path.read_bytes())
    place = data.index(b"MUST")
    data[place : place + 4] = b"MAY "
    path.write_bytes(data)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def make_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def make_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def link_elsewhere(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which things are kept now."""
    monkeypatch.setattr("v2_conformance.derived._KEPT_IN", tmp_path / "cache")
    return tmp_path / "cache"


def make_numbers() -> dict[str, int]:
    made.append("numbers")
    return {"MUST": 2**70}


made: list[str] = []
"""What was made, and not kept."""


@pytest.fixture(autouse=True)
def _nothing_made() -> None:
    made.clear()


def numbers() -> dict[str, int]:
    return derived("numbers", make_numbers)


@pytest.mark.parametrize(
    "damage", [truncate, change_a_byte, empty, make_a_folder, make_a_pipe, link_elsewhere]
)
def test_a_damaged_file_is_made_anew(cache: Path, damage: Callable[[Path], None]) -> None:
    assert numbers() == numbers() == {"MUST": 2**70}
    assert len(made) == 1
    damage(cache / f"derived-numbers.{TAG}.pickle")
    assert numbers() == {"MUST": 2**70}
    assert len(made) == 2


def test_where_nothing_can_be_kept_it_is_made_each_time(cache: Path) -> None:
    cache.write_bytes(b"no folder")
    assert numbers() == numbers() == {"MUST": 2**70}
    assert len(made) == 2
    assert cache.read_bytes() == b"no folder"


@pytest.mark.parametrize("value", [float("inf"), (1, 2), b"\0", "\ud800", {1: 2}, 2**9999])
def test_what_is_kept_comes_back_the_same(cache: Path, value: object) -> None:
    assert derived("odd", lambda: {"value": value}) == {"value": value}
    assert derived("odd", dict) == {"value": value}
    assert cache.exists()


@pytest.mark.parametrize("value", [lambda: 0, (byte for byte in b"\0"), sys])
def test_what_cannot_be_kept_is_made_each_time(cache: Path, value: object) -> None:
    for _ in range(2):
        assert derived("odd", lambda: {"value": value})["value"] is value
    assert not cache.exists()


def test_a_mistake_is_told_each_time(cache: Path) -> None:
    def wrong() -> dict[str, int]:
        raise CaseFileError("cases/any.yaml:1: wrong")

    for _ in range(2):
        with pytest.raises(CaseFileError, match="wrong"):
            derived("wrong", wrong)
