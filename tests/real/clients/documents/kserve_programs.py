"""The programs on the pages of KServe's documents, as they run with kserve 0.21.0.

They send what the pages' programs send, and read what those read. What had to change, and with
which message each program ends as it is printed, is in the errata at the end of
docs/traceability.md. The two programs that send three inputs became the same one.

    v2-conformance client --scenario 'K*/*[program_*]' -- python kserve_programs.py
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from kserve import InferenceRESTClient, InferInput, InferRequest
from kserve.inference_client import RESTConfig
from kserve.protocol.infer_type import RequestedOutput

REQUEST_ID = "2ja0ls9j1309"
MODEL = "TestModel"

# What the user of the client holds, as the protocol calls it.
DATATYPES = {"float16": "FP16", "float32": "FP32", "float64": "FP64"}


def given(name: str, datatype: str, values: Any, binary: bool) -> InferInput:
    """An input with these values."""
    made = InferInput(name=name, datatype=datatype, shape=list(values.shape))
    made.set_data_from_numpy(values, binary_data=binary)
    return made


def two_blobs_and_json() -> InferRequest:
    """Client Implementation; in the older page, Sending and Receiving Binary Data."""
    halves = np.array([[1.1, 2.22], [3.345, 4.34343]], np.float16)
    return InferRequest(
        model_name=MODEL,
        request_id=REQUEST_ID,
        infer_inputs=[
            given("input_0", "FP16", halves, binary=True),
            given("input_1", "UINT32", np.array([[1, 2], [3, 4]], np.uint32), binary=False),
            given("input_2", "BOOL", np.array([True, False, True], np.bool_), binary=True),
        ],
        request_outputs=[
            RequestedOutput("output_0", parameters={"binary_data": True}),
            RequestedOutput("output_1", parameters={"binary_data": False}),
        ],
    )


def all_outputs_binary() -> InferRequest:
    """In the older page, Requesting All The Outputs To Be In Binary Format."""
    values = np.array([[32.045, 399.043]], np.float32)
    return InferRequest(
        model_name=MODEL,
        request_id=REQUEST_ID,
        infer_inputs=[given("input_0", "FP32", values, binary=False)],
        parameters={"binary_data_output": True},
    )


PROGRAMS = {"program_mixed": two_blobs_and_json, "program_all_binary": all_outputs_binary}


async def sent(url: str, request: InferRequest) -> Sequence[Any]:
    """The outputs that the client gives its user."""
    async with InferenceRESTClient(config=RESTConfig(verbose=True, protocol="v2")) as client:
        headers = {"Host": "test-server.com"}
        response = await client.infer(
            url, model_name=MODEL, data=request, headers=headers, timeout=2
        )
    found: Sequence[Any] = response.outputs
    return found


def as_said(output: Any) -> dict[str, Any]:
    """An output as a line for the bench has it."""
    array = output.as_numpy()
    return {
        "name": output.name,
        "datatype": DATATYPES[array.dtype.name],
        "shape": list(array.shape),
        "data": base64.b64encode(array.tobytes()).decode(),
    }


def line_for(scenario: str, url: str) -> dict[str, Any]:
    """What the program of a scenario has to say."""
    program = PROGRAMS.get(scenario.rpartition("[")[2].rstrip("]"))
    if program is None:
        return {"unsupported": "the pages have no program for this"}
    try:
        outputs = asyncio.run(sent(url, program()))
        return {"outputs": [as_said(output) for output in outputs]}
    except Exception as error:  # whatever the client raises is what its user gets
        return {"error": f"{type(error).__name__}: {error}", "status": None}


if __name__ == "__main__":
    name = {"name": "kserve.InferenceRESTClient", "version": version("kserve")}
    for text in sys.stdin:
        task = json.loads(text)
        line = line_for(task["scenario"], task["url"])
        said = {"scenario": task["scenario"], "lines": [{**line, "client": name}]}
        print(json.dumps(said), flush=True)
