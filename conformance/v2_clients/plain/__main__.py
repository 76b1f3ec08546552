"""The plain client as a command for the bench: `python -m v2_clients.plain`."""

from __future__ import annotations

import argparse
import json
import sys

from v2_clients.plain.plain_client import PlainClient, run_task
from v2_conformance.elsewhere import elsewhere
from v2_conformance.errors import UsageError


def main() -> int:
    """Do every task on standard input."""
    parser = argparse.ArgumentParser(prog="python -m v2_clients.plain")
    parser.add_argument("--fault", help="a fault of `v2-conformance list client-faults`")
    name = parser.parse_args().fault
    try:
        client = PlainClient if name is None else elsewhere("client fault")(name).cls
    except UsageError as error:
        parser.error(str(error))
    for text in sys.stdin:
        task = json.loads(text)
        members = {
            "scenario": task["scenario"],
            "lines": list(run_task(task, task["url"], client)),
        }
        print(json.dumps(members), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
