"""What only maintainers run, from the root of a checkout: `python -m tools.NAME`."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The root of the checkout."""
