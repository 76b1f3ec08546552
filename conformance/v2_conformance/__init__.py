"""Conformance suite for the binary tensor data extension of the V2 / Open Inference Protocol."""

__version__ = "0.1.0"
