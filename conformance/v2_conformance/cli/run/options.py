"""The options of the command `run`: the target, which cases run, and how."""

from __future__ import annotations

import click
import cloup

from v2_conformance.cli import known_values
from v2_conformance.cli.command import FILE, seconds, whole_number
from v2_conformance.cli.run.shard import shard as shard_value
from v2_conformance.cli.start import START
from v2_conformance.protocol.names import BINDING_NAMES

TARGET = cloup.option_group(
    "Target",
    cloup.option(
        "--target",
        "target_file",
        type=FILE,
        metavar="FILE",
        help="Read the URL, profiles, header fields, time limit and model names from this YAML or "
        "JSON file. Options on the command line add to it or override it.",
    ),
    cloup.option(
        "--profile",
        "profiles",
        multiple=True,
        metavar="NAME",
        shell_complete=known_values.profiles,
        help="Claim a profile besides binary: raw, compression, compression-responses or bf16. "
        "Repeatable.",
    ),
    cloup.option(
        "--header",
        "headers",
        multiple=True,
        metavar="'NAME: VALUE'",
        help="Send this header field with every request, such as 'Authorization: Bearer TOKEN'. "
        "Its value is a secret, which no report shows. Repeatable.",
    ),
    cloup.option(
        "--public",
        multiple=True,
        metavar="NAME",
        help="The value of this header field is no secret. Repeatable.",
    ),
    cloup.option(
        "--secret",
        "secrets",
        multiple=True,
        metavar="VALUE",
        help="Another value that no report may show. Other users of this machine can see it in "
        "the list of processes: --secret-env cannot be seen. Repeatable.",
    ),
    cloup.option(
        "--secret-env",
        multiple=True,
        metavar="NAME",
        help="Another value that no report may show, in this environment variable. Repeatable.",
    ),
    cloup.option(
        "--timeout",
        type=seconds,
        metavar="SECONDS",
        help="Time limit for one exchange.  [default: 30]",
    ),
    cloup.option(
        "--max-time",
        type=seconds,
        metavar="SECONDS",
        help="Time limit for the whole run. The cases that are left then do not run, and the run "
        "is incomplete.  [default: a tenth of --timeout for each case, and twenty times --timeout; "
        "at least 10 minutes]",
    ),
    cloup.option(
        "--wait-ready",
        type=seconds,
        metavar="SECONDS",
        help="Time limit for the server to become ready (GET /v2/health/ready) before the first "
        "case.  [default: 30, but a server that is not there is not waited for]",
    ),
    cloup.option(
        "--binding",
        type=click.Choice(BINDING_NAMES),
        help="The URL is that of an endpoint of Triton for SageMaker or Vertex AI, which has the "
        "header length in Content-Type.",
    ),
    START,
    cloup.option("--insecure", is_flag=True, help="Do not verify TLS certificates."),
    cloup.option(
        "--through",
        metavar="URL",
        help="Run the same cases again through the gateway at this base URL, which must lead to "
        "the same server, and show what the gateway breaks, mends or hides (gateway.html). The "
        "verdict is still that of the server.",
    ),
)
SELECTION = cloup.option_group(
    "Selection",
    cloup.option(
        "--case",
        "patterns",
        multiple=True,
        metavar="PATTERN",
        shell_complete=known_values.cases,
        help="Run only the cases of this requirement, such as H6, or whose id matches this "
        "pattern, such as 'H6/*'. A run that leaves cases out is never conformant. Repeatable.",
    ),
    cloup.option(
        "--large",
        is_flag=True,
        help="Also send tensors of 64 MiB. A slow server may need a longer --timeout.",
    ),
    cloup.option(
        "--huge",
        is_flag=True,
        help="Also send tensors of over 2 GiB and over 4 GiB, which a server may reject. They are "
        "made as they are sent, and compared as they come back, so that they take time but no "
        "memory here; the server needs some of both.",
    ),
    cloup.option(
        "--thorough",
        is_flag=True,
        help="Also run the cases that cover whole products of axes, such as every JSON member with "
        "every wrong type.",
    ),
    cloup.option(
        "--variation",
        "variations",
        multiple=True,
        metavar="NAME",
        shell_complete=known_values.variations,
        help="Send every chosen case that must succeed in this variation instead, such as "
        "members-reversed; `v2-conformance list variations` lists the names. Such a run is never "
        "conformant. Repeatable.",
    ),
    cloup.option(
        "--shard",
        type=shard_value,
        metavar="K/N",
        help="Run only part K of N of these cases, and leave the verdict to `v2-conformance "
        "merge`. In a pod of an Indexed Job of Kubernetes, auto/N runs the part of that pod.",
    ),
    cloup.option(
        "--cases",
        "case_files",
        type=FILE,
        metavar="FILE|DIR",
        help="Run the cases in this file or folder instead of the suite's own. Such a run is never "
        "conformant.",
    ),
)
EXECUTION = cloup.option_group(
    "Execution",
    cloup.option(
        "-n",
        "--workers",
        type=whole_number(least=1),
        metavar="N",
        help="Number of cases to run at the same time. The outcome is the same for every N: cases "
        "that could disturb others run alone, and whatever is not right beside others runs again "
        "alone.  [default: one for each 10 ms that the server is away, up to 8]",
    ),
    cloup.option(
        "--restart-command",
        metavar="COMMAND",
        help="Run this shell command to restart the server after a case has killed it.",
    ),
    cloup.option(
        "--wait",
        type=seconds,
        default=0,
        metavar="SECONDS",
        help="Time limit for a killed server to recover or restart.",
    ),
)
EMBEDDED_SERVER = cloup.option_group(
    "Embedded server",
    cloup.option(
        "--fault",
        "faults",
        multiple=True,
        metavar="NAME",
        shell_complete=known_values.faults,
        help="Break the embedded server in this way; `v2-conformance list faults` lists the names. "
        "Repeatable.",
    ),
)
