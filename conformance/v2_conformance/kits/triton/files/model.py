"""All models of the v2-conformance contract, for Triton's Python backend.

config.pbtxt says which one this is: its parameter `does` is "identity" (OUTPUTi = INPUTi) or
"first_three" (the first three elements of INPUT0 as [3, 1], and their negation).
"""

import json

import numpy as np
import triton_python_backend_utils as pb_utils


class TooFewElements(ValueError):
    """A mistake in the request: the client gets a 400, not the 500 of other exceptions."""


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        self.inputs = [(tensor["name"], tensor["data_type"]) for tensor in config["input"]]
        self.outputs = [tensor["name"] for tensor in config["output"]]
        self.does = getattr(self, config["parameters"]["does"]["string_value"])

    def execute(self, requests):
        return [self.respond(request) for request in requests]

    def respond(self, request):
        requested = request.requested_output_names()
        try:
            outputs = [tensor for tensor in self.does(request) if tensor.name() in requested]
        except TooFewElements as error:
            invalid = pb_utils.TritonError(str(error), pb_utils.TritonError.INVALID_ARG)
            return pb_utils.InferenceResponse(error=invalid)
        return pb_utils.InferenceResponse(outputs)

    def identity(self, request):
        for (name, data_type), output in zip(self.inputs, self.outputs):
            tensor = pb_utils.get_input_tensor_by_name(request, name)
            if data_type == "TYPE_BF16":
                # numpy has no bfloat16; DLPack passes the same memory on untouched.
                yield pb_utils.Tensor.from_dlpack(output, tensor.to_dlpack())
            else:
                yield pb_utils.Tensor(output, tensor.as_numpy())

    def first_three(self, request):
        tensor = pb_utils.get_input_tensor_by_name(request, self.inputs[0][0])
        values = tensor.as_numpy()[:3]
        if values.size < 3:
            raise TooFewElements(f"{tensor.name()} needs at least three elements")
        values = values.reshape(3, 1)
        yield pb_utils.Tensor(self.outputs[0], values)
        yield pb_utils.Tensor(self.outputs[1], np.negative(values))
