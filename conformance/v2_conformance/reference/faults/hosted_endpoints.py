"""Faults of the endpoints for SageMaker and Vertex AI, which only a run with a binding notices."""

from __future__ import annotations

import re

from v2_conformance.protocol.names import OCTET_STREAM, SIZE_PARAMETER
from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.faults.registry import fault
from v2_conformance.reference.hosted_endpoints import Hosting
from v2_conformance.reference.http_messages import Request, Response


@fault(
    "binding-size-ignored",
    breaks="P2",
    text="The endpoint for SageMaker finds no header length in Content-Type.",
    binding="sagemaker",
)
class SizeIgnored(Behaviour):
    def size_in_type(self, request: Request, hosting: Hosting) -> str | None:
        return None


@fault(
    "binding-response-size-of-body",
    breaks="P5",
    text="The endpoint for SageMaker puts the length of the whole body into Content-Type.",
    binding="sagemaker",
)
class ResponseSizeOfBody(Behaviour):
    def sized_type(self, hosting: Hosting, size: str, response: Response) -> str:
        return super().sized_type(hosting, str(response.size), response)


@fault(
    "binding-response-without-size",
    breaks="P3",
    text="The endpoint for SageMaker leaves the header length out of its responses.",
    binding="sagemaker",
)
class ResponseWithoutSize(Behaviour):
    def sized_type(self, hosting: Hosting, size: str, response: Response) -> str:
        return hosting.value


@fault(
    "binding-response-of-other-type",
    breaks="P4",
    text="The endpoint for SageMaker gives its binary responses the type application/octet-stream.",
    binding="sagemaker",
)
class ResponseOfOtherType(Behaviour):
    def sized_type(self, hosting: Hosting, size: str, response: Response) -> str:
        return f"{OCTET_STREAM};{SIZE_PARAMETER}={size}"


@fault(
    "binding-parameter-in-one-case",
    breaks="H2",
    text="The endpoint for Vertex AI reads the parameter json-header-size in lower case alone.",
    binding="vertex",
)
class ParameterInOneCase(Behaviour):
    def is_size(self, name: str) -> bool:
        return name == SIZE_PARAMETER


@fault(
    "binding-size-read-to-first-other-character",
    breaks="H8",
    text="The endpoint for SageMaker reads the size as the C function atoi does.",
    binding="sagemaker",
)
class SizeReadToFirstOtherCharacter(Behaviour):
    def read_size(self, text: str) -> str:
        found = re.match(r"[ \t]*\+?([0-9]+)", text)
        return found[1] if found else "0"


@fault(
    "binding-size-in-32-bits",
    breaks="H7",
    text="The endpoint for Vertex AI reads the size into 32 bits.",
    binding="vertex",
)
class SizeIn32Bits(Behaviour):
    def read_size(self, text: str) -> str:
        return str(int(text) % 2**32) if re.fullmatch("[0-9]+", text) else text


@fault(
    "binding-no-number-is-zero",
    breaks="H6",
    text="The endpoint for Vertex AI reads a size that is no number as 0.",
    binding="vertex",
)
class NoNumberIsZero(Behaviour):
    def read_size(self, text: str) -> str:
        return text if re.match("[0-9+-]", text) else "0"
