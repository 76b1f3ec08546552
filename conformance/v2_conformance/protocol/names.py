"""The names in the documents: extension, header, parameters, media types, profiles."""

from __future__ import annotations

# What a server lists among the `extensions` of its metadata.
EXTENSION = "binary_tensor_data"
HEADER_LENGTH = "Inference-Header-Content-Length"
# Parameters of a tensor, and of a request.
BINARY_DATA = "binary_data"
BINARY_DATA_SIZE = "binary_data_size"
BINARY_DATA_OUTPUT = "binary_data_output"
OCTET_STREAM = "application/octet-stream"
JSON_TYPE = "application/json"

# What can be claimed. Every server claims `binary`; `client` is for clients.
# `compression` is about requests, `compression-responses` about responses.
OPT_IN_PROFILES = ("raw", "compression", "compression-responses", "bf16")
SERVER_PROFILES = ("binary", *OPT_IN_PROFILES)
PROFILES = (*SERVER_PROFILES, "client")

TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
"""A name of HTTP as a regular expression: a token (RFC 9110, section 5.6.2)."""

LARGEST_SEED = (1 << 32) - 1
"""Of those that the values of a run's requests follow from."""

DRAWS = 2
"""The edition of how they follow; a report of another one cannot be judged again."""
