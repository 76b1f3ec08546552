"""The version of the suite, of its distribution and of what it writes."""

__version__ = "0.2.0"
