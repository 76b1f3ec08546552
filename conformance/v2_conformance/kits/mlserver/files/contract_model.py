"""The models of the v2-conformance contract that MLServer supports.

model-settings.json says which one this is: its parameter `does` is "identity" (OUTPUTi = INPUTi) or
"first_three" (the first three elements of INPUT0 as [3, 1], and their negation). Decoding requests,
encoding responses and rejecting requests is all left to MLServer.
"""

import numpy as np
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.errors import InferenceError
from mlserver.types import InferenceResponse, ResponseOutput


class ContractModel(MLModel):
    async def load(self):
        self.does = getattr(self, self.settings.parameters.extra["does"])
        return True

    async def predict(self, payload):
        requested = [output.name for output in payload.outputs or ()]
        for name in requested:
            if name not in [spec.name for spec in self.outputs]:
                raise InferenceError(f"{self.name} has no output {name}")
        return InferenceResponse(
            model_name=self.name,
            outputs=[
                # encode_output of the codecs would turn the shape [n] into a batch, [n, 1].
                ResponseOutput(name=spec.name, shape=shape, datatype=spec.datatype, data=data)
                for spec, (shape, data) in zip(self.outputs, self.does(payload))
                if not requested or spec.name in requested
            ],
        )

    def identity(self, payload):
        return [self.tensor(payload, spec) for spec in self.inputs]

    def first_three(self, payload):
        _shape, data = self.tensor(payload, self.inputs[0])
        if len(data) < 3:
            raise InferenceError(f"{self.name} needs at least three elements")
        return [([3, 1], data[:3]), ([3, 1], [-value for value in data[:3]])]

    def tensor(self, payload, spec):
        """The shape of the input that `spec` describes, and its elements in row-major order."""
        tensors = [tensor for tensor in payload.inputs if tensor.name == spec.name]
        if not tensors:
            raise InferenceError(f"{self.name} needs the input {spec.name}")
        shape = tensors[0].shape
        if spec.datatype == "BYTES":
            # The codecs for BYTES lose elements of nested lists; this keeps all of them.
            array = np.array(tensors[0].data.root, dtype=object).reshape(shape)
        else:
            array = NumpyCodec.decode_input(tensors[0])
        return shape, array.ravel().tolist()
