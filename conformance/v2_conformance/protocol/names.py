"""The names that the documents give: the extension, its header, its media types, the profiles."""

from __future__ import annotations

# What a server lists among the `extensions` of its metadata.
EXTENSION = "binary_tensor_data"
HEADER_LENGTH = "Inference-Header-Content-Length"
OCTET_STREAM = "application/octet-stream"
JSON_TYPE = "application/json"

# What can be claimed. Every server claims `binary`; `client` is for clients.
# `compression` is about requests, `compression-responses` about responses.
OPT_IN_PROFILES = ("raw", "compression", "compression-responses", "bf16")
SERVER_PROFILES = ("binary", *OPT_IN_PROFILES)
PROFILES = (*SERVER_PROFILES, "client")
