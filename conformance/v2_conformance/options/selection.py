"""Options that choose which cases run, and the few options of the pytest plugin."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from v2_conformance.options.kinds import whole_number
from v2_conformance.options.rows import flag, of_plugin, option, repeated
from v2_conformance.options.targets import TargetOptions
from v2_conformance.protocol.names import LARGEST_SEED


@dataclass(frozen=True, kw_only=True)
class SelectionOptions:
    """Choice of the cases that run."""

    SECTION: ClassVar = "Selection"

    patterns: tuple[str, ...] = repeated(
        "--case PATTERN",
        "Run only the cases of this requirement, such as H6, or whose id matches this pattern, "
        "such as 'H6/*'. A run that leaves cases out is never conformant.",
    )
    large: bool = flag(
        "--large",
        "Also send tensors of 64 MiB. A slow server may need a longer --timeout.",
        pytest="also send tensors of 64 MiB",
    )
    generated: int | None = option(
        "--generated N",
        "Also send N requests that are drawn from the seed, as part of the case M7/generated. The "
        "first that fails is made as small as possible.",
        kind=whole_number(least=1),
        pytest="also send this many requests that are drawn from the seed",
    )
    seed: int | None = option(
        "--seed N",
        "Send the values, ids and drawn requests of the run that printed this seed.",
        kind=whole_number(least=0, most=LARGEST_SEED),
        shown="that of --expect, else a fresh one",
        pytest="send the values and ids of the run that printed this seed",
    )
    case_files: Path | None = option(
        "--cases FILE|DIR",
        "Run the cases in this file or folder instead of the suite's own. Such a run is never "
        "conformant.",
    )


@dataclass(frozen=True, kw_only=True)
class PluginReportOptions:
    """Handling of the report of a pytest session."""

    expectation_file: Path | None = of_plugin("--expect FILE", "known failures, which then xfail")
    report_dir: Path | None = of_plugin("--report-dir DIR", "write the report files here")


@dataclass(frozen=True, kw_only=True)
class PluginOptions(TargetOptions, SelectionOptions, PluginReportOptions):
    """`pytest --v2-url URL`."""
