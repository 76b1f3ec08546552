"""The options of `run` that send generated requests instead of the suite's cases."""

from __future__ import annotations

import cloup

from v2_conformance.cli.command import whole_number

GENERATED_REQUESTS = cloup.option_group(
    "Generated requests",
    cloup.option(
        "--fuzz",
        type=whole_number(least=1),
        metavar="N",
        help="Send up to N generated requests instead of the suite's cases. The first one that "
        "fails is made as small as possible and written to the report folder as a case file.",
    ),
    cloup.option(
        "--seed",
        type=whole_number(),
        metavar="S",
        help="Repeat the --fuzz run that printed this seed.  [default: a random one]",
    ),
)
