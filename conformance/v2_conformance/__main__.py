"""`python -m v2_conformance` is the command."""

import sys

from v2_conformance.cli.main import main

sys.exit(main())
