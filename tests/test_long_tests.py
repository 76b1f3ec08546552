"""What an ordinary run leaves out is there, and `tox -e hostile` or another environment runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.long_tests import SAMPLED, chosen, one_in, rows, sample

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", SAMPLED)
def test_what_is_sampled_is_there(name: str) -> None:
    assert list(ROOT.glob(f"{name}**/test_*.py" if name.endswith("/") else name))


def test_a_module_of_a_sampled_folder_can_have_a_share_of_its_own() -> None:
    assert one_in("tests/verifying/test_honest_reports.py") == 100
    assert one_in("tests/verifying/test_anything_else.py") == 12
    assert one_in("tests/wire/test_connections.py") == 1


def test_at_least_one_is_chosen_whatever_the_order() -> None:
    names = [f"tests/x.py::test[{number}]" for number in range(20)]
    assert len(sample(names, 100)) == 1
    assert sample(names, 3) == sample(names[::-1], 3)


def test_one_test_of_so_many_is_chosen_in_each_module() -> None:
    long = [f"tests/hostile/test_x.py::test_y[{number}]" for number in range(90)]
    short = [f"tests/wire/test_x.py::test_y[{number}]" for number in range(25)]
    assert len(chosen(long)) == 3
    assert chosen([*long, *short]) == chosen(long) | set(short)


def test_of_the_rest_each_table_keeps_a_share_and_each_test_a_row() -> None:
    names = [f"tests/x.py::test_y[{number}]" for number in range(10)]
    assert rows([*names, "tests/x.py::test_z"], 1) == {*names, "tests/x.py::test_z"}
    assert len(rows([*names, "tests/x.py::test_z"], 2)) == 6
