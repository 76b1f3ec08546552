"""Faults of the endpoints for SageMaker and Vertex AI, which only a run with a binding notices."""

from __future__ import annotations

import re

from v2_conformance.protocol.names import OCTET_STREAM, SIZE_PARAMETER
from v2_conformance.reference.behaviour import Behaviour
from v2_mutants.registry import Right, fault

fault("binding-size-ignored", "P2", Behaviour.size_in_type, binding="sagemaker")(
    "The endpoint for SageMaker finds no header length in Content-Type.",
    lambda right, request, hosting: None,
)
fault("binding-response-size-of-body", "P5", Behaviour.sized_type, binding="sagemaker")(
    "The endpoint for SageMaker puts the length of the whole body into Content-Type.",
    lambda right, hosting, size, response: right(size=str(response.size)),
)
fault("binding-response-without-size", "P3", Behaviour.sized_type, binding="sagemaker")(
    "The endpoint for SageMaker leaves the header length out of its responses.",
    lambda right, hosting, size, response: hosting.value,
)
fault("binding-response-of-other-type", "P4", Behaviour.sized_type, binding="sagemaker")(
    "The endpoint for SageMaker gives its binary responses the type application/octet-stream.",
    lambda right, hosting, size, response: f"{OCTET_STREAM};{SIZE_PARAMETER}={size}",
)
fault("binding-parameter-in-one-case", "H2", Behaviour.is_size, binding="vertex")(
    "The endpoint for Vertex AI reads the parameter json-header-size in lower case alone.",
    lambda right, name: name == SIZE_PARAMETER,
)


@fault("binding-size-read-to-first-other-character", "H8", Behaviour.read_size, binding="sagemaker")
def _(right: Right[str], text: str) -> str:
    """The endpoint for SageMaker reads the size as the C function atoi does."""
    found = re.match(r"[ \t]*\+?([0-9]+)", text)
    return found[1] if found else "0"


fault("binding-size-in-32-bits", "H7", Behaviour.read_size, binding="vertex")(
    "The endpoint for Vertex AI reads the size into 32 bits.",
    lambda right, text: str(int(text) % 2**32) if re.fullmatch("[0-9]+", text) else text,
)
fault("binding-no-number-is-zero", "H6", Behaviour.read_size, binding="vertex")(
    "The endpoint for Vertex AI reads a size that is no number as 0.",
    lambda right, text: text if re.match("[0-9+-]", text) else "0",
)
