"""All models of the v2-conformance contract on KServe: `python server.py --port 8080`.

models.json beside this file describes the models. What a model `does` is "identity" (OUTPUTi =
INPUTi) or "first_three" (the first three elements of INPUT0 as [3, 1], and their negation).
Decoding requests, encoding responses and rejecting requests is all left to KServe.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from kserve import InferOutput, InferResponse, Model, ModelServer
from kserve.errors import InvalidInput
from kserve.utils.utils import generate_uuid


class ContractModel(Model):
    def __init__(self, spec):
        super().__init__(spec["name"])
        self.inputs = spec["inputs"]
        self.outputs = spec["outputs"]
        self.does = getattr(self, spec["does"])
        self.load()

    def get_input_types(self):
        return self.inputs

    def get_output_types(self):
        return self.outputs

    def predict(self, payload, headers=None, response_headers=None):
        return InferResponse(
            # KServe's JSON responses must have an id; its own helper for models makes one up, too.
            response_id=payload.id or generate_uuid(),
            model_name=self.name,
            infer_outputs=[
                # As an array, so that KServe turns it into binary or JSON as the client asks.
                InferOutput(spec["name"], list(array.shape), spec["datatype"], data=array)
                for spec, array in zip(self.outputs, self.does(payload))
            ],
            use_binary_outputs=payload.use_binary_outputs,
            requested_outputs=payload.request_outputs,
        )

    def identity(self, request):
        return [self.array(request, spec) for spec in self.inputs]

    def first_three(self, request):
        values = self.array(request, self.inputs[0])
        if values.size < 3:
            raise InvalidInput(f"{self.name} needs at least three elements")
        first = values[:3].reshape(3, 1)
        return [first, np.negative(first)]

    def array(self, request, spec):
        tensor = request.get_input_by_name(spec["name"])
        if tensor is None:
            raise InvalidInput(f"{self.name} needs the input {spec['name']}")
        return tensor.as_numpy()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8080)
    port = parser.parse_args().port
    specs = json.loads(Path(__file__).with_name("models.json").read_text(encoding="utf-8"))
    server = ModelServer(http_port=port, enable_grpc=False, workers=1)
    server.start([ContractModel(spec) for spec in specs])
