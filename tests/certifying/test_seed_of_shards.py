"""The seed of a run."""

from __future__ import annotations

from v2_conformance.certifying.seeds import seeded
from v2_conformance.options.selection import SelectionOptions
from v2_conformance.runs.targets.target import Target


def test_shards_have_one_seed_unless_another_is_given() -> None:
    target = Target(url="http://127.0.0.1:1")
    shards = [SelectionOptions(shard=(number, 2)) for number in (1, 2)]
    one, other = (seeded(target, options, None).seed for options in shards)
    assert one is not None
    assert one == other
    given = SelectionOptions(shard=(1, 2), seed=7)
    assert seeded(target, given, None).seed == 7
