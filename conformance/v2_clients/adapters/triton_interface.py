"""The interface of tritonclient.http, tritonclient.http.aio and two clients with the same one."""

from importlib.metadata import version
from inspect import isawaitable

import bench


class Adapter:
    """Makes the requests of tasks with the modules `http` and `utils` of a client.

    `parameters` says if a caller of infer() can pass parameters of the request.
    """

    def __init__(self, http, utils, parameters=True):
        self.http, self.utils, self.parameters = http, utils, parameters
        self.name = http.__name__

    def lacks(self, what):
        """Return the exception for what the client has no way to say."""
        return bench.Unsupported(f"{self.name}: {what}")

    def dtype_of(self, tensor):
        """Return numpy's type of an input's elements."""
        dtype = self.utils.triton_to_np_dtype(tensor["datatype"])
        if dtype is None:
            what = f"np_to_triton_dtype has no type for {tensor['datatype']}"
            raise bench.Unsupported(f"{self.utils.__name__}: {what}")
        if tensor["from"]:
            raise self.lacks(
                "InferInput.set_data_from_numpy takes BF16 only as ml_dtypes.bfloat16, "
                "so the caller rounds"
            )
        return dtype

    def input_of(self, tensor):
        """Return the client's object for an input of the task."""
        if tensor["parameters"]:
            raise self.lacks("InferInput has no parameters of the caller")
        given = self.http.InferInput(tensor["name"], tensor["shape"], tensor["datatype"])
        array = bench.array_of(tensor, self.dtype_of(tensor))
        given.set_data_from_numpy(array, binary_data=tensor["form"] == "binary")
        return given

    def output_of(self, output):
        """Return the client's object for an output that the task asks for."""
        if output["parameters"]:
            raise self.lacks("InferRequestedOutput has no parameters of the caller")
        form = output["form"]
        members = {} if form is None else {"binary_data": form == "binary"}
        return self.http.InferRequestedOutput(output["name"], **members)

    def arguments_of(self, request, headers):
        """Return the arguments of InferenceServerClient.infer() for a request of the task."""
        asked = request["outputs"]
        if request["binary_data_output"] is False or (request["binary_data_output"] and asked):
            other = "refuses it among its" if self.parameters else "has no other"
            raise self.lacks(
                "infer() has no binary_data_output: it sends true whenever no outputs are named, "
                f"and {other} parameters"
            )
        if request["parameters"] and not self.parameters:
            raise self.lacks("infer() has no parameters of the caller")
        return {
            "model_name": request["model"],
            "model_version": request["version"] or "",
            "inputs": [self.input_of(tensor) for tensor in request["inputs"]],
            "outputs": None if asked is None else [self.output_of(output) for output in asked],
            "request_id": request["id"] or "",
            **({"parameters": request["parameters"] or None} if self.parameters else {}),
            "headers": headers or None,
            "request_compression_algorithm": request["request_compression"],
            "response_compression_algorithm": request["response_compression"],
        }

    def read(self, result):
        """Return the line for a result of the client."""
        response, outputs = result.get_response(), []
        for name in [output["name"] for output in response["outputs"]]:
            array = result.as_numpy(name)
            datatype, blob = bench.blob_of(array)
            outputs.append(bench.output_of(name, datatype, array.shape, blob))
        return {"outputs": outputs, **bench.members_of(response)}

    def failed(self, error):
        """Return the line for an exception."""
        if not isinstance(error, self.utils.InferenceServerException):
            return bench.failed(error)
        try:
            words = str(error)
        except Exception as second:  # the message of the client's own error may not be text
            words = f"{type(second).__name__}: {second}"
        status = error.status() or ""
        return {"error": words, "status": int(status) if status.isdigit() else None}

    async def line(self, infer, request, headers):
        """Make a request with infer(), which may be a coroutine, and return its line."""
        try:
            result = infer(**self.arguments_of(request, headers))
            members = self.read(await result if isawaitable(result) else result)
        except Exception as error:  # whatever the client raises is what its user gets
            members = self.failed(error)
        return bench.line_of(self.name, version(self.name.partition(".")[0]), headers, members)
