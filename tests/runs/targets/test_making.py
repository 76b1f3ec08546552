"""What the command line says of a target, alone and over a target file's words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from v2_conformance.errors import UsageError
from v2_conformance.runs.targets.making import make_target


def refused(url: str | None = None, **options: Any) -> str:
    with pytest.raises(UsageError) as error:
        make_target(url, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_no_url_at_all_is_refused() -> None:
    assert "no URL" in refused(None)
    assert "no URL" in refused("")


@pytest.mark.parametrize(
    "header",
    ["no colon", ": value", "", "Na me: v", "A: b\r\nC: d", "A: b\nc", "A: \u20ac", "\u00e9: b",
     "A(): b"],
)  # fmt: skip
def test_a_header_that_cannot_be_sent_is_refused(header: str) -> None:
    assert "'Name: value'" in refused("http://h", headers=(header,))


def test_a_header_may_have_colons_and_no_value() -> None:
    target = make_target("http://h", headers=("A: b:c", "Empty:"))
    assert target.headers == (("A", "b:c"), ("Empty", ""))


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), 1e12])
def test_a_time_out_that_cannot_be_kept_is_refused(timeout: float) -> None:
    assert "time-out" in refused("http://h", timeout=timeout)


def test_a_time_out_bounds_the_connection_too() -> None:
    limits = make_target("http://h", timeout=0.5).limits
    assert (limits.connect_s, limits.exchange_s) == (0.5, 0.5)
    limits = make_target("http://h", timeout=300).limits
    assert (limits.connect_s, limits.exchange_s) == (10.0, 300)


def test_an_unknown_profile_is_refused_with_a_hint() -> None:
    assert "did you mean raw" in refused("http://h", profiles=("rav",))
    assert make_target("http://h", profiles=("raw", "raw")).profiles == ("binary", "raw")


def test_the_command_line_wins_over_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(
        '{"url": "http://file", "timeout": 9, "headers": {"A": "1"}, "profiles": ["raw"]}'
    )
    target = make_target(
        "http://given", target_file=path, timeout=1, headers=("B: 2",), insecure=True
    )
    assert (target.url, target.limits.exchange_s, target.verify) == ("http://given", 1, False)
    assert target.headers == (("A", "1"), ("B", "2"))
    assert target.profiles == ("binary", "raw")
    assert make_target(target_file=path).url == "http://file"
